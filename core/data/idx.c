// SPDX-License-Identifier: MIT
// IDX: two zero bytes, a dtype code, the rank, one big-endian uint32 per dimension, then the elements, big-endian.
#include "data/byte_source.h"
#include "data/data.h"
#include "op/ops.h"
#include <string.h>

typedef struct Header {
  FyDType dtype;
  FySize size;
  uint64_t bytes; // of the elements
} Header;

static FyDType dtype_of_code(const char *path, int code) {
  switch (code) {
  case 0x08:
    return FY_UINT8;
  case 0x0C:
    return FY_INT32;
  case 0x0D:
    return FY_FLOAT32;
  case 0x0E:
    return FY_FLOAT64;
  case 0x09:
  case 0x0B:
    fy_raise(FY_VALUE_ERROR,
             "%s: offset 2: the IDX dtype code 0x%02x (%s) has no dtype here: uint8 (0x08), int32 (0x0c), "
             "float32 (0x0d) and float64 (0x0e) are read",
             path, code, code == 0x09 ? "int8" : "int16");
  default:
    fy_raise(FY_VALUE_ERROR, "%s: offset 2: expected an IDX dtype code (0x08, 0x0c, 0x0d or 0x0e), but got 0x%02x",
             path, code);
  }
}

static void read_exactly(FyByteSource *source, const char *path, void *to, size_t bytes, const char *what) {
  uint64_t offset = fy_byte_source_offset(source);
  size_t got = fy_byte_source_read(source, to, bytes);
  fy_check(got == bytes, FY_VALUE_ERROR, "%s: offset %llu: expected %zu bytes of %s, but the %s ends after %zu", path,
           (unsigned long long)offset, bytes, what, fy_byte_source_is_gzip(source) ? "content" : "file", got);
}

static Header read_header(FyByteSource *source, const char *path) {
  unsigned char magic[4], dims[4 * FY_MAX_DIM];
  read_exactly(source, path, magic, sizeof magic, "IDX header");
  fy_check(magic[0] == 0 && magic[1] == 0, FY_VALUE_ERROR,
           "%s: offset 0: expected an IDX file, which begins with two zero bytes, but got 0x%02x 0x%02x", path,
           magic[0], magic[1]);
  Header header = {.dtype = dtype_of_code(path, magic[2]), .size.ndim = magic[3]};
  fy_check(magic[3] >= 1 && magic[3] <= FY_MAX_DIM, FY_VALUE_ERROR,
           "%s: offset 3: expected a rank from 1 to %d, but got %d", path, FY_MAX_DIM, magic[3]);
  read_exactly(source, path, dims, 4 * (size_t)magic[3], "dimensions");
  header.bytes = fy_dtype_size(header.dtype);
  bool empty = false, overflow = false;
  for (int i = 0; i < magic[3]; i++) {
    const unsigned char *d = dims + 4 * i;
    header.size.dim[i] = (int64_t)d[0] << 24 | d[1] << 16 | d[2] << 8 | d[3];
    empty |= header.size.dim[i] == 0;
    overflow |= __builtin_mul_overflow(header.bytes, (uint64_t)header.size.dim[i], &header.bytes);
  }
  if (empty)
    header.bytes = 0;
  fy_check(empty || (!overflow && header.bytes <= INT64_MAX), FY_VALUE_ERROR,
           "%s: offset 4: the dimensions multiply to more bytes than 64 bits can count", path);
  return header;
}

// Before any memory is taken: can the file hold what its header promises?
static void check_size(const FyByteSource *source, const char *path, const Header *header) {
  uint64_t begin = fy_byte_source_offset(source), limit = fy_byte_source_limit(source);
  bool gzip = fy_byte_source_is_gzip(source);
  bool fits = gzip ? header->bytes <= limit : header->bytes == limit - begin;
  fy_check(fits, FY_VALUE_ERROR, "%s: offset %llu: the header promises %llu bytes of elements, but the file %s %llu",
           path, (unsigned long long)begin, (unsigned long long)header->bytes,
           gzip ? "is gzip that cannot unpack to more than" : "has",
           (unsigned long long)(gzip ? limit : limit - begin));
}

static void swap_bytes(void *data, int64_t count, size_t size) {
  for (int64_t i = 0; i < count && size == 4; i++)
    ((uint32_t *)data)[i] = __builtin_bswap32(((uint32_t *)data)[i]);
  for (int64_t i = 0; i < count && size == 8; i++)
    ((uint64_t *)data)[i] = __builtin_bswap64(((uint64_t *)data)[i]);
}

FyTensor *fy_read_idx(const char *path) {
  fy_check(path, FY_TYPE_ERROR, "fy_read_idx: the path is NULL");
  unsigned char beyond;
  int mark = fy_scope_open();
  FyByteSource *source = fy_byte_source_open(path);
  Header header = read_header(source, path);
  check_size(source, path, &header);
  FyTensor *t = fy_empty(header.size, .dtype = header.dtype);
  read_exactly(source, path, fy_data_ptr(t), (size_t)header.bytes, "elements");
  fy_check(fy_byte_source_read(source, &beyond, 1) == 0, FY_VALUE_ERROR,
           "%s: offset %llu: expected the end after %llu bytes of elements, but there are more", path,
           (unsigned long long)fy_byte_source_offset(source) - 1, (unsigned long long)header.bytes);
  swap_bytes(fy_data_ptr(t), fy_numel(t), fy_dtype_size(header.dtype));
  fy_keep(t);
  fy_scope_close(mark);
  return t;
}
