// SPDX-License-Identifier: MIT
// Data sets: torch.utils.data.Dataset and torchvision.datasets.
//
// A data set is an object of the scope that knows how many samples it has, the shape and dtype of one, and how to write
// sample i to memory. A sample is an input and a target. Inputs that are images are uint8 until a transform (transform.h)
// makes numbers to train on out of them.
//
// Any number of threads may read a data set, through loaders or fy_dataset_get; while one of them changes it
// (fy_dataset_transform, its fields), no other may begin to.
#ifndef FERRY_DATA_DATASET_H
#define FERRY_DATA_DATASET_H

#include "data/data.h"
#include "data/transform.h"

typedef struct FyDataset FyDataset;

// What a kind of data set is. `get` is called from several worker threads at the same time and may raise; tensors it
// makes are gone after the call.
typedef struct FyDatasetClass {
  const char *name;
  // Writes sample `index` (0 .. count - 1), before any transform: input_size elements of input_dtype and target_size
  // elements of target_dtype, row-major. `seed` is the sample's own, for data sets that draw random numbers. `input` is
  // NULL when input_at has said where it is.
  void (*get)(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target);
  // Optional: where the input of sample `index` is in memory already, so that nothing has to be copied before a
  // transform; NULL when it does not.
  const void *(*input_at)(FyDataset *self, int64_t index);
  void (*destroy)(FyDataset *self); // optional: frees what the struct holds beyond FyDataset's own fields
} FyDatasetClass;

struct FyDataset {
  FyObject object;
  const FyDatasetClass *type;
  int64_t count;                  // len(dataset)
  FySize input_size, target_size; // of one sample
  FyDType input_dtype, target_dtype;
  bool channels_first;    // images are (C, H, W) in memory, not (H, W, C)
  bool synthetic;         // made up by a generator: results on it say nothing about real data
  FyTransform *transform; // counted; NULL for none
};

// A data set of your own kind: a zeroed struct of `bytes` whose first member is FyDataset; the caller fills count,
// sizes and dtypes. Raises FY_TYPE_ERROR without a class or its get, and FY_VALUE_ERROR for too few bytes.
FY_API void *fy_dataset_new(size_t bytes, const FyDatasetClass *type);

// Sets the transform that is applied to every input (replacing the one before; NULL for none) and returns the data set.
// A loader's iterator that is under way goes on with the one it began with; the next one takes the new. Raises
// FY_TYPE_ERROR for a NULL data set, and FY_VALUE_ERROR when the transform cannot be applied to its inputs.
FY_API FyDataset *fy_dataset_transform(FyDataset *dataset, FyTransform *transform);

// TensorDataset(inputs, targets): inputs (N, ...) and targets (N, ...) of any dtype on the CPU; sample i is inputs[i],
// targets[i]. Holds both (contiguous copies where they were not). Raises FY_VALUE_ERROR "Size mismatch between tensors"
// for unequal N, and FY_TYPE_ERROR for tensors that are not on the CPU.
// Options: .transform, .channels_first (images are (N, C, H, W) uint8 rather than (N, H, W) or (N, H, W, C)).
//   fy_tensor_dataset(images, labels, .transform = fy_to_tensor())
typedef struct FyTensorDataset {
  FyTensor *targets;
  FyTransform *transform;
  bool channels_first;
} FyTensorDataset;
#define fy_tensor_dataset(inputs, ...) fy_tensor_dataset_with((inputs), (FyTensorDataset){.targets = __VA_ARGS__})
FY_API FyDataset *fy_tensor_dataset_with(FyTensor *inputs, FyTensorDataset options);

// torch.utils.data.Subset(dataset, range(begin, end)): the samples begin .. end - 1, transform included. end is cut to the
// data set's length. Raises FY_INDEX_ERROR unless 0 <= begin <= end.
FY_API FyDataset *fy_subset(FyDataset *dataset, int64_t begin, int64_t end);

// datasets.FashionMNIST(root, train, transform): inputs (28, 28) uint8, targets () int64. See fy_fashion_mnist for `root`
// and the errors. `transform` may be NULL.
FY_API FyDataset *fy_fashion_mnist_dataset(const char *root, bool train, FyTransform *transform);

// datasets.MNIST(root, train, transform): the same for handwritten digits. See fy_mnist for `root` and the errors.
FY_API FyDataset *fy_mnist_dataset(const char *root, bool train, FyTransform *transform);

// datasets.CIFAR10(root, train, transform): inputs (3, 32, 32) uint8, channels first as in the files; targets () int64.
FY_API FyDataset *fy_cifar10_dataset(const char *root, bool train, FyTransform *transform);

// Made-up images of ten classes that a small network learns, for when no data is there: inputs (28, 28) uint8 for one
// channel, (3, 32, 32) channels first for three; targets () int64. Each class is a pattern of its own, shifted, scaled and
// covered with noise per sample. Sample i depends only on (channels, seed, i), so ranges of one set serve as training and
// test set (fy_subset). Its `synthetic` flag is set. Raises FY_VALUE_ERROR unless channels is 1 or 3 and count >= 0.
FY_API FyDataset *fy_synthetic_dataset(int64_t count, int channels, uint64_t seed, FyTransform *transform);

// dataset[index], transformed: data of the shape a loader would put in its batches, without the batch dimension. index may
// be negative, from the end. Random transforms draw from the process's generator. Raises FY_INDEX_ERROR.
typedef struct FyBatch {
  FyTensor *data, *target; // (N, ...) each, on the CPU or the prefetcher's device; objects of the consumer's scope
  int64_t index;           // the batch's number in its epoch, from 0
  int64_t size;            // N: samples in it; fewer than batch_size only in the last one
} FyBatch;
FY_API FyBatch fy_dataset_get(FyDataset *dataset, int64_t index);

// "Fashion-MNIST (60000 samples)" or "synthetic images, not real data (2000 samples)". The text is in `out`, returned.
// Raises FY_TYPE_ERROR for NULL.
FY_API const char *fy_dataset_describe(const FyDataset *dataset, char *out, size_t size);

#endif
