// Data sets read from files: torchvision.datasets.
#ifndef FERRY_DATA_DATA_H
#define FERRY_DATA_DATA_H

#include "tensor/tensor.h"

// Reads an IDX file (MNIST's format), plain or gzip: uint8, int32, float32 or float64, shape as in the file, on the CPU.
// Raises FY_OS_ERROR when the file cannot be read and FY_VALUE_ERROR, naming the file, the offset and what was expected,
// when it is malformed.
FY_API FyTensor *fy_read_idx(const char *path);

// datasets.FashionMNIST(root, train): images (N, 28, 28) uint8 and labels (N) int64. `root` NULL looks in FERRY_DATA,
// then where Debian's dataset-fashion-mnist lies. Raises FY_OS_ERROR naming where it looked and how to get the files.
typedef struct FyImages {
  FyTensor *images, *labels;
} FyImages;
FY_API FyImages fy_fashion_mnist(const char *root, bool train);

// True when fy_fashion_mnist(root, ...) would find its files.
FY_API bool fy_fashion_mnist_available(const char *root);

// The ten classes' names, "T-shirt/top" first.
FY_API const char *fy_fashion_mnist_class(int label);

#endif
