// SPDX-License-Identifier: MIT
// Data sets: what they have in common, tensors in memory, and parts of others.
#include "data/dataset.h"
#include "data/impl.h"
#include "op/ops.h"
#include "op/random/random_state.h"
#include "tensor/impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void destroy_dataset(void *object) {
  FyDataset *self = object;
  if (self->type->destroy)
    self->type->destroy(self);
  fy_release(self->transform);
  free(self);
}

void *fy_dataset_new(size_t bytes, const FyDatasetClass *type) {
  fy_check(type && type->get, FY_TYPE_ERROR, "fy_dataset_new: a data set needs a class with a get function");
  fy_check(bytes >= sizeof(FyDataset), FY_VALUE_ERROR,
           "fy_dataset_new: %zu bytes do not hold an FyDataset, which must be the struct's first member", bytes);
  FyDataset *self = calloc(1, bytes);
  fy_check(self, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a data set of %zu bytes", bytes);
  self->type = type;
  fy_object_init(self, destroy_dataset);
  return self;
}

FyDataset *fy_dataset_transform(FyDataset *dataset, FyTransform *transform) {
  fy_check(dataset, FY_TYPE_ERROR, "fy_dataset_transform: the data set is NULL");
  if (transform) // can it be applied?
    fy_transform_shape(transform, fy_image_shape(dataset->input_size, dataset->input_dtype, dataset->channels_first),
                       NULL);
  fy_retain(transform);
  fy_release(dataset->transform);
  dataset->transform = transform;
  return dataset;
}

const char *fy_dataset_describe(const FyDataset *dataset, char *out, size_t size) {
  fy_check(dataset, FY_TYPE_ERROR, "fy_dataset_describe: the data set is NULL");
  snprintf(out, size, "%s%s (%lld samples)", dataset->type->name, dataset->synthetic ? ", not real data" : "",
           (long long)dataset->count);
  return out;
}

// ---- samples -----------------------------------------------------------------------------------------------------------

static size_t bytes_of(FySize size, FyDType dtype) {
  size_t bytes = fy_dtype_size(dtype);
  for (int i = 0; i < size.ndim; i++)
    fy_check(size.dim[i] >= 0 && !__builtin_mul_overflow(bytes, (size_t)size.dim[i], &bytes), FY_VALUE_ERROR,
             "a data set's sample has a size that is negative or has no 64-bit number of bytes");
  return bytes;
}

FySamplePlan fy_sample_plan(FyDataset *d) {
  fy_check(d->input_size.ndim < FY_MAX_DIM && d->target_size.ndim < FY_MAX_DIM, FY_VALUE_ERROR,
           "a data set's samples may have %d dimensions at most", FY_MAX_DIM - 1);
  fy_check(d->count >= 0 && d->input_dtype && d->target_dtype, FY_VALUE_ERROR,
           "the data set \"%s\" has no count, input_dtype or target_dtype", d->type->name);
  FySamplePlan plan = {
      .dataset = d, .transform = d->transform, .data_size = d->input_size, .data_dtype = d->input_dtype};
  plan.raw_bytes = plan.data_bytes = bytes_of(d->input_size, d->input_dtype);
  plan.target_bytes = bytes_of(d->target_size, d->target_dtype);
  if (d->transform) {
    size_t scratch;
    plan.image = fy_image_shape(d->input_size, d->input_dtype, d->channels_first);
    FyImageShape out = fy_transform_shape(d->transform, plan.image, &scratch);
    plan.data_size = fy_image_size(out);
    plan.data_dtype = out.dtype;
    plan.data_bytes = fy_image_bytes(out);
    plan.scratch_bytes = scratch + plan.raw_bytes;
  }
  return plan;
}

void fy_sample_make(const FySamplePlan *plan, int64_t index, uint64_t seed, void *data, void *target, void *scratch) {
  FyDataset *d = plan->dataset;
  // The data set's own random numbers are others than the transform's.
  uint64_t own = fy_mix(seed, UINT64_MAX);
  if (!plan->transform) {
    d->type->get(d, index, own, data, target);
    return;
  }
  char *raw = (char *)scratch + plan->scratch_bytes - plan->raw_bytes;
  const void *input = d->type->input_at ? d->type->input_at(d, index) : NULL;
  d->type->get(d, index, own, input ? NULL : raw, target);
  fy_transform_apply(plan->transform, plan->image, input ? input : raw, seed, data, scratch);
}

FyBatch fy_dataset_get(FyDataset *dataset, int64_t index) {
  fy_check(dataset, FY_TYPE_ERROR, "fy_dataset_get: the data set is NULL");
  fy_check(index >= -dataset->count && index < dataset->count, FY_INDEX_ERROR,
           "index %lld is out of range for a data set of %lld samples", (long long)index, (long long)dataset->count);
  int64_t wrapped = index < 0 ? index + dataset->count : index;
  FySamplePlan plan = fy_sample_plan(dataset);
  FyRngState random = fy_rng_reserve(1);
  FyBatch sample = {.data = fy_empty(plan.data_size, .dtype = plan.data_dtype),
                    .target = fy_empty(dataset->target_size, .dtype = dataset->target_dtype),
                    .index = wrapped,
                    .size = 1};
  fy_scope {
    FyTensor *scratch = fy_empty(fy_shape((int64_t)plan.scratch_bytes), .dtype = FY_UINT8);
    fy_sample_make(&plan, wrapped, fy_mix(random.seed, random.offset), fy_data_ptr(sample.data),
                   fy_data_ptr(sample.target), fy_data_ptr(scratch));
  }
  return sample;
}

// ---- tensors in memory -------------------------------------------------------------------------------------------------

typedef struct TensorDataset {
  FyDataset base;
  FyTensor *inputs, *targets; // counted, contiguous, on the CPU
  const char *input, *target; // their elements
  size_t input_bytes, target_bytes;
} TensorDataset;

static void tensor_get(FyDataset *base, int64_t index, uint64_t seed, void *input, void *target) {
  TensorDataset *self = (TensorDataset *)base;
  (void)seed;
  if (input && self->input_bytes)
    memcpy(input, self->input + (size_t)index * self->input_bytes, self->input_bytes);
  if (self->target_bytes)
    memcpy(target, self->target + (size_t)index * self->target_bytes, self->target_bytes);
}

static const void *tensor_input_at(FyDataset *base, int64_t index) {
  TensorDataset *self = (TensorDataset *)base;
  return self->input ? self->input + (size_t)index * self->input_bytes : NULL;
}

static void tensor_destroy(FyDataset *base) {
  TensorDataset *self = (TensorDataset *)base;
  fy_release(self->inputs);
  fy_release(self->targets);
}

static const FyDatasetClass tensor_class = {"tensors in memory", tensor_get, tensor_input_at, tensor_destroy};
static const FyDatasetClass fashion_class = {"Fashion-MNIST", tensor_get, tensor_input_at, tensor_destroy};
static const FyDatasetClass mnist_class = {"MNIST", tensor_get, tensor_input_at, tensor_destroy};
static const FyDatasetClass cifar_class = {"CIFAR-10", tensor_get, tensor_input_at, tensor_destroy};

// The row-major elements of a tensor, held, and the shape of one row of its first dimension.
static FyTensor *hold(FyTensor *t, const char *what, FySize *row, FyDType *dtype) {
  fy_check(t, FY_TYPE_ERROR, "fy_tensor_dataset: the %s are NULL", what);
  fy_check(t->device.type == FY_CPU, FY_TYPE_ERROR,
           "fy_tensor_dataset: the %s are on %s, but data sets lie on the CPU; take fy_cpu(...)", what,
           fy_device_name_of(t->device));
  fy_check(t->array.ndim >= 1, FY_VALUE_ERROR, "fy_tensor_dataset: the %s have no dimension to count samples by", what);
  FyTensor *held = fy_retain(fy_contiguous(fy_detach(t)));
  row->ndim = t->array.ndim - 1;
  memcpy(row->dim, t->array.shape + 1, (size_t)row->ndim * sizeof *row->dim);
  *dtype = t->array.dtype;
  return held;
}

static FyDataset *new_tensors(const FyDatasetClass *type, FyTensor *inputs, FyTensorDataset o) {
  int scope = fy_scope_open();
  TensorDataset *self = fy_dataset_new(sizeof *self, type);
  self->inputs = hold(inputs, "inputs", &self->base.input_size, &self->base.input_dtype);
  self->targets = hold(o.targets, "targets", &self->base.target_size, &self->base.target_dtype);
  fy_check(fy_size_at(inputs, 0) == fy_size_at(o.targets, 0), FY_VALUE_ERROR,
           "Size mismatch between tensors: %lld inputs, but %lld targets", (long long)fy_size_at(inputs, 0),
           (long long)fy_size_at(o.targets, 0));
  self->input = fy_data_ptr(self->inputs);
  self->target = fy_data_ptr(self->targets);
  self->input_bytes = bytes_of(self->base.input_size, self->base.input_dtype);
  self->target_bytes = bytes_of(self->base.target_size, self->base.target_dtype);
  self->base.count = fy_size_at(inputs, 0);
  self->base.channels_first = o.channels_first;
  fy_dataset_transform(&self->base, o.transform);
  fy_keep(self);
  fy_scope_close(scope);
  return &self->base;
}

FyDataset *fy_tensor_dataset_with(FyTensor *inputs, FyTensorDataset options) {
  return new_tensors(&tensor_class, inputs, options);
}

static FyDataset *of_images(const FyDatasetClass *type, FyImages set, bool channels_first, FyTransform *transform) {
  FyDataset *dataset = new_tensors(type, set.images, (FyTensorDataset){set.labels, transform, channels_first});
  fy_drop(set.images);
  fy_drop(set.labels);
  return dataset;
}

FyDataset *fy_fashion_mnist_dataset(const char *root, bool train, FyTransform *transform) {
  return of_images(&fashion_class, fy_fashion_mnist(root, train), false, transform);
}

FyDataset *fy_mnist_dataset(const char *root, bool train, FyTransform *transform) {
  return of_images(&mnist_class, fy_mnist(root, train), false, transform);
}

FyDataset *fy_cifar10_dataset(const char *root, bool train, FyTransform *transform) {
  return of_images(&cifar_class, fy_cifar10(root, train), true, transform);
}

// ---- a part of another -------------------------------------------------------------------------------------------------

typedef struct Subset {
  FyDataset base;
  FyDatasetClass own; // the parent's name
  FyDataset *parent;  // counted
  int64_t begin;
} Subset;

static void subset_get(FyDataset *base, int64_t index, uint64_t seed, void *input, void *target) {
  Subset *self = (Subset *)base;
  self->parent->type->get(self->parent, self->begin + index, seed, input, target);
}

static const void *subset_input_at(FyDataset *base, int64_t index) {
  Subset *self = (Subset *)base;
  const FyDatasetClass *type = self->parent->type;
  return type->input_at ? type->input_at(self->parent, self->begin + index) : NULL;
}

static void subset_destroy(FyDataset *base) {
  fy_release(((Subset *)base)->parent);
}

FyDataset *fy_subset(FyDataset *dataset, int64_t begin, int64_t end) {
  static const FyDatasetClass subset_class = {"subset", subset_get, subset_input_at, subset_destroy};
  fy_check(dataset, FY_TYPE_ERROR, "fy_subset: the data set is NULL");
  end = end > dataset->count ? dataset->count : end;
  fy_check(begin >= 0 && begin <= end, FY_INDEX_ERROR,
           "fy_subset: %lld to %lld is no range of a data set of %lld samples", (long long)begin, (long long)end,
           (long long)dataset->count);
  Subset *self = fy_dataset_new(sizeof *self, &subset_class);
  FyObject object = self->base.object;
  self->base = *dataset;
  self->base.object = object;
  self->own = subset_class;
  self->own.name = dataset->type->name;
  self->base.type = &self->own;
  self->base.count = end - begin;
  fy_retain(self->base.transform);
  self->parent = fy_retain(dataset);
  self->begin = begin;
  return &self->base;
}
