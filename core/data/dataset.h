// SPDX-License-Identifier: MIT
// Datasets: torch.utils.data.Dataset and torchvision.datasets.
//
// A dataset is an object owned by a scope. It defines the number of samples, the shapes and dtypes of a sample, and a
// function that writes sample i to memory. A sample consists of an input and a target. Inputs that are images are uint8
// until a transform (transform.h) converts them to floating-point numbers for training.
//
// Any number of threads may read a dataset at the same time, through loaders or fy_dataset_get. While one thread
// changes it (with fy_dataset_transform, or by assigning to its fields), no other thread may start to read it.
#ifndef FERRY_DATA_DATASET_H
#define FERRY_DATA_DATASET_H

#include "data/data.h"
#include "data/transform.h"

typedef struct FyDataset FyDataset;

// The functions of a class of datasets. Several worker threads call `get` at the same time. It may raise an error.
// Objects that it creates are freed after the call.
typedef struct FyDatasetClass {
  const char *name;
  // Writes sample `index` (0 to count - 1), before any transform, in row-major order: an input of shape input_size and
  // dtype input_dtype, and a target of shape target_size and dtype target_dtype. `seed` belongs to the sample, for
  // datasets that draw random numbers. `input` is NULL if input_at returned the address of the input.
  void (*get)(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target);
  // Optional: returns the address of the input of sample `index` if the input is already in memory, so that it is not
  // copied before a transform. Otherwise returns NULL.
  const void *(*input_at)(FyDataset *self, int64_t index);
  void (*destroy)(FyDataset *self); // optional: frees the members that your struct adds to FyDataset
} FyDatasetClass;

struct FyDataset {
  FyObject object;
  const FyDatasetClass *type;
  int64_t count;                  // len(dataset)
  FySize input_size, target_size; // of one sample
  FyDType input_dtype, target_dtype;
  bool channels_first;    // images are (C, H, W) in memory, not (H, W, C)
  bool synthetic;         // the data is generated: results on it say nothing about real data
  FyTransform *transform; // retained; NULL for none
};

// Creates a dataset of your own class, owned by the innermost scope: a zeroed struct of `bytes` bytes whose first
// member is an FyDataset. Set its count, sizes and dtypes. `type` must exist as long as the dataset. Raises
// FY_TYPE_ERROR if `type` or its `get` is NULL, FY_VALUE_ERROR if `bytes` is too small, and FY_OUT_OF_MEMORY_ERROR.
// PyTorch: class MyDataset(torch.utils.data.Dataset).
FY_API void *fy_dataset_new(size_t bytes, const FyDatasetClass *type);

// Sets the transform that is applied to every input, and returns the dataset. The transform replaces the previous one;
// NULL removes it. A loader's iterator that has already started keeps the previous transform. Raises FY_TYPE_ERROR if
// the dataset is NULL, and FY_VALUE_ERROR if the transform cannot be applied to its inputs; then the dataset does not
// change.
FY_API FyDataset *fy_dataset_transform(FyDataset *dataset, FyTransform *transform);

// Creates a dataset from two CPU tensors of any dtype, inputs (N, ...) and targets (N, ...):
//
//   fy_tensor_dataset(images, labels, .transform = fy_to_tensor())
//
// Sample i is inputs[i] and targets[i]. The dataset, owned by the innermost scope, holds both tensors; a tensor that is
// not contiguous is copied. Raises FY_VALUE_ERROR "Size mismatch between tensors: ..." if the two N differ, and
// FY_TYPE_ERROR if a tensor is not on the CPU. PyTorch: torch.utils.data.TensorDataset(inputs, targets).
typedef struct FyTensorDataset {
  FyTensor *targets;
  FyTransform *transform; // NULL for none
  bool channels_first;    // images are (N, C, H, W) of uint8, not (N, H, W) or (N, H, W, C)
} FyTensorDataset;
#define fy_tensor_dataset(inputs, ...) fy_tensor_dataset_with((inputs), (FyTensorDataset){.targets = __VA_ARGS__})
FY_API FyDataset *fy_tensor_dataset_with(FyTensor *inputs, FyTensorDataset options);

// Returns a dataset of the samples begin to end - 1, with the transform that `dataset` has at this time. It is owned by
// the innermost scope and retains `dataset`. If `end` is greater than the number of samples, the subset ends with the
// last sample. Raises FY_INDEX_ERROR unless 0 <= begin <= end. PyTorch: torch.utils.data.Subset(dataset, range(begin,
// end)).
FY_API FyDataset *fy_subset(FyDataset *dataset, int64_t begin, int64_t end);

// Creates a dataset of Fashion-MNIST, owned by the innermost scope: inputs (28, 28) of uint8, targets () of int64.
// `transform` may be NULL. See fy_fashion_mnist for `root` and the errors. PyTorch:
// torchvision.datasets.FashionMNIST(root, train, transform).
FY_API FyDataset *fy_fashion_mnist_dataset(const char *root, bool train, FyTransform *transform);

// Creates a dataset of MNIST, owned by the innermost scope: inputs (28, 28) of uint8, targets () of int64. `transform`
// may be NULL. See fy_mnist for `root` and the errors. PyTorch: torchvision.datasets.MNIST(root, train, transform).
FY_API FyDataset *fy_mnist_dataset(const char *root, bool train, FyTransform *transform);

// Creates a dataset of CIFAR-10, owned by the innermost scope: inputs (3, 32, 32) of uint8, channels first as in the
// files, targets () of int64. `transform` may be NULL. See fy_cifar10 for `root` and the errors. PyTorch:
// torchvision.datasets.CIFAR10(root, train, transform).
FY_API FyDataset *fy_cifar10_dataset(const char *root, bool train, FyTransform *transform);

// Creates a dataset of generated images in ten classes that a small network can learn, for use when no real data is
// available. It is owned by the innermost scope, and its `synthetic` flag is set. Inputs are uint8: (28, 28) for one
// channel, (3, 32, 32), channels first, for three. Targets are () of int64. Each class has its own pattern. A sample
// shows the pattern shifted, with a different contrast, and with noise. Sample i depends only on (channels, seed, i),
// so you can use two ranges of one dataset for training and test (fy_subset). Raises FY_VALUE_ERROR unless channels is
// 1 or 3 and count >= 0.
FY_API FyDataset *fy_synthetic_dataset(int64_t count, int channels, uint64_t seed, FyTransform *transform);

// Returns one transformed sample: data and target have the same shapes as in a loader's batch, without the batch
// dimension. A negative index counts from the end. Random transforms draw from the process's generator. Raises
// FY_INDEX_ERROR if the index is out of range. PyTorch: dataset[index].
typedef struct FyBatch {
  FyTensor *data, *target; // (N, ...) each, on the CPU or the prefetcher's device; owned by the innermost scope
  int64_t index;           // the batch's number in its epoch, from 0; for fy_dataset_get, the sample's index
  int64_t size;            // N, the number of samples; only the last batch may have fewer than batch_size
} FyBatch;
FY_API FyBatch fy_dataset_get(FyDataset *dataset, int64_t index);

// Writes a description to `out` (`size` bytes) and returns `out`: "Fashion-MNIST (60000 samples)" or "synthetic images,
// not real data (2000 samples)". Raises FY_TYPE_ERROR if the dataset is NULL.
FY_API const char *fy_dataset_describe(const FyDataset *dataset, char *out, size_t size);

#endif
