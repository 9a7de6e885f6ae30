// SPDX-License-Identifier: MIT
// Data sets read from files: torchvision.datasets. Any thread may call these.
#ifndef FERRY_DATA_DATA_H
#define FERRY_DATA_DATA_H

#include "tensor/tensor.h"

// Reads an IDX file (MNIST's format), plain or gzip: uint8, int32, float32 or float64, shape as in the file, on the CPU.
// Raises FY_OS_ERROR when the file cannot be read and FY_VALUE_ERROR, naming the file, the offset and what was expected,
// when it is malformed.
FY_API FyTensor *fy_read_idx(const char *path);

// datasets.FashionMNIST(root, train): images (N, 28, 28) uint8 and labels (N) int64. `root` NULL looks in FERRY_DATA,
// then where chapters/get_data.sh puts data (~/.local/share/ferry, or XDG_DATA_HOME/ferry), then where Debian's
// dataset-fashion-mnist is. Raises FY_OS_ERROR naming where it looked and how to get the files, FY_VALUE_ERROR naming
// file, offset and what was expected.
typedef struct FyImages {
  FyTensor *images, *labels;
} FyImages;
FY_API FyImages fy_fashion_mnist(const char *root, bool train);

// True when fy_fashion_mnist(root, ...) would find its files. Never raises.
FY_API bool fy_fashion_mnist_available(const char *root);

// The ten classes' names, "T-shirt/top" first, for the program's life. Raises FY_INDEX_ERROR for a label outside 0 to
// 9.
FY_API const char *fy_fashion_mnist_class(int label);

// datasets.MNIST(root, train): handwritten digits in the same shapes, with the same errors. The four files lie in `root`,
// its mnist/ or its MNIST/raw/; with `root` NULL below FERRY_DATA or where chapters/get_data.sh puts data, in one of these two
// folders. Classes are torchvision's, "0 - zero" first.
FY_API FyImages fy_mnist(const char *root, bool train);
FY_API bool fy_mnist_available(const char *root);
FY_API const char *fy_mnist_class(int label);

// datasets.CIFAR10(root, train), binary version: images (N, 3, 32, 32) uint8, channels first as in the files, and labels (N)
// int64. `root`, or with NULL FERRY_DATA or where chapters/get_data.sh puts data, has data_batch_1.bin .. data_batch_5.bin and test_batch.bin itself, in
// cifar-10-batches-bin/ or in cifar-10/cifar-10-batches-bin/. The files there are read (a part of the training batches will do); each must be a multiple of 3,073
// bytes and have labels below ten. Raises FY_OS_ERROR naming where it looked and how to get the files, and FY_VALUE_ERROR
// naming file, offset and what was expected.
FY_API FyImages fy_cifar10(const char *root, bool train);
FY_API bool fy_cifar10_available(const char *root);
FY_API const char *fy_cifar10_class(int label); // "airplane" first

// One file of CIFAR-10's binary version, with the same checks.
FY_API FyImages fy_read_cifar10(const char *path);

#endif
