// SPDX-License-Identifier: MIT
// Image transforms: torchvision.transforms. The workers of a data loader apply them to each sample and write the result
// directly to the batch.
//
// A transform is an object owned by a scope. It never changes, so any number of threads may use it. Functions that
// create a transform raise FY_OUT_OF_MEMORY_ERROR if host memory runs out. Random transforms draw from a separate seed
// for each sample, which depends on the loader's seed, the epoch and the sample's position in the epoch. So the same
// loader seed gives the same images for any number of workers. (PyTorch seeds each worker with base_seed + worker_id
// instead, so there the images depend on num_workers.)
#ifndef FERRY_DATA_TRANSFORM_H
#define FERRY_DATA_TRANSFORM_H

#include "tensor/tensor.h"

typedef struct FyTransform FyTransform;

// Creates a transform that converts an image to float32 (C, H, W). A uint8 image is divided by 255, so its values are
// in [0, 1]. Its shape is (H, W), (H, W, C), or, if the dataset sets channels_first, (C, H, W). A float32 image, (H, W)
// or (C, H, W), keeps its values. PyTorch: torchvision.transforms.ToTensor().
FY_API FyTransform *fy_to_tensor(void);

// Creates a transform that computes (x - mean[c]) / std[c] for each channel c of a float32 image:
//
//   fy_normalize(1, fy_floats(0.5), fy_floats(0.5))
//
// `mean` and `std` have `channels` values, which are copied; a single value applies to all channels of any image. After
// fy_to_tensor, both transforms run in one pass over the pixels. Raises FY_VALUE_ERROR if a std is 0, and unless
// channels is 1 to 4. PyTorch: torchvision.transforms.Normalize(mean, std).
FY_API FyTransform *fy_normalize(int channels, const float *mean, const float *std);

// Creates a transform that pads the image with `padding` zeros on each side, and then cuts out a square of size x size
// pixels at a random position. Raises FY_VALUE_ERROR if size < 1 or padding < 0. Applying it to an image that is too
// small raises FY_VALUE_ERROR. PyTorch: torchvision.transforms.RandomCrop(size, padding).
FY_API FyTransform *fy_random_crop(int size, int padding);

// Creates a transform that mirrors the image left to right with probability p. Raises FY_VALUE_ERROR unless p is 0 to
// 1. PyTorch: torchvision.transforms.RandomHorizontalFlip(p).
FY_API FyTransform *fy_random_horizontal_flip(double p);

// Creates a transform that applies several transforms, one after the other:
//
//   fy_compose(fy_random_crop(32, 4), fy_random_horizontal_flip(0.5), fy_to_tensor(), fy_normalize(3, mean, std))
//
// PyTorch: torchvision.transforms.Compose([a, b, c]).
#define fy_compose(...) fy_compose_with((FyTransform *[]){__VA_ARGS__, NULL})
FY_API FyTransform *fy_compose_with(FyTransform *const *transforms);

// Applies a transform to one image, a CPU tensor: uint8 (H, W) or (H, W, C), or float32 (H, W) or (C, H, W). Returns a
// new CPU tensor, owned by the innermost scope. Random transforms draw from `seed`. Raises FY_VALUE_ERROR if the tensor
// has a different shape or dtype, or if a step cannot be applied to it, and FY_TYPE_ERROR if it is not on the CPU.
// PyTorch: transform(image).
FY_API FyTensor *fy_transform(FyTransform *transform, FyTensor *image, uint64_t seed);

#endif
