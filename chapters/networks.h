// What chapters 9, 10 and 12 train: two data sets, and a network for each.
#ifndef CHAPTERS_NETWORKS_H
#define CHAPTERS_NETWORKS_H

#include "common.h"

// [data]
typedef struct Data {
  FyDataset *train, *plain_train, *test; // plain: without augmentation
  const char *(*class_name)(int label);
} Data;
// [end]

// Fashion-MNIST from `root` (NULL: from where it is installed), without augmentation: plain_train is train. Where it is not
// there, made-up pictures that say so.
Data load_fashion_mnist(const char *root);

// MNIST from `root` (NULL: from where chapters/get_data.sh puts it). Raises FY_OS_ERROR where it is not there.
Data load_mnist(const char *root);

// CIFAR-10, in the same way as Fashion-MNIST, and augmented.
Data load_cifar10(const char *root);

// Weights from the seed, on the CPU: (N, 1, 28, 28) -> (N, 10), and (N, 3, 32, 32) -> (N, 10).
FyModule *new_fashion_cnn(uint64_t seed);
FyModule *new_cifar_cnn(uint64_t seed);

#endif
