// SPDX-License-Identifier: MIT
// Reading safetensors files, which may be hostile: everything is checked before memory is taken for a tensor, and what is
// taken before is bounded by the header's own size.
#include "base/json_text.h"
#include "data/safetensors_impl.h"
#include "op/ops.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX = 8, SHORTEST_ENTRY = 50 }; // bytes of ,"":{"dtype":"U8","shape":[],"data_offsets":[0,0]}

// One tensor of the header. Positions are in the header's text, which is below 2^32.
typedef struct HeaderEntry {
  uint32_t name, shape;
  uint8_t dtype, ndim;
  uint64_t begin, end;
} HeaderEntry;

typedef struct HeaderReader {
  FyObject object;
  int file;
  uint64_t file_bytes, data_bytes;
  FyJson json;
  HeaderEntry *entries;
  size_t count, capacity;
  uint32_t metadata; // the first of `metadata_count` pairs of NUL-terminated texts
  uint32_t metadata_count;
  bool has_metadata;
} HeaderReader;

static void destroy_reader(void *object) {
  HeaderReader *r = object;
  if (r->file >= 0)
    close(r->file);
  free(r->json.text);
  free(r->entries);
  free(r);
}

static void read_at(const HeaderReader *r, void *to, size_t bytes, uint64_t offset) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(r->file, (char *)to + done, bytes - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    fy_check(n >= 0, FY_OS_ERROR, "%s: cannot be read: %s", r->json.path, strerror(errno));
    fy_check(n > 0, FY_OS_ERROR, "%s: cannot be read: it has become shorter meanwhile", r->json.path);
    done += (size_t)n;
  }
}

static HeaderReader *open_reader(const char *path) {
  HeaderReader *r = fy_object_new(sizeof *r, destroy_reader);
  struct stat status;
  r->json.path = path;
  r->json.kind = "safetensors file";
  r->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  fy_check(r->file >= 0 && fstat(r->file, &status) == 0, FY_OS_ERROR, "[Errno %d] %s: '%s'", errno, strerror(errno),
           path);
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: is not a regular file", path);
  r->file_bytes = (uint64_t)status.st_size;
  return r;
}

static void read_header(HeaderReader *r) {
  unsigned char prefix[PREFIX] = {0};
  FyJson *json = &r->json;
  if (r->file_bytes < PREFIX)
    fy_json_malformed(json, 0, "8 bytes of header length, but the file has %llu", (unsigned long long)r->file_bytes);
  read_at(r, prefix, PREFIX, 0);
  uint64_t length = 0;
  for (int i = 0; i < PREFIX; i++)
    length |= (uint64_t)prefix[i] << 8 * i;
  if (length > FY_SAFETENSORS_MAX_HEADER)
    fy_json_malformed(json, 0, "a header of at most %d bytes, but got %llu", FY_SAFETENSORS_MAX_HEADER,
                      (unsigned long long)length);
  if (length > r->file_bytes - PREFIX)
    fy_json_malformed(json, 0, "a header within the file of %llu bytes, but it has %llu",
                      (unsigned long long)r->file_bytes, (unsigned long long)length);
  json->offset = PREFIX;
  json->length = length;
  json->text = malloc(length + 1);
  r->capacity = length / SHORTEST_ENTRY + 1;
  r->entries = malloc(r->capacity * sizeof *r->entries);
  fy_check(json->text && r->entries, FY_OUT_OF_MEMORY_ERROR, "%s: out of host memory for its header", json->path);
  read_at(r, json->text, length, PREFIX);
  json->text[length] = '\0';
  r->data_bytes = r->file_bytes - PREFIX - length;
}

// ---- duplicates --------------------------------------------------------------------------------------------------------

static int by_text(const void *a, const void *b, void *text) {
  return strcmp((char *)text + *(const uint32_t *)a, (char *)text + *(const uint32_t *)b);
}

// Sorts positions of texts and raises, at `where` in the text, for two equal ones.
static void check_distinct(const FyJson *json, uint32_t *positions, size_t count, size_t where) {
  if (count)
    qsort_r(positions, count, sizeof *positions, by_text, json->text);
  for (size_t i = 1; i < count; i++)
    if (strcmp(json->text + positions[i - 1], json->text + positions[i]) == 0)
      fy_json_malformed(json, where, "each key once, but \"%.80s\" comes again", json->text + positions[i]);
}

static FyTensor *position_array(size_t count) {
  return fy_empty(fy_shape((int64_t)count), .dtype = FY_INT32);
}

static void check_names(const HeaderReader *r) {
  fy_scope {
    FyTensor *memory = position_array(r->count);
    uint32_t *positions = fy_data_ptr(memory);
    for (size_t i = 0; i < r->count; i++)
      positions[i] = r->entries[i].name;
    check_distinct(&r->json, positions, r->count, 0);
  }
}

