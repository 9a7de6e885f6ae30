// SPDX-License-Identifier: MIT
// NumPy's .npy files: magic, version, a Python dict as header, then the elements.
//
// What is read may be hostile: every length is checked against the file before it is believed.
#include "base/atomic_file.h"
#include "base/text.h"
#include "op/ops.h"
#include "tensor/impl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// An element type without its byte order, which is '<' (little-endian), '>' (big-endian) or, for single bytes, '|'.
static const struct {
  const char *code;
  FyDType dtype;
} types[] = {
    {"b1", FY_BOOL},    {"u1", FY_UINT8},   {"i4", FY_INT32},   {"i8", FY_INT64},
    {"f2", FY_FLOAT16}, {"f4", FY_FLOAT32}, {"f8", FY_FLOAT64}, {"V2", FY_BFLOAT16}, // as ml_dtypes saves it
};
enum { TYPES = sizeof types / sizeof *types };

static const char *code_of(FyDType dtype) {
  for (int i = 0; i < TYPES; i++)
    if (types[i].dtype == dtype)
      return types[i].code;
  fy_panic(".npy has no code for %s", fy_dtype_name(dtype));
}

// ---- writing -------------------------------------------------------------------------------------------------------------

static FyText *build_header(const FyTensor *t) {
  const FyDType dtype = t->array.dtype;
  const char *sizes = fy_sizes_of(t); // in brackets
  FyText *dict = fy_text_new(), *header = fy_text_new();
  fy_text_add(dict, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%.*s%s), }",
              fy_dtype_size(dtype) > 1 ? '<' : '|', code_of(dtype), (int)strlen(sizes) - 2, sizes + 1,
              t->array.ndim == 1 ? "," : "");
  const int spaces = 63 - (int)((10 + dict->length) % 64); // all of it, with the newline, is a multiple of 64
  const size_t length = dict->length + (size_t)spaces + 1;
  fy_text_add(header, "\x93NUMPY%c%c%c%c%s%*s\n", 1, 0, (int)(length & 255), (int)(length >> 8), dict->bytes, spaces,
              "");
  return header;
}

void fy_npy_save(const char *path, FyTensor *t) {
  fy_scope {
    FyTensor *row_major = t->device.type == FY_CPU ? fy_contiguous(fy_detach(t)) : t;
    row_major->requires_grad = fy_has_gradient(t);
    const void *data = fy_numpy(row_major);
    FyText *header = build_header(t);
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, header->bytes, header->length);
    fy_atomic_file_write(file, data, fy_nbytes(t));
    fy_atomic_file_commit(file);
  }
}

// ---- reading -------------------------------------------------------------------------------------------------------------

typedef struct NpyReader {
  FyObject object;
  const char *path;
  FILE *file;
  char *header; // NUL-terminated
  const char *at;
  size_t header_offset;
  int64_t file_bytes;
} NpyReader;

static void reader_destroy(void *pointer) {
  NpyReader *r = pointer;
  if (r->file)
    fclose(r->file);
  free(r->header);
  free(r);
}

static _Noreturn void malformed(const NpyReader *r, size_t offset, const char *expected) {
  fy_raise(FY_VALUE_ERROR, "%s: not a readable .npy file: at byte %zu, expected %s", r->path, offset, expected);
}

static size_t position(const NpyReader *r) {
  return r->header_offset + (size_t)(r->at - r->header);
}

static NpyReader *open_reader(const char *path) {
  NpyReader *r = fy_object_new(sizeof *r, reader_destroy);
  struct stat status;
  r->path = path;
  r->file = fopen(path, "rb");
  fy_check(r->file && fstat(fileno(r->file), &status) == 0, FY_OS_ERROR, "%s: cannot read: %s", path, strerror(errno));
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: cannot read: not a regular file", path);
  r->file_bytes = status.st_size;
  return r;
}

