// SPDX-License-Identifier: MIT
// What the files of data/ share: for core/ only.
#ifndef FERRY_DATA_IMPL_H
#define FERRY_DATA_IMPL_H

#include "base/philox.h"
#include "data/loader.h"

// ---- transforms --------------------------------------------------------------------------------------------------------

// An image in memory: uint8 or float32. `plain` ones are (H, W), with no dimension for their one channel.
typedef struct FyImageShape {
  int64_t channels, height, width;
  FyDType dtype;
  bool channels_first, plain;
} FyImageShape;

// The shape of a tensor that is one image. Raises FY_VALUE_ERROR naming what an image may be.
FyImageShape fy_image_shape(FySize size, FyDType dtype, bool channels_first);
FySize fy_image_size(FyImageShape shape);  // never raises
size_t fy_image_bytes(FyImageShape shape); // never raises

// The shape after the transform; raises FY_VALUE_ERROR when it cannot be applied. `scratch` becomes the bytes that applying
// it needs besides the input and the output.
FyImageShape fy_transform_shape(const FyTransform *transform, FyImageShape in, size_t *scratch);

// Transforms one image of shape `in`, which fy_transform_shape has accepted. Never raises.
void fy_transform_apply(const FyTransform *transform, FyImageShape in, const void *image, uint64_t seed, void *out,
                        void *scratch);

// ---- samples -----------------------------------------------------------------------------------------------------------

// How the samples of a data set are made: worked out once per epoch.
typedef struct FySamplePlan {
  FyDataset *dataset;
  FyTransform *transform; // the data set's at that time, borrowed
  FyImageShape image;     // of the untransformed input, when there is a transform
  FySize data_size;       // transformed
  FyDType data_dtype;
  size_t raw_bytes, data_bytes, target_bytes; // of one sample
  size_t scratch_bytes;                       // per thread
} FySamplePlan;

// Raises FY_VALUE_ERROR for a data set whose sizes or dtypes make no sense, or whose transform cannot be applied.
FySamplePlan fy_sample_plan(FyDataset *dataset);

// Writes sample `index`, transformed. May raise what the data set's get raises.
void fy_sample_make(const FySamplePlan *plan, int64_t index, uint64_t seed, void *data, void *target, void *scratch);

// A number of 64 random bits that belongs to (seed, counter). Never raises.
static inline uint64_t fy_mix(uint64_t seed, uint64_t counter) {
  FyPhilox block = fy_philox(seed, counter);
  return (uint64_t)block.word[1] << 32 | block.word[0];
}

#endif
