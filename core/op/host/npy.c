// NumPy's .npy files: magic, version, a Python dict as header, then the elements.
//
// What is read may be hostile: every length is checked against the file before it is believed.
#include "op/ops.h"
#include "tensor/impl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
  const char *descr;
  FyDType dtype;
} types[] = {
    {"|b1", FY_BOOL},  {"?", FY_BOOL},      {"|u1", FY_UINT8},   {"<i4", FY_INT32},
    {"<i8", FY_INT64}, {"<f2", FY_FLOAT16}, {"<f4", FY_FLOAT32}, {"<f8", FY_FLOAT64},
};

static const char *descr_of(FyDType dtype) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == dtype)
      return types[i].descr;
  return "<V2"; // bfloat16, as ml_dtypes saves it
}

// ---- writing -------------------------------------------------------------------------------------------------------------

static size_t build_header(const FyTensor *t, char *header, size_t size) {
  char shape[FY_MAX_DIM * 22 + 8] = "(";
  for (int i = 0; i < t->array.ndim; i++)
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%lld%s", (long long)t->array.shape[i],
             i + 1 < t->array.ndim ? ", "
             : t->array.ndim == 1  ? ","
                                   : "");
  strcat(shape, ")");
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  size_t length =
      10 + (size_t)snprintf(header + 10, size - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                            descr_of(t->array.dtype), shape);
  while ((length + 1) % 64)
    header[length++] = ' ';
  header[length++] = '\n';
  header[8] = (char)((length - 10) & 255);
  header[9] = (char)((length - 10) >> 8);
  return length;
}

static bool write_all(const char *path, const char *header, size_t header_bytes, const void *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (!file)
    return false;
  bool good =
      fwrite(header, 1, header_bytes, file) == header_bytes && (!bytes || fwrite(data, 1, bytes, file) == bytes);
  good &= fflush(file) == 0 && fsync(fileno(file)) == 0;
  int error = errno;
  good &= fclose(file) == 0;
  errno = error;
  return good;
}

void fy_npy_save(const char *path, FyTensor *t) {
  char header[1024], temporary[4096];
  int scope = fy_scope_open();
  FyTensor *row_major = t->device.type == FY_CPU ? fy_contiguous(fy_detach(t)) : t;
  row_major->requires_grad = fy_has_gradient(t);
  const void *data = fy_numpy(row_major);
  size_t header_bytes = build_header(t, header, sizeof header);
  // A reader never sees half a file: written aside, then renamed.
  int n = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
  fy_check(n < (int)sizeof temporary, FY_OS_ERROR, "%s: the path is too long", path);
  if (write_all(temporary, header, header_bytes, data, fy_nbytes(t)) && rename(temporary, path) == 0) {
    fy_scope_close(scope);
    return;
  }
  int error = errno;
  unlink(temporary);
  fy_raise(FY_OS_ERROR, "%s: cannot write: %s", path, strerror(error));
}

// ---- reading -------------------------------------------------------------------------------------------------------------

typedef struct Reader {
  FyObject object;
  const char *path;
  FILE *file;
  char *header; // NUL-terminated
  const char *at;
  size_t header_offset;
  int64_t file_bytes;
} Reader;

static void reader_destroy(void *pointer) {
  Reader *r = pointer;
  if (r->file)
    fclose(r->file);
  free(r->header);
  free(r);
}

static _Noreturn void malformed(const Reader *r, size_t offset, const char *expected) {
  fy_raise(FY_VALUE_ERROR, "%s: not a readable .npy file: at byte %zu, expected %s", r->path, offset, expected);
}

static size_t position(const Reader *r) {
  return r->header_offset + (size_t)(r->at - r->header);
}

static Reader *open_reader(const char *path) {
  Reader *r = fy_object_new(sizeof *r, reader_destroy);
  struct stat status;
  r->path = path;
  r->file = fopen(path, "rb");
  fy_check(r->file && fstat(fileno(r->file), &status) == 0, FY_OS_ERROR, "%s: cannot read: %s", path, strerror(errno));
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: cannot read: not a regular file", path);
  r->file_bytes = status.st_size;
  return r;
}

static void read_header(Reader *r) {
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

static void skip_spaces(Reader *r) {
  while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')
    r->at++;
}

static bool accept(Reader *r, const char *word) {
  skip_spaces(r);
  size_t length = strlen(word);
  if (strncmp(r->at, word, length) != 0)
    return false;
  r->at += length;
  return true;
}

static void expect(Reader *r, const char *word) {
  if (!accept(r, word))
    malformed(r, position(r), word);
}

static void read_string(Reader *r, char *text, size_t size) {
  skip_spaces(r);
  char quote = *r->at;
  const char *end = quote == '\'' || quote == '"' ? strchr(r->at + 1, quote) : NULL;
  if (!end || (size_t)(end - r->at) > size)
    malformed(r, position(r), "a short string in quotes");
  snprintf(text, size, "%.*s", (int)(end - r->at - 1), r->at + 1);
  r->at = end + 1;
}

static FySize read_shape(Reader *r) {
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

static FyDType read_dtype(Reader *r) {
  char descr[16];
  skip_spaces(r);
  size_t start = position(r);
  read_string(r, descr, sizeof descr);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].descr, descr) == 0)
      return types[i].dtype;
  malformed(r, start,
            "one of the element types |b1, |u1, <i4, <i8, <f2, <f4, <f8 (objects and big-endian types are refused)");
}

typedef struct Header {
  FyDType dtype;
  bool fortran;
  FySize shape;
} Header;

static Header parse_header(Reader *r) {
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
      h.dtype = read_dtype(r);
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

static size_t checked_bytes(const Reader *r, const Header *h, size_t data_offset) {
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

FyTensor *fy_npy_load(const char *path) {
  int scope = fy_scope_open();
  Reader *r = open_reader(path);
  read_header(r);
  Header h = parse_header(r);
  size_t offset = (size_t)ftell(r->file), bytes = checked_bytes(r, &h, offset);
  FySize stored = h.shape;
  if (h.fortran)
    for (int i = 0; i < stored.ndim; i++)
      stored.dim[i] = h.shape.dim[h.shape.ndim - 1 - i];
  FyTensor *t = fy_new_tensor(h.dtype, FY_CPU_DEVICE, stored.ndim, stored.dim, false);
  fy_check(!bytes || fread(t->array.data, 1, bytes, r->file) == bytes, FY_OS_ERROR, "%s: cannot read: %s", path,
           strerror(errno));
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
