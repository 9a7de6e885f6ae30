// SPDX-License-Identifier: MIT
// Datasets in files: torchvision.datasets. These functions return CPU tensors, owned by the innermost scope. Any thread
// may call them.
#ifndef FERRY_DATA_DATA_H
#define FERRY_DATA_DATA_H

#include "tensor/tensor.h"

// Reads an IDX file, the format of MNIST, plain or compressed with gzip. Returns a tensor of uint8, int32, float32 or
// float64 with the shape that the file states. Raises FY_OS_ERROR if the file cannot be read. Raises FY_VALUE_ERROR if
// it is malformed; the message names the file, the offset and the expected content.
FY_API FyTensor *fy_read_idx(const char *path);

// Reads the training set or the test set of Fashion-MNIST: images (N, 28, 28) of uint8 and labels (N) of int64. The IDX
// files, plain or .gz, must be in `root` or in its subfolder fashion-mnist or FashionMNIST/raw. If `root` is NULL, the
// function searches the folder FERRY_DATA, then the folder to which chapters/get_data.sh downloads (ferry in
// XDG_DATA_HOME, by default ~/.local/share/ferry), then the folder of Debian's package dataset-fashion-mnist. Raises
// FY_OS_ERROR if a file is missing; the message lists the searched folders and says how to get the files. Raises
// FY_VALUE_ERROR if a file is malformed; the message names the file, the offset and the expected content. PyTorch:
// torchvision.datasets.FashionMNIST(root, train).
typedef struct FyImages {
  FyTensor *images, *labels;
} FyImages;
FY_API FyImages fy_fashion_mnist(const char *root, bool train);

// Returns whether fy_fashion_mnist(root, ...) would find the files of both sets. Never raises.
FY_API bool fy_fashion_mnist_available(const char *root);

// Returns the name of a class: "T-shirt/top" for label 0. The string is static. Raises FY_INDEX_ERROR unless the label
// is 0 to 9.
FY_API const char *fy_fashion_mnist_class(int label);

// Read MNIST, images of handwritten digits, like the corresponding functions for Fashion-MNIST: the same shapes, file
// names and errors. The files must be in `root` or in its subfolder mnist or MNIST/raw. If `root` is NULL, they must be
// in one of these two subfolders of FERRY_DATA or of the folder to which chapters/get_data.sh downloads. The class
// names are those of torchvision: "0 - zero" for label 0. PyTorch: torchvision.datasets.MNIST(root, train).
FY_API FyImages fy_mnist(const char *root, bool train);
FY_API bool fy_mnist_available(const char *root);
FY_API const char *fy_mnist_class(int label);

// Read the binary version of CIFAR-10: images (N, 3, 32, 32) of uint8, channels first as in the files, and labels (N)
// of int64. The files data_batch_1.bin to data_batch_5.bin and test_batch.bin must be in `root` or in its subfolder
// cifar-10-batches-bin or cifar-10/cifar-10-batches-bin. If `root` is NULL, FERRY_DATA and the folder to which
// chapters/get_data.sh downloads are searched in the same way. Training batches that are missing are skipped if at
// least one is found. Raises FY_OS_ERROR if no file is found; the message lists the searched folders and says how to
// get the files. Raises FY_VALUE_ERROR if the size of a file is not a multiple of 3,073 bytes or a label is above 9;
// the message names the file, the offset and the expected content. fy_cifar10_available returns whether fy_cifar10
// would find both sets. PyTorch: torchvision.datasets.CIFAR10(root, train).
FY_API FyImages fy_cifar10(const char *root, bool train);
FY_API bool fy_cifar10_available(const char *root);
FY_API const char *fy_cifar10_class(int label); // "airplane" for label 0

// Reads one file of the binary version of CIFAR-10. Raises the same errors as fy_cifar10.
FY_API FyImages fy_read_cifar10(const char *path);

#endif
