// SPDX-License-Identifier: MIT
// Writing safetensors files.
#include "base/atomic_file.h"
#include "base/text.h"
#include "base/json_text.h"
#include "data/safetensors_impl.h"
#include "op/ops.h"
#include <stdlib.h>
#include <string.h>

// ---- the header --------------------------------------------------------------------------------------------------------

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_names(const FyTensorList *list) {
  for (int i = 0; i < list->count; i++) {
    fy_check(strcmp(list->names[i], "__metadata__") != 0, FY_VALUE_ERROR,
             "a tensor cannot be saved as \"__metadata__\": the format has that name for itself");
    fy_check(fy_is_utf8(list->names[i], strlen(list->names[i])), FY_VALUE_ERROR,
             "the name of tensor %d is not UTF-8 text", i);
  }
  fy_scope {
    FyTensor *memory = fy_empty(fy_shape((int64_t)sizeof(char *) * list->count), .dtype = FY_UINT8);
    char **sorted = fy_data_ptr(memory);
    for (int i = 0; i < list->count; i++)
      sorted[i] = list->names[i];
    if (list->count)
      qsort(sorted, (size_t)list->count, sizeof *sorted, by_text);
    for (int i = 1; i < list->count; i++)
      fy_check(strcmp(sorted[i - 1], sorted[i]) != 0, FY_VALUE_ERROR, "two tensors are named \"%s\"", sorted[i]);
  }
}

// Elements are stored in the order of their size, so that each tensor lies at a multiple of its own: returns the bytes of
// those before tensor `index`.
static uint64_t offset_of(const FyTensorList *list, int index) {
  uint64_t offset = 0;
  size_t size = fy_dtype_size(fy_dtype_of(list->items[index]));
  for (int i = 0; i < list->count; i++) {
    size_t other = fy_dtype_size(fy_dtype_of(list->items[i]));
    if (other > size || (other == size && i < index))
      offset += fy_nbytes(list->items[i]);
  }
  return offset;
}

static const char *dtype_name(FyDType dtype) {
  for (int i = 0; i < FY_SAFETENSORS_DTYPES; i++)
    if (fy_safetensors_dtypes[i].dtype == dtype)
      return fy_safetensors_dtypes[i].name;
  fy_panic("safetensors has no name for %s", fy_dtype_name(dtype));
}

static void append_metadata(FyText *text, const FyMetadata *metadata) {
  fy_text_add(text, "\"__metadata__\":{");
  for (int i = 0; i < metadata->count; i++) {
    fy_text_add(text, "%s", i ? "," : "");
    fy_text_add_json(text, metadata->keys[i]);
    fy_text_add(text, ":");
    fy_text_add_json(text, metadata->values[i]);
  }
  fy_text_add(text, "}");
}

static void append_tensor(FyText *text, const FyTensorList *list, int i) {
  FySize size = fy_size(list->items[i]);
  uint64_t begin = offset_of(list, i);
  fy_text_add_json(text, list->names[i]);
  fy_text_add(text, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(fy_dtype_of(list->items[i])));
  for (int d = 0; d < size.ndim; d++)
    fy_text_add(text, "%s%lld", d ? "," : "", (long long)size.dim[d]);
  fy_text_add(text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
              (unsigned long long)(begin + fy_nbytes(list->items[i])));
}

static FyText *build_header(const FyTensorList *list, const FyMetadata *metadata) {
  FyText *text = fy_text_new();
  fy_text_add(text, "{");
  if (metadata && metadata->count)
    append_metadata(text, metadata);
  for (int i = 0; i < list->count; i++) {
    fy_text_add(text, "%s", text->length > 1 ? "," : "");
    append_tensor(text, list, i);
  }
  fy_text_add(text, "}");
  while (text->length % 8)
    fy_text_add(text, " ");
  fy_check(text->length <= FY_SAFETENSORS_MAX_HEADER, FY_VALUE_ERROR,
           "names, shapes and metadata take %zu bytes, but a safetensors header has at most %d", text->length,
           FY_SAFETENSORS_MAX_HEADER);
  return text;
}

// ---- the file ----------------------------------------------------------------------------------------------------------

// One tensor at a time comes to the host.
static void write_tensor(FyAtomicFile *file, FyTensor *tensor) {
  fy_scope {
    FyTensor *host = fy_contiguous(fy_cpu(fy_detach(tensor)));
    fy_atomic_file_write(file, fy_data_ptr(host), fy_nbytes(host));
  }
}

void fy_safetensors_save(const char *path, const FyTensorList *tensors, const FyMetadata *metadata) {
  fy_check(path && tensors, FY_TYPE_ERROR, "fy_safetensors_save: the path or the list of tensors is NULL");
  check_names(tensors);
  fy_scope {
    FyText *header = build_header(tensors, metadata);
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
      length[i] = (unsigned char)(header->length >> 8 * i);
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, length, sizeof length);
    fy_atomic_file_write(file, header->bytes, header->length);
    for (size_t size = 8; size > 0; size /= 2)
      for (int i = 0; i < tensors->count; i++)
        if (fy_dtype_size(fy_dtype_of(tensors->items[i])) == size)
          write_tensor(file, tensors->items[i]);
    fy_atomic_file_commit(file);
  }
}
