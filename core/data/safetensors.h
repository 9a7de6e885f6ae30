// SPDX-License-Identifier: MIT
// Files of named tensors in the safetensors format. Loading such a file never executes code. Any thread may call these
// functions, but only one thread at a time may use the same metadata or list.
#ifndef FERRY_DATA_SAFETENSORS_H
#define FERRY_DATA_SAFETENSORS_H

#include "tensor/list.h"

// The __metadata__ of a file: text values by name. It is an object owned by a scope, and copies keys and values.
// fy_metadata_new creates empty metadata, owned by the innermost scope.
typedef struct FyMetadata {
  FyObject object;
  int count;
  char **keys, **values;
  int *slots; // a hash table of the keys, for the library
  size_t slot_count;
} FyMetadata;
FY_API FyMetadata *fy_metadata_new(void);

// Sets the value of a key, formatted as by printf, and replaces a previous value. Numbers are formatted as in the C
// locale, whatever the program's locale is. Raises FY_VALUE_ERROR if the key or the value is not UTF-8.
FY_API void fy_metadata_set(FyMetadata *metadata, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Returns the value of a key, borrowed until the key is set again, or NULL if there is no such key. Never raises.
FY_API const char *fy_metadata_get(const FyMetadata *metadata, const char *key);

// Saves every tensor of the list under its name, with the metadata if it is not NULL. Tensors may be on any device:
//
//   fy_safetensors_save("net.safetensors", fy_state_dict(net), NULL);
//
// Writes to a temporary file, syncs it to disk and renames it to `path`, so no other program ever sees an incomplete
// file. Raises FY_OS_ERROR, with the path in its message, if a file operation fails. Raises FY_VALUE_ERROR if a name
// occurs twice, is not UTF-8 or is "__metadata__". PyTorch: safetensors.torch.save_file(tensors, path, metadata).
FY_API void fy_safetensors_save(const char *path, const FyTensorList *tensors, const FyMetadata *metadata);

// Returns the tensors of a file on the CPU, in the order of the file; the innermost scope owns the list:
//
//   fy_load_state_dict(net, fy_safetensors_load("net.safetensors", NULL));
//
// If `metadata` is not NULL, it receives the file's metadata, owned by the innermost scope, or empty metadata if the
// file has none. Raises FY_OS_ERROR if the file cannot be read. Raises FY_VALUE_ERROR if it is malformed; the message
// names the path, the offset and the expected content. Also raises FY_VALUE_ERROR for a dtype that Ferry does not have
// (I8, I16, U16, ...), with the dtype in its message. PyTorch: safetensors.torch.load_file(path).
FY_API FyTensorList *fy_safetensors_load(const char *path, FyMetadata **metadata);

#endif
