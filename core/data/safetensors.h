// SPDX-License-Identifier: MIT
// Tensors in files, by name: the safetensors format. No code is ever read from a file. Any thread may call these, on
// metadata and lists of its own.
#ifndef FERRY_DATA_SAFETENSORS_H
#define FERRY_DATA_SAFETENSORS_H

#include "tensor/list.h"

// A file's __metadata__: texts by name. An object of the scope; keys and values are copied.
typedef struct FyMetadata {
  FyObject object;
  int count;
  char **keys, **values;
  int *slots; // the library's
  size_t slot_count;
} FyMetadata;
FY_API FyMetadata *fy_metadata_new(void);

// Sets a key, replacing the value it had. Numbers are formatted as in the C locale, whichever the program has set. Raises
// FY_VALUE_ERROR for text that is not UTF-8.
FY_API void fy_metadata_set(FyMetadata *metadata, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The value, borrowed until it is set again; NULL when the key is not there.
FY_API const char *fy_metadata_get(const FyMetadata *metadata, const char *key);

// safetensors.torch.save_file(tensors, path, metadata): every tensor of the list by its name, from any device; metadata may
// be NULL. The file appears whole or not at all: it is written aside, synced and renamed. Raises FY_OS_ERROR naming the path
// when the file system refuses, and FY_VALUE_ERROR for a name that comes twice, is no UTF-8 or is "__metadata__".
//   fy_safetensors_save("net.safetensors", fy_state_dict(net), NULL);
FY_API void fy_safetensors_save(const char *path, const FyTensorList *tensors, const FyMetadata *metadata);

// safetensors.torch.load_file(path): the tensors in the file's order, on the CPU. With `metadata` not NULL the file's are
// stored there (an empty one where it has none). Raises FY_OS_ERROR when the file cannot be read, and FY_VALUE_ERROR, naming
// the path, the offset and what was expected, for anything malformed; dtypes without a counterpart here (I8, I16, U16, ...)
// are refused by name.
//   fy_load_state_dict(net, fy_safetensors_load("net.safetensors", NULL));
FY_API FyTensorList *fy_safetensors_load(const char *path, FyMetadata **metadata);

#endif