static void read_header(NpyReader *r) {
  unsigned char start[12];
  if (fread(start, 1, 10, r->file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
    malformed(r, 0, "the magic string \\x93NUMPY, a version and a header length");
  if (start[6] < 1 || start[6] > 3 || start[7] != 0)
    malformed(r, 6, "version 1.0, 2.0 or 3.0");
  size_t length = start[8] | (size_t)start[9] << 8;
  r->header_offset = 10;
  if (start[6] >= 2) {
    if (fread(start + 10, 1, 2, r->file) != 2)
      malformed(r, 10, "four bytes of header length");
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    r->header_offset = 12;
  }
  if (length > 10000)
    malformed(r, 8, "a header of at most 10000 bytes");
  r->header = malloc(length + 1);
  fy_check(r->header, FY_OUT_OF_MEMORY_ERROR, "%s: out of host memory for its header", r->path);
  if (fread(r->header, 1, length, r->file) != length || memchr(r->header, 0, length))
    malformed(r, r->header_offset, "the whole header, as text");
  r->header[length] = '\0';
  r->at = r->header;
}

static void skip_spaces(NpyReader *r) {
  while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')
    r->at++;
}

static bool accept(NpyReader *r, const char *word) {
  skip_spaces(r);
  size_t length = strlen(word);
  if (strncmp(r->at, word, length) != 0)
    return false;
  r->at += length;
  return true;
}

static void expect(NpyReader *r, const char *word) {
  if (!accept(r, word))
    malformed(r, position(r), word);
}

static void read_string(NpyReader *r, char *text, size_t size) {
  skip_spaces(r);
  char quote = *r->at;
  const char *end = quote == '\'' || quote == '"' ? strchr(r->at + 1, quote) : NULL;
  if (!end || (size_t)(end - r->at) > size)
    malformed(r, position(r), "a short string in quotes");
  snprintf(text, size, "%.*s", (int)(end - r->at - 1), r->at + 1);
  r->at = end + 1;
}

static FySize read_shape(NpyReader *r) {
  FySize shape = {.ndim = 0};
  expect(r, "(");
  while (!accept(r, ")")) {
    char *end;
    if (shape.ndim == FY_MAX_DIM)
      malformed(r, position(r), "at most 16 dimensions");
    skip_spaces(r);
    errno = 0;
    long long size = *r->at >= '0' && *r->at <= '9' ? strtoll(r->at, &end, 10) : -1;
    if (size < 0 || errno)
      malformed(r, position(r), "a dimension, which is a whole number from 0");
    shape.dim[shape.ndim++] = size;
    r->at = end;
    if (!accept(r, ",") && *r->at != ')')
      malformed(r, position(r), "',' or ')'");
  }
  return shape;
}

static FyDType read_dtype(NpyReader *r, bool *big_endian) {
  char descr[16];
  skip_spaces(r);
  size_t start = position(r);
  if (*r->at == '[' || *r->at == '{')
    malformed(r, start, "one element type (structured types are refused)");
  read_string(r, descr, sizeof descr);
  const bool ordered = descr[0] && strchr("<>|=", descr[0]);
  const char *code = strcmp(descr, "?") == 0 ? "b1" : descr + ordered;
  *big_endian = descr[0] == '>';
  for (int i = 0; i < TYPES; i++)
    if (strcmp(types[i].code, code) == 0 && types[i].dtype != FY_BFLOAT16)
      return types[i].dtype;
  malformed(
      r, start,
      "one of the element types b1, u1, i4, i8, f2, f4, f8, with '<', '>' or '|' before it (objects are refused)");
}

typedef struct Header {
  FyDType dtype;
  bool big_endian, fortran;
  FySize shape;
} Header;

static Header parse_header(NpyReader *r) {
  Header h = {.dtype = FY_DEFAULT_DTYPE};
  unsigned seen = 0;
  expect(r, "{");
  while (!accept(r, "}")) {
    char name[24];
    unsigned bit;
    size_t start = position(r);
    read_string(r, name, sizeof name);
    expect(r, ":");
    if (strcmp(name, "descr") == 0) {
      h.dtype = read_dtype(r, &h.big_endian);
      bit = 1;
    } else if (strcmp(name, "fortran_order") == 0) {
      h.fortran = accept(r, "True");
      if (!h.fortran)
        expect(r, "False");
      bit = 2;
    } else if (strcmp(name, "shape") == 0) {
      h.shape = read_shape(r);
      bit = 4;
    } else {
      malformed(r, start, "one of the keys descr, fortran_order, shape");
    }
    if (seen & bit)
      malformed(r, start, "each key once");
    seen |= bit;
    if (!accept(r, ",") && *r->at != '}')
      malformed(r, position(r), "',' or '}'");
  }
  if (seen != 7)
    malformed(r, position(r), "the keys descr, fortran_order and shape");
  skip_spaces(r);
  if (*r->at)
    malformed(r, position(r), "the end of the header");
  return h;
}

static size_t checked_bytes(const NpyReader *r, const Header *h, size_t data_offset) {
  int64_t bytes = (int64_t)fy_dtype_size(h->dtype);
  bool fits = true, empty = false;
  for (int i = 0; i < h->shape.ndim; i++) {
    empty |= h->shape.dim[i] == 0;
    fits &= !__builtin_mul_overflow(bytes, h->shape.dim[i], &bytes);
  }
  if (empty)
    bytes = 0;
  else if (!fits)
    malformed(r, r->header_offset, "a shape whose size in bytes is a 64-bit number");
  int64_t have = r->file_bytes - (int64_t)data_offset;
  fy_check(have == bytes, FY_VALUE_ERROR,
           "%s: not a readable .npy file: at byte %zu, expected %lld bytes of elements, but the file has %lld", r->path,
           data_offset, (long long)bytes, (long long)have);
  return (size_t)bytes;
}

static void reverse_bytes(unsigned char *bytes, size_t count, size_t size) {
  for (unsigned char *element = bytes; element < bytes + count; element += size)
    for (size_t i = 0; i < size / 2; i++) {
      unsigned char byte = element[i];
      element[i] = element[size - 1 - i];
      element[size - 1 - i] = byte;
    }
}

static void read_elements(NpyReader *r, const Header *h, size_t offset, size_t bytes, void *to) {
  const unsigned char *element = to;
  fy_check(!bytes || fread(to, 1, bytes, r->file) == bytes, FY_OS_ERROR, "%s: cannot read: %s", r->path,
           strerror(errno));
  if (h->big_endian)
    reverse_bytes(to, bytes, fy_dtype_size(h->dtype));
  for (size_t i = 0; h->dtype == FY_BOOL && i < bytes; i++)
    if (element[i] > 1)
      malformed(r, offset + i, "a bool, 0 or 1");
}

FyTensor *fy_npy_load(const char *path) {
  int scope = fy_scope_open();
  NpyReader *r = open_reader(path);
  read_header(r);
  Header h = parse_header(r);
  size_t offset = (size_t)ftell(r->file), bytes = checked_bytes(r, &h, offset);
  FySize stored = h.shape;
  if (h.fortran)
    for (int i = 0; i < stored.ndim; i++)
      stored.dim[i] = h.shape.dim[h.shape.ndim - 1 - i];
  FyTensor *t = fy_new_tensor(h.dtype, FY_CPU_DEVICE, stored.ndim, stored.dim, false);
  read_elements(r, &h, offset, bytes, t->array.data);
  if (h.fortran && stored.ndim > 1) {
    FySize reversed = {.ndim = stored.ndim};
    for (int i = 0; i < stored.ndim; i++)
      reversed.dim[i] = stored.ndim - 1 - i;
    t = fy_permute(t, reversed);
  }
  fy_keep(t);
  fy_scope_close(scope);
  return t;
}