static void check_metadata_keys(const HeaderReader *r) {
  fy_scope {
    FyTensor *memory = position_array(r->metadata_count);
    uint32_t *positions = fy_data_ptr(memory);
    const char *at = r->json.text + r->metadata;
    for (uint32_t i = 0; i < r->metadata_count; i++) {
      positions[i] = (uint32_t)(at - r->json.text);
      at += strlen(at) + 1;
      at += strlen(at) + 1;
    }
    check_distinct(&r->json, positions, r->metadata_count, r->metadata);
  }
}

// ---- the header's parts ------------------------------------------------------------------------------------------------

// {"key": "value", ...}: the texts are moved together at the object's beginning, which takes less room than it had.
static void parse_metadata(HeaderReader *r) {
  FyJson *json = &r->json;
  fy_json_expect(json, '{');
  char *out = json->text + json->at;
  r->metadata = (uint32_t)json->at;
  r->has_metadata = true;
  if (fy_json_accept(json, '}'))
    return;
  do {
    for (int part = 0; part < 2; part++) {
      const char *text = json->text + fy_json_string(json, part ? "a text of __metadata__" : "a key of __metadata__");
      size_t bytes = strlen(text) + 1;
      memmove(out, text, bytes);
      out += bytes;
      if (part == 0)
        fy_json_expect(json, ':');
    }
    r->metadata_count++;
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, '}');
}

static void parse_dtype(FyJson *json, HeaderEntry *entry) {
  size_t at = fy_json_string(json, "a dtype");
  for (int i = 0; i < FY_SAFETENSORS_DTYPES; i++) {
    if (strcmp(json->text + at, fy_safetensors_dtypes[i].name) == 0) {
      entry->dtype = (uint8_t)fy_safetensors_dtypes[i].dtype;
      return;
    }
  }
  fy_json_malformed(json, at, "one of the dtypes BOOL, U8, I32, I64, F16, BF16, F32, F64, but got %.40s",
                    json->text + at);
}

// [2, 3]: into `size`.
static FySize parse_shape(FyJson *json) {
  FySize size = {0};
  fy_json_expect(json, '[');
  if (fy_json_accept(json, ']'))
    return size;
  do {
    size_t at = json->at;
    uint64_t dim = fy_json_unsigned(json, "a dimension");
    if (size.ndim == FY_MAX_DIM)
      fy_json_malformed(json, at, "at most %d dimensions", FY_MAX_DIM);
    if (dim > INT64_MAX)
      fy_json_malformed(json, at, "a dimension below 2^63");
    size.dim[size.ndim++] = (int64_t)dim;
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, ']');
  return size;
}

static void parse_offsets(FyJson *json, HeaderEntry *entry) {
  fy_json_expect(json, '[');
  entry->begin = fy_json_unsigned(json, "an offset");
  fy_json_expect(json, ',');
  entry->end = fy_json_unsigned(json, "an offset");
  fy_json_expect(json, ']');
}

static void check_span(const HeaderReader *r, const HeaderEntry *entry, FySize size, size_t at) {
  uint64_t bytes = fy_dtype_size(entry->dtype), product = 1; // the product without zeros must be a number, too
  bool overflow = false, empty = false;
  for (int i = 0; i < size.ndim; i++) {
    empty |= size.dim[i] == 0;
    overflow |= size.dim[i] && __builtin_mul_overflow(product, (uint64_t)size.dim[i], &product);
  }
  overflow |= product > INT64_MAX / 8 || __builtin_mul_overflow(product, bytes, &bytes);
  if (overflow)
    fy_json_malformed(&r->json, at, "a shape whose bytes a 64-bit number can count");
  if (entry->begin > entry->end || entry->end > r->data_bytes)
    fy_json_malformed(&r->json, at, "data_offsets in order and within the %llu bytes of data, but got [%llu, %llu]",
                      (unsigned long long)r->data_bytes, (unsigned long long)entry->begin,
                      (unsigned long long)entry->end);
  bytes = empty ? 0 : bytes;
  if (entry->end - entry->begin != bytes)
    fy_json_malformed(&r->json, at, "data_offsets that span dtype and shape, %llu bytes, but they span %llu",
                      (unsigned long long)bytes, (unsigned long long)(entry->end - entry->begin));
}

static unsigned parse_field(FyJson *json, HeaderEntry *entry, FySize *size) {
  size_t at = fy_json_string(json, "dtype, shape or data_offsets");
  const char *key = json->text + at;
  fy_json_expect(json, ':');
  if (strcmp(key, "dtype") == 0) {
    parse_dtype(json, entry);
    return 1;
  }
  if (strcmp(key, "shape") == 0) {
    fy_json_peek(json);
    entry->shape = (uint32_t)json->at;
    *size = parse_shape(json);
    return 2;
  }
  if (strcmp(key, "data_offsets") != 0)
    fy_json_malformed(json, at, "one of the keys dtype, shape, data_offsets");
  parse_offsets(json, entry);
  return 4;
}

