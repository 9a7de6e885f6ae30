// SPDX-License-Identifier: MIT
// Tensors of ONNX files: their elements as raw bytes, as numbers of one of four kinds, or in a file beside the model's.
#include "onnx/read.h"
#include "op/ops.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_bools(const FyTensor *t) {
  const unsigned char *bytes = t->array.data;
  for (int64_t i = 0; t->array.dtype == FY_BOOL && i < t->array.numel; i++)
    if (bytes[i] > 1)
      fy_onnx_malformed("a bool is 0 or 1, but there is %d", bytes[i]);
}

static void check_count(size_t found, const FyTensor *t) {
  if (found != (size_t)t->array.numel)
    fy_onnx_malformed("its shape %s has %lld elements, but there are %zu", fy_sizes_of(t), (long long)t->array.numel,
                      found);
}

// int32_data has also what is smaller than an int32, half floats by their bits.
static void copy_small(FyTensor *t, const Onnx__TensorProto *proto) {
  check_count(proto->n_int32_data, t);
  for (int64_t i = 0; i < t->array.numel; i++) {
    const int32_t number = proto->int32_data[i];
    switch (fy_dtype_size(t->array.dtype)) {
    case 4:
      ((int32_t *)t->array.data)[i] = number;
      break;
    case 2:
      ((uint16_t *)t->array.data)[i] = (uint16_t)number;
      break;
    default:
      ((uint8_t *)t->array.data)[i] = (uint8_t)number;
    }
  }
}

static void copy_numbers(FyTensor *t, const Onnx__TensorProto *proto) {
  const void *from = NULL;
  size_t count = 0;
  switch ((FyDType)t->array.dtype) {
  case FY_FLOAT32:
    from = proto->float_data;
    count = proto->n_float_data;
    break;
  case FY_FLOAT64:
    from = proto->double_data;
    count = proto->n_double_data;
    break;
  case FY_INT64:
    from = proto->int64_data;
    count = proto->n_int64_data;
    break;
  default:
    copy_small(t, proto);
    return;
  }
  check_count(count, t);
  if (count)
    memcpy(t->array.data, from, fy_nbytes(t));
}

// ---- elements in another file -----------------------------------------------------------------------------------------------

static const char *external(const Onnx__TensorProto *proto, const char *key) {
  for (size_t i = 0; i < proto->n_external_data; i++)
    if (proto->external_data[i]->key && strcmp(proto->external_data[i]->key, key) == 0)
      return proto->external_data[i]->value;
  return NULL;
}

static uint64_t external_number(const Onnx__TensorProto *proto, const char *key, uint64_t otherwise) {
  const char *text = external(proto, key);
  char *end;
  if (!text)
    return otherwise;
  errno = 0;
  const uint64_t number = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno)
    fy_onnx_malformed("the %s of its external data is no number: %.40s", key, text);
  return number;
}

