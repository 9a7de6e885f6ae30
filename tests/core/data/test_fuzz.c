// SPDX-License-Identifier: MIT
// The readers of data sets, arrays and safetensors files under mutated input (mutated.h).
// run: FERRY_CUDA=off
#include "mutated.h"
#include <zlib.h>

enum { DEFLATE_RATIO = 1032 };

static void read_idx(void) {
  look_at(fy_read_idx(path));
}
static void read_cifar(void) {
  FyImages set = fy_read_cifar10(path);
  look_at(set.images);
  look_at(set.labels);
}
static void read_npy(void) {
  look_at(fy_contiguous(fy_npy_load(path)));
}
static void read_safetensors(void) {
  FyMetadata *metadata = NULL;
  FyTensorList *list = fy_safetensors_load(path, &metadata);
  for (int i = 0; i < list->count; i++) {
    look_at(list->items[i]);
    folded ^= (unsigned char)strlen(list->names[i]);
  }
  for (int i = 0; i < metadata->count; i++)
    folded ^= (unsigned char)(strlen(metadata->keys[i]) + strlen(metadata->values[i]));
}

// ---- the good files ----------------------------------------------------------------------------------------------------

static Input of(const void *bytes, size_t n) {
  Input in = {.length = n};
  memcpy(in.bytes, bytes, n);
  return in;
}
#define BYTES(...) of((unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__}))

static int idx_seeds(Input *seeds) {
  seeds[0] = BYTES(0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255);
  seeds[1] = BYTES(0, 0, 0x0D, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 1, 2, 3, 4);
  seeds[2] = BYTES(0, 0, 0x0E, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0xc0, 4, 0, 0, 0, 0, 0, 0);
  seeds[3] = BYTES(0, 0, 0x0C, 2, 0, 0, 0, 0, 0, 0, 1, 0);
  return 4;
}

static void idx(void **state) {
  (void)state;
  static Input seeds[4];
  Reader reader = {.name = "IDX", .read = read_idx, .ratio = 1, .seeds = idx_seeds(seeds), .seed = seeds};
  fuzz(&reader);
}

static void pack(Input *in) {
  static Input out;
  z_stream z = {.next_in = in->bytes, .avail_in = (uInt)in->length, .next_out = out.bytes, .avail_out = LARGEST};
  if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return;
  bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
  out.length = LARGEST - z.avail_out;
  deflateEnd(&z);
  if (whole)
    *in = out;
}

// Damage inside the content: unpacked, mutated, packed again, so that length and CRC are right.
static void unpack_mutate_pack(Input *in) {
  Input seeds[4];
  *in = seeds[roll((size_t)idx_seeds(seeds))];
  mutate_once(in);
  pack(in);
}

static void idx_gzip(void **state) {
  (void)state;
  static Input seeds[4];
  Reader reader = {.name = "IDX gzip",
                   .read = read_idx,
                   .ratio = DEFLATE_RATIO,
                   .seeds = idx_seeds(seeds),
                   .seed = seeds,
                   .repair = NULL};
  for (int i = 0; i < reader.seeds; i++)
    pack(&seeds[i]);
  fuzz(&reader);
  reader.name = "IDX gzip, content";
  reader.repair = unpack_mutate_pack;
  fuzz(&reader);
}

static void whole_records(Input *in) {
  in->length = (in->length + 1536) / 3073 * 3073;
  if (in->length > LARGEST)
    in->length = LARGEST / 3073 * 3073;
}

static void cifar10(void **state) {
  (void)state;
  static Input seed = {.length = 3 * 3073};
  for (size_t i = 0; i < seed.length; i++)
    seed.bytes[i] = (unsigned char)(i % 3073 ? i * 31 : i / 3073);
  Reader reader = {
      .name = "CIFAR-10", .read = read_cifar, .ratio = 1, .seeds = 1, .seed = &seed, .repair = whole_records};
  fuzz(&reader);
}

static Input npy_seed(const char *header, size_t data) {
  Input in = {.length = 10};
  memcpy(in.bytes, "\x93NUMPY\1\0", 8);
  size_t length = strlen(header);
  in.bytes[8] = (unsigned char)length;
  memcpy(in.bytes + 10, header, length);
  in.length += length + data;
  memset(in.bytes + 10 + length, 1, data);
  return in;
}

// The header's length as it is, so that what is in it gets read.
static void npy_length(Input *in) {
  const unsigned char *end = in->length > 10 ? memchr(in->bytes + 10, '}', in->length - 10) : NULL;
  if (!end || in->bytes[6] != 1)
    return;
  size_t length = (size_t)(end - in->bytes) + 1 - 10;
  in->bytes[8] = (unsigned char)length;
  in->bytes[9] = (unsigned char)(length >> 8);
}

static void npy(void **state) {
  (void)state;
  static Input seeds[4];
  seeds[0] = npy_seed("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
  seeds[1] = npy_seed("{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2, 1)}", 32);
  seeds[2] = npy_seed("{'shape': (), 'fortran_order': False, 'descr': '|b1'}", 1);
  seeds[3] = npy_seed("{'descr': '<f2', 'fortran_order': False, 'shape': (0, 7,)}", 0);
  Reader reader = {.name = ".npy", .read = read_npy, .ratio = 1, .seeds = 4, .seed = seeds, .repair = npy_length};
  fuzz(&reader);
}

// The length of the header up to the last brace.
static void header_length(Input *in) {
  const unsigned char *end = in->length > 8 ? memrchr(in->bytes + 8, '}', in->length - 8) : NULL;
  if (!end)
    return;
  size_t length = (size_t)(end - in->bytes) + 1 - 8;
  for (int i = 0; i < 8; i++)
    in->bytes[i] = (unsigned char)(length >> 8 * i);
}

static void safetensors(void **state) {
  (void)state;
  static Input seeds[3];
  fy_scope {
    FyTensorList *list = fy_tensor_list_new(), *one = fy_tensor_list_new();
    FyMetadata *metadata = fy_metadata_new();
    fy_metadata_set(metadata, "format", "pt");
    fy_metadata_set(metadata, "caf\xc3\xa9", "\"\n");
    fy_list_add(list, "fc.weight", fy_ones(fy_shape(2, 3)));
    fy_list_add(list, "fc.bias", fy_ones(fy_shape(2), .dtype = FY_FLOAT64));
    fy_list_add(list, "\"", fy_ones(fy_shape(3), .dtype = FY_BOOL));
    fy_list_add(list, "n", fy_ones(FY_SCALAR, .dtype = FY_INT64));
    fy_list_add(list, "empty", fy_ones(fy_shape(0, 3), .dtype = FY_FLOAT16));
    fy_list_add(one, "w", fy_ones(fy_shape(2), .dtype = FY_UINT8));
    FyTensorList *all[] = {list, one, fy_tensor_list_new()};
    for (int i = 0; i < 3; i++) {
      char name[] = "/tmp/ferry-fuzz-XXXXXX";
      close(mkstemp(name));
      fy_safetensors_save(name, all[i], i == 1 ? NULL : metadata);
      seeds[i] = of_file(name);
      unlink(name);
    }
  }
  Reader reader = {
      .name = "safetensors", .read = read_safetensors, .ratio = 1, .seeds = 3, .seed = seeds, .repair = header_length};
  fuzz(&reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(idx), cmocka_unit_test(idx_gzip),    cmocka_unit_test(cifar10),
      cmocka_unit_test(npy), cmocka_unit_test(safetensors),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