static void parse_tensor(HeaderReader *r, size_t name) {
  FyJson *json = &r->json;
  HeaderEntry entry = {.name = (uint32_t)name};
  FySize size = {0};
  unsigned seen = 0;
  size_t begin = json->at;
  fy_json_expect(json, '{');
  do {
    size_t at = json->at;
    unsigned field = parse_field(json, &entry, &size);
    if (seen & field)
      fy_json_malformed(json, at, "each of dtype, shape and data_offsets once");
    seen |= field;
  } while (fy_json_accept(json, ','));
  fy_json_expect(json, '}');
  if (seen != 7)
    fy_json_malformed(json, begin, "dtype, shape and data_offsets for each tensor");
  check_span(r, &entry, size, begin);
  if (r->count == r->capacity)
    fy_panic("%zu tensors in a safetensors header of %zu bytes", r->count + 1, json->length);
  r->entries[r->count++] = entry;
}

static void parse_header(HeaderReader *r) {
  FyJson *json = &r->json;
  if (json->length == 0 || json->text[0] != '{')
    fy_json_malformed(json, 0, "'{', with which the header begins");
  json->at = 1;
  if (fy_json_peek(json) != '}') {
    do {
      size_t name = fy_json_string(json, "a tensor's name");
      bool metadata = strcmp(json->text + name, "__metadata__") == 0;
      fy_json_expect(json, ':');
      if (metadata && r->has_metadata)
        fy_json_malformed(json, name, "each key once, but \"__metadata__\" comes again");
      if (metadata)
        parse_metadata(r);
      else
        parse_tensor(r, name);
    } while (fy_json_accept(json, ','));
  }
  fy_json_expect(json, '}');
  for (; json->at < json->length; json->at++)
    if (json->text[json->at] != ' ')
      fy_json_malformed(json, json->at, "nothing but spaces after the header's '}'");
}

// ---- the whole ---------------------------------------------------------------------------------------------------------

static int by_offset(const void *left, const void *right) {
  const HeaderEntry *a = left, *b = right;
  if (a->begin != b->begin)
    return a->begin < b->begin ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

static int by_position(const void *left, const void *right) {
  const HeaderEntry *a = left, *b = right;
  return a->name < b->name ? -1 : a->name > b->name;
}

// Sorted by offset, each tensor begins where the one before ends, the last one at the end of the file.
static void check_contiguous(HeaderReader *r) {
  uint64_t end = 0;
  qsort(r->entries, r->count, sizeof *r->entries, by_offset);
  for (size_t i = 0; i < r->count; i++) {
    const HeaderEntry *entry = &r->entries[i];
    if (entry->begin != end)
      fy_json_malformed(&r->json, entry->name,
                        "\"%.80s\" to begin at offset %llu, without gap or overlap, but got %llu",
                        r->json.text + entry->name, (unsigned long long)end, (unsigned long long)entry->begin);
    end = entry->end;
  }
  if (end != r->data_bytes)
    fy_json_malformed(&r->json, r->json.length + end,
                      "the end of the file after %llu bytes of data, but there are %llu", (unsigned long long)end,
                      (unsigned long long)r->data_bytes);
  qsort(r->entries, r->count, sizeof *r->entries, by_position);
}

static void check_bools(const HeaderReader *r, const HeaderEntry *entry, const unsigned char *bytes) {
  for (uint64_t i = 0; i < entry->end - entry->begin; i++)
    if (bytes[i] > 1)
      fy_json_malformed(&r->json, r->json.length + entry->begin + i, "a bool, 0 or 1, but got %d", bytes[i]);
}

static FyTensor *read_tensor(HeaderReader *r, const HeaderEntry *entry) {
  r->json.at = entry->shape;
  FySize size = parse_shape(&r->json);
  FyTensor *tensor = fy_empty(size, .dtype = (FyDType)entry->dtype);
  read_at(r, fy_data_ptr(tensor), entry->end - entry->begin, PREFIX + r->json.length + entry->begin);
  if (entry->dtype == FY_BOOL)
    check_bools(r, entry, fy_data_ptr(tensor));
  return tensor;
}

static FyMetadata *make_metadata(const HeaderReader *r) {
  FyMetadata *metadata = fy_metadata_new();
  const char *at = r->json.text + r->metadata;
  for (uint32_t i = 0; i < r->metadata_count; i++) {
    const char *value = at + strlen(at) + 1;
    fy_metadata_set(metadata, at, "%s", value);
    at = value + strlen(value) + 1;
  }
  return metadata;
}

FyTensorList *fy_safetensors_load(const char *path, FyMetadata **metadata) {
  fy_check(path, FY_TYPE_ERROR, "fy_safetensors_load: the path is NULL");
  int scope = fy_scope_open();
  HeaderReader *r = open_reader(path);
  read_header(r);
  parse_header(r);
  check_names(r);
  check_metadata_keys(r);
  check_contiguous(r);
  FyTensorList *list = fy_tensor_list_new();
  for (size_t i = 0; i < r->count; i++) {
    FyTensor *tensor = read_tensor(r, &r->entries[i]);
    fy_list_add(list, r->json.text + r->entries[i].name, tensor);
    fy_drop(tensor);
  }
  if (metadata)
    *metadata = fy_keep(make_metadata(r));
  fy_keep(list);
  fy_scope_close(scope);
  return list;
}
