// SPDX-License-Identifier: MIT
// Transforms of images: torchvision.transforms. Applied per sample by the data loader's workers, straight into the batch.
//
// A transform is an object of the scope, and does not change after it was made: any number of threads may use it.
// Making one raises FY_OUT_OF_MEMORY_ERROR without host memory. Random ones draw from a seed of the sample's own, which
// comes from the loader's seed, the epoch and the sample's position in the epoch. So the same loader seed gives the
// same images whatever the number of workers. (PyTorch seeds each worker instead, base_seed + worker_id: there the
// images change with num_workers.)
#ifndef FERRY_DATA_TRANSFORM_H
#define FERRY_DATA_TRANSFORM_H

#include "tensor/tensor.h"

typedef struct FyTransform FyTransform;

// transforms.ToTensor(): uint8 (H, W), (H, W, C) or, where the data set says channels_first, (C, H, W) becomes float32
// (C, H, W) in [0, 1], divided by 255. float32 images, (H, W) or (C, H, W), keep their values.
FY_API FyTransform *fy_to_tensor(void);

// transforms.Normalize(mean, std): (x - mean[c]) / std[c] for each channel of a float32 image; after fy_to_tensor the two
// are done in one pass. `channels` values each; one value serves all channels of any image.
//   fy_normalize(1, fy_floats(0.5), fy_floats(0.5))
// Raises FY_VALUE_ERROR for a std of 0 or for fewer than 1 or more than 4 channels.
FY_API FyTransform *fy_normalize(int channels, const float *mean, const float *std);

// transforms.RandomCrop(size, padding): a size x size part of the image, which is padded with zeros on each side first.
// Raises FY_VALUE_ERROR for size < 1 or padding < 0; applying it to an image that is too small raises FY_VALUE_ERROR.
FY_API FyTransform *fy_random_crop(int size, int padding);

// transforms.RandomHorizontalFlip(p). Raises FY_VALUE_ERROR unless 0 <= p <= 1.
FY_API FyTransform *fy_random_horizontal_flip(double p);

// transforms.Compose([a, b, c]): one after the other.
//   fy_compose(fy_random_crop(32, 4), fy_random_horizontal_flip(0.5), fy_to_tensor(), fy_normalize(3, mean, std))
#define fy_compose(...) fy_compose_with((FyTransform *[]){__VA_ARGS__, NULL})
FY_API FyTransform *fy_compose_with(FyTransform *const *transforms);

// Applies a transform to one image, a CPU tensor: uint8 (H, W) or (H, W, C), or float32 (H, W) or (C, H, W). A new tensor.
// Random transforms draw from `seed`. Raises FY_VALUE_ERROR for other tensors, and where a step cannot be applied.
FY_API FyTensor *fy_transform(FyTransform *transform, FyTensor *image, uint64_t seed);

#endif
