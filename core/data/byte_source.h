// SPDX-License-Identifier: MIT
// Bytes of a file, plain or gzip, read in order: for data/ only. What does not say that it raises never does.
#ifndef FERRY_DATA_BYTE_SOURCE_H
#define FERRY_DATA_BYTE_SOURCE_H

#include "base/scope.h"

typedef struct FyByteSource FyByteSource;

// Opens a regular file, to be read as it is or, when it begins as gzip does, unpacked. An object of the scope, which closes
// the file. Raises FY_OS_ERROR when it cannot be opened or is no regular file.
FyByteSource *fy_byte_source_open(const char *path);

// Reads up to `bytes` and returns how many there were: fewer only at the end. Raises FY_OS_ERROR for a failing disk and
// FY_VALUE_ERROR for a damaged or truncated gzip stream.
size_t fy_byte_source_read(FyByteSource *source, void *to, size_t bytes);

// How many bytes of content there can be at most: for a plain file exactly its size, for gzip what deflate's best ratio
// allows. Memory of that size is safe to set aside before reading.
uint64_t fy_byte_source_limit(const FyByteSource *source);

bool fy_byte_source_is_gzip(const FyByteSource *source);
uint64_t fy_byte_source_offset(const FyByteSource *source); // of the content, in bytes read so far

#endif