// A plain name in the model's own folder: no path leads anywhere else, and no link is followed.
static int open_beside(FyOnnxReader *r, const char *location) {
  if (!location || !*location || strchr(location, '/') || strcmp(location, ".") == 0 || strcmp(location, "..") == 0)
    fy_onnx_unsupported(
        "its elements are in \"%.200s\": they are read only from a file in the model's own folder, by its "
        "plain name",
        location ? location : "");
  char *copy = fy_pool_print(r->pool, "%s", r->path);
  const int folder = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
  fy_check(folder >= 0, FY_OS_ERROR, "%s: its folder cannot be opened: %s", r->path, strerror(errno));
  const int file = openat(folder, location, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const int error = errno;
  close(folder);
  fy_check(file >= 0, FY_OS_ERROR, "%s: its file of weights \"%.200s\" cannot be opened: %s", r->path, location,
           strerror(error));
  return file;
}

// NULL, or what is wrong.
static const char *read_all(int file, void *to, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pread(file, (char *)to + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? strerror(errno) : "it has become shorter meanwhile";
    done += (size_t)n;
  }
  return NULL;
}

// Of each file no more is read, in all, than it has: else a few bytes here could ask for the same gigabytes again and again.
static FyOnnxBeside *beside(FyOnnxReader *r, const char *location, uint64_t size) {
  for (FyOnnxBeside *known = r->beside; known; known = known->next)
    if (strcmp(known->location, location) == 0)
      return known;
  FyOnnxBeside *fresh = fy_pool_take(r->pool, sizeof *fresh);
  *fresh = (FyOnnxBeside){.next = r->beside, .location = location, .left = size};
  return r->beside = fresh;
}

// An open file, closed with the scope.
typedef struct Opened {
  FyObject object;
  int file;
} Opened;

static void destroy_opened(void *object) {
  if (((Opened *)object)->file >= 0)
    close(((Opened *)object)->file);
  free(object);
}

// The file's size is looked at before memory is taken.
static FyTensor *read_external(FyOnnxReader *r, const Onnx__TensorProto *proto, FyDType dtype, FySize size,
                               size_t bytes) {
  const char *location = external(proto, "location");
  const uint64_t offset = external_number(proto, "offset", 0);
  struct stat status;
  if (external_number(proto, "length", bytes) != bytes)
    fy_onnx_malformed("its external data has another length than its shape, which takes %zu bytes", bytes);
  Opened *opened = fy_object_new(sizeof *opened, destroy_opened);
  opened->file = -1;
  opened->file = open_beside(r, location);
  if (fstat(opened->file, &status) != 0 || !S_ISREG(status.st_mode))
    fy_onnx_malformed("its file of weights \"%.200s\" is no regular file", location);
  const uint64_t there = (uint64_t)status.st_size;
  FyOnnxBeside *budget = beside(r, location, there);
  if (offset > there || bytes > there - offset || bytes > budget->left)
    fy_onnx_malformed("its file of weights \"%.200s\" has %llu bytes, too few for what is to be read from it", location,
                      (unsigned long long)there);
  budget->left -= bytes;
  FyTensor *tensor = fy_empty(size, .dtype = dtype);
  const char *wrong = read_all(opened->file, fy_data_ptr(tensor), bytes, offset);
  fy_drop(opened);
  fy_check(!wrong, FY_OS_ERROR, "%s: its file of weights \"%.200s\" cannot be read: %s", r->path, location, wrong);
  return tensor;
}

// ---- the whole -----------------------------------------------------------------------------------------------------------------

static FySize size_of(const Onnx__TensorProto *proto) {
  FySize size = {.ndim = (int)proto->n_dims};
  if (proto->n_dims > FY_MAX_DIM)
    fy_onnx_unsupported("it has %zu dimensions, a tensor has at most %d", proto->n_dims, FY_MAX_DIM);
  for (int d = 0; d < size.ndim; d++)
    size.dim[d] = proto->dims[d];
  fy_onnx_check_shape(size.ndim, size.dim);
  return size;
}

static size_t bytes_of(FyDType dtype, FySize size) {
  size_t bytes = fy_dtype_size(dtype);
  for (int d = 0; d < size.ndim; d++)
    bytes *= (size_t)size.dim[d];
  return bytes;
}

// What a tensor of this size takes must be there in the file, in one form or the other, before it is made.
static void check_there(const Onnx__TensorProto *proto, FyDType dtype, size_t bytes) {
  const size_t count = bytes / fy_dtype_size(dtype);
  const size_t numbers = dtype == FY_FLOAT32   ? proto->n_float_data
                         : dtype == FY_FLOAT64 ? proto->n_double_data
                         : dtype == FY_INT64   ? proto->n_int64_data
                                               : proto->n_int32_data;
  if (proto->has_raw_data && proto->raw_data.len && proto->raw_data.len != bytes)
    fy_onnx_malformed("its shape and type take %zu bytes, but it has %zu", bytes, proto->raw_data.len);
  if ((!proto->has_raw_data || !proto->raw_data.len) && numbers != count)
    fy_onnx_malformed("its shape has %zu elements, but it has %zu", count, numbers);
}

FyTensor *fy_onnx_read_tensor(FyOnnxReader *r, const Onnx__TensorProto *proto) {
  const FyDType dtype = fy_onnx_dtype(proto->data_type);
  if (!dtype)
    fy_onnx_unsupported("its type is %s: BOOL, UINT8, INT32, INT64, FLOAT16, BFLOAT16, FLOAT and DOUBLE are supported",
                        fy_onnx_type_name(proto->data_type));
  const FySize size = size_of(proto);
  const size_t bytes = bytes_of(dtype, size);
  FyTensor *tensor;
  if (proto->data_location == FY_ONNX_EXTERNAL) {
    tensor = read_external(r, proto, dtype, size, bytes);
  } else {
    check_there(proto, dtype, bytes);
    tensor = fy_empty(size, .dtype = dtype);
    if (proto->has_raw_data && proto->raw_data.len)
      memcpy(fy_data_ptr(tensor), proto->raw_data.data, bytes);
    else
      copy_numbers(tensor, proto);
  }
  check_bools(tensor);
  return tensor;
}
