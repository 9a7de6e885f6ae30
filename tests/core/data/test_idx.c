// SPDX-License-Identifier: MIT
// IDX files: good ones, and malformed ones, all written here. Fashion-MNIST where it is installed.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/ferry-idx-XXXXXX";
static char path[64];

static int set_up(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/file", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void write_plain(const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

static void write_gzip(const char *mode, const void *bytes, size_t count) {
  gzFile file = gzopen(path, mode);
  assert_non_null(file);
  assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
  assert_int_equal(gzclose(file), Z_OK);
}

#define BYTES(...) ((unsigned char[]){__VA_ARGS__}), sizeof((unsigned char[]){__VA_ARGS__})
#define MATRIX 0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255

static void test_uint8(void **state) {
  (void)state;
  write_plain(BYTES(MATRIX));
  FyTensor *t = fy_read_idx(path);
  assert_string_equal(fy_shape_string(t), "torch.Size([2, 3])");
  assert_int_equal(fy_dtype_of(t), FY_UINT8);
  assert_values(t, (double[]){1, 2, 3, 4, 5, 255}, 6, 0);
}

static void test_gzip(void **state) {
  (void)state;
  write_gzip("wb", BYTES(MATRIX));
  assert_values(fy_read_idx(path), (double[]){1, 2, 3, 4, 5, 255}, 6, 0);
}

static void test_joined_gzip_members(void **state) {
  (void)state;
  write_gzip("wb", BYTES(0, 0, 8, 1, 0, 0, 0, 3, 7));
  write_gzip("ab", BYTES(8, 9));
  assert_values(fy_read_idx(path), (double[]){7, 8, 9}, 3, 0);
}

static void test_wide_types_are_big_endian(void **state) {
  (void)state;
  write_plain(BYTES(0, 0, 0x0C, 1, 0, 0, 0, 2, 0, 0, 1, 2, 255, 255, 255, 254));
  FyTensor *ints = fy_read_idx(path);
  assert_int_equal(fy_dtype_of(ints), FY_INT32);
  assert_values(ints, (double[]){258, -2}, 2, 0);
  write_plain(BYTES(0, 0, 0x0D, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0));
  FyTensor *floats = fy_read_idx(path);
  assert_int_equal(fy_dtype_of(floats), FY_FLOAT32);
  assert_values(floats, (double[]){1.5}, 1, 0);
  write_plain(BYTES(0, 0, 0x0E, 1, 0, 0, 0, 1, 0xc0, 0x04, 0, 0, 0, 0, 0, 0));
  FyTensor *doubles = fy_read_idx(path);
  assert_int_equal(fy_dtype_of(doubles), FY_FLOAT64);
  assert_values(doubles, (double[]){-2.5}, 1, 0);
}

static void test_empty_tensors(void **state) {
  (void)state;
  write_plain(BYTES(0, 0, 8, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff));
  assert_string_equal(fy_shape_string(fy_read_idx(path)), "torch.Size([0, 4294967295])");
  write_gzip("wb", BYTES(0, 0, 0x0E, 1, 0, 0, 0, 0));
  assert_int_equal(fy_numel(fy_read_idx(path)), 0);
}

// ---- malformed ---------------------------------------------------------------------------------------------------------

// Reading raises an error of this kind that names the file and contains `part`; no memory is left behind.
static void assert_malformed(FyErrorKind kind, const char *part) {
  FyError error;
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  fy_trap(error) {
    fy_read_idx(path);
  }
  assert_int_equal(error.kind, kind);
  if (!strstr(error.message, path) || !strstr(error.message, part))
    fail_msg("expected an error about '%s', but got '%s'", part, error.message);
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  assert_true(fy_max_memory_allocated(FY_CPU_DEVICE) <= before + (1 << 16));
}

static void test_not_idx(void **state) {
  (void)state;
  write_plain("", 0);
  assert_malformed(FY_VALUE_ERROR, "offset 0: expected 4 bytes of IDX header, but the file ends after 0");
  write_plain(BYTES(0, 0, 8));
  assert_malformed(FY_VALUE_ERROR, "offset 0: expected 4 bytes of IDX header, but the file ends after 3");
  write_plain("GIF89a and so on", 16);
  assert_malformed(FY_VALUE_ERROR, "begins with two zero bytes, but got 0x47 0x49");
}

static void test_dtype_and_rank(void **state) {
  (void)state;
  write_plain(BYTES(0, 0, 7, 1, 0, 0, 0, 1, 9));
  assert_malformed(FY_VALUE_ERROR, "offset 2: expected an IDX dtype code (0x08, 0x0c, 0x0d or 0x0e), but got 0x07");
  write_plain(BYTES(0, 0, 0x0B, 1, 0, 0, 0, 1, 9, 9));
  assert_malformed(FY_VALUE_ERROR, "offset 2: the IDX dtype code 0x0b (int16) has no dtype here");
  write_plain(BYTES(0, 0, 8, 0, 1));
  assert_malformed(FY_VALUE_ERROR, "offset 3: expected a rank from 1 to 16, but got 0");
  write_plain(BYTES(0, 0, 8, 17, 1));
  assert_malformed(FY_VALUE_ERROR, "offset 3: expected a rank from 1 to 16, but got 17");
}

static void test_sizes(void **state) {
  (void)state;
  write_plain(BYTES(0, 0, 8, 2, 0, 0, 0, 2, 0, 0));
  assert_malformed(FY_VALUE_ERROR, "offset 4: expected 8 bytes of dimensions, but the file ends after 6");
  write_plain(BYTES(0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5));
  assert_malformed(FY_VALUE_ERROR, "offset 12: the header promises 6 bytes of elements, but the file has 5");
  write_plain(BYTES(MATRIX, 0));
  assert_malformed(FY_VALUE_ERROR, "offset 12: the header promises 6 bytes of elements, but the file has 7");
  write_plain(BYTES(0, 0, 8, 1, 0xff, 0xff, 0xff, 0xff, 1));
  assert_malformed(FY_VALUE_ERROR, "the header promises 4294967295 bytes");
}

static void test_overflowing_dimensions(void **state) {
  (void)state;
  write_plain(BYTES(0, 0, 8, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1));
  assert_malformed(FY_VALUE_ERROR, "offset 4: the dimensions multiply to more bytes than 64 bits can count");
  // 2^32 / 2 times 2^32 / 2 times 8 is 2^65: a product that wraps to 0
  write_plain(BYTES(0, 0, 0x0E, 2, 0x80, 0, 0, 0, 0x80, 0, 0, 0));
  assert_malformed(FY_VALUE_ERROR, "offset 4: the dimensions multiply to more bytes than 64 bits can count");
}

static void test_gzip_sizes(void **state) {
  (void)state;
  write_gzip("wb", BYTES(0, 0, 8, 1, 0, 0, 0, 3, 1, 2));
  assert_malformed(FY_VALUE_ERROR, "offset 8: expected 3 bytes of elements, but the content ends after 2");
  write_gzip("wb", BYTES(MATRIX, 0));
  assert_malformed(FY_VALUE_ERROR, "offset 18: expected the end after 6 bytes of elements, but there are more");
  write_gzip("wb", BYTES(0, 0, 8, 1, 0x7f, 0xff, 0xff, 0xff, 1));
  assert_malformed(FY_VALUE_ERROR, "is gzip that cannot unpack to more than");
}

// The header says 4 bytes; behind it are 64 MiB of zeros, packed into a few KiB. They are never unpacked.
static void test_a_gzip_bomb(void **state) {
  (void)state;
  static const unsigned char zeros[1 << 16];
  gzFile file = gzopen(path, "wb9");
  gzwrite(file, BYTES(0, 0, 8, 1, 0, 0, 0, 4));
  for (int i = 0; i < 1024; i++)
    gzwrite(file, zeros, sizeof zeros);
  gzclose(file);
  assert_malformed(FY_VALUE_ERROR, "offset 12: expected the end after 4 bytes of elements, but there are more");
}

static size_t read_back(unsigned char *bytes, size_t room) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t count = fread(bytes, 1, room, file);
  fclose(file);
  return count;
}

static void test_damaged_gzip(void **state) {
  (void)state;
  unsigned char bytes[256];
  write_gzip("wb", BYTES(MATRIX));
  size_t count = read_back(bytes, sizeof bytes - 8);
  write_plain(bytes, count - 5); // the checksum at the end is cut
  assert_malformed(FY_VALUE_ERROR, "the gzip stream is truncated");
  write_plain(bytes, 12);
  assert_malformed(FY_VALUE_ERROR, "the gzip stream is truncated");
  bytes[count - 8] ^= 1;
  write_plain(bytes, count);
  assert_malformed(FY_VALUE_ERROR, "the gzip stream is damaged after 18 bytes of content: incorrect data check");
  bytes[count - 8] ^= 1;
  memcpy(bytes + count, "garbage", 7);
  write_plain(bytes, count + 7);
  assert_malformed(FY_VALUE_ERROR, "the gzip stream is damaged after 18 bytes of content: incorrect header check");
  bytes[2] = 9; // an unknown method
  write_plain(bytes, count);
  assert_malformed(FY_VALUE_ERROR, "the gzip stream is damaged after 0 bytes of content");
}

static FyErrorKind kind_of_reading(void) {
  FyError error;
  fy_scope {
    fy_trap(error) {
      fy_read_idx(path);
    }
  }
  return error.kind;
}

static void change_every_byte(void) {
  unsigned char bytes[256];
  size_t count = read_back(bytes, sizeof bytes);
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < 8; k++) {
      bytes[i] ^= (unsigned char)(1 << k);
      write_plain(bytes, count);
      FyErrorKind kind = kind_of_reading();
      assert_true(kind == FY_NO_ERROR || kind == FY_VALUE_ERROR);
      bytes[i] ^= (unsigned char)(1 << k);
    }
  }
}

// Whatever a byte is changed to, the reader returns or raises; a sanitizer sees the rest.
static void test_every_single_bit_changed(void **state) {
  (void)state;
  write_plain(BYTES(MATRIX));
  change_every_byte();
  write_gzip("wb", BYTES(MATRIX));
  change_every_byte();
}

static void test_missing_files(void **state) {
  (void)state;
  unlink(path);
  assert_malformed(FY_OS_ERROR, "No such file or directory");
  assert_int_equal(mkdir(path, 0700), 0);
  assert_malformed(FY_OS_ERROR, "is not a regular file");
  rmdir(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_malformed(FY_OS_ERROR, "is not a regular file");
  assert_raises(FY_TYPE_ERROR, "fy_read_idx: the path is NULL", fy_read_idx(NULL));
}

// ---- Fashion-MNIST -----------------------------------------------------------------------------------------------------

static void test_fashion_mnist(void **state) {
  (void)state;
  if (!fy_fashion_mnist_available(NULL)) {
    print_message("Fashion-MNIST is not installed\n");
    skip();
  }
  FyImages train = fy_fashion_mnist(NULL, true), test = fy_fashion_mnist(NULL, false);
  assert_string_equal(fy_shape_string(train.images), "torch.Size([60000, 28, 28])");
  assert_string_equal(fy_shape_string(train.labels), "torch.Size([60000])");
  assert_string_equal(fy_shape_string(test.images), "torch.Size([10000, 28, 28])");
  assert_int_equal(fy_dtype_of(test.labels), FY_INT64);
  int64_t counts[10] = {0};
  const int64_t *labels = fy_numpy(test.labels);
  for (int i = 0; i < 10000; i++)
    counts[labels[i]]++;
  for (int i = 0; i < 10; i++)
    assert_int_equal(counts[i], 1000);
  assert_string_equal(fy_fashion_mnist_class((int)labels[0]), "Ankle boot");
}

static void test_fashion_mnist_elsewhere(void **state) {
  (void)state;
  assert_false(fy_fashion_mnist_available(folder));
  assert_raises_about(FY_OS_ERROR, folder, fy_fashion_mnist(folder, true));
  assert_raises_about(FY_OS_ERROR, "apt-get install dataset-fashion-mnist", fy_fashion_mnist(folder, true));
  assert_string_equal(fy_fashion_mnist_class(0), "T-shirt/top");
  assert_raises(FY_INDEX_ERROR, "Fashion-MNIST has labels 0 to 9, but got 10", fy_fashion_mnist_class(10));
}

// Two images and their labels under torchvision's folder names, with one thing wrong at a time.
static void write_set(const char *root, int side, int labels, int label) {
  char name[256];
  unsigned char images[16 + 2 * 28 * 28] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, (unsigned char)side, 0, 0, 0, 28};
  unsigned char marks[16] = {0, 0, 8, 1, 0, 0, 0, (unsigned char)labels, 3, (unsigned char)label};
  snprintf(name, sizeof name, "%s/t10k-images-idx3-ubyte", root);
  FILE *file = fopen(name, "wb");
  fwrite(images, 1, 16 + 2 * (size_t)side * 28, file);
  fclose(file);
  snprintf(name, sizeof name, "%s/t10k-labels-idx1-ubyte", root);
  file = fopen(name, "wb");
  fwrite(marks, 1, 8 + (size_t)labels, file);
  fclose(file);
}

static void test_fashion_mnist_is_checked(void **state) {
  (void)state;
  char root[128], raw[192], name[256];
  snprintf(root, sizeof root, "%s/FashionMNIST", folder);
  snprintf(raw, sizeof raw, "%s/raw", root);
  assert_int_equal(mkdir(root, 0700) | mkdir(raw, 0700), 0);
  write_set(raw, 28, 2, 9);
  assert_values(fy_fashion_mnist(folder, false).labels, (double[]){3, 9}, 2, 0);
  write_set(raw, 28, 2, 10);
  assert_raises_about(FY_VALUE_ERROR, "offset 9: expected a label from 0 to 9, but got 10",
                      fy_fashion_mnist(folder, false));
  write_set(raw, 28, 1, 9);
  assert_raises_about(FY_VALUE_ERROR,
                      "expected one uint8 label for each of 2 images, but got torch.uint8 of "
                      "torch.Size([1])",
                      fy_fashion_mnist(folder, false));
  write_set(raw, 27, 2, 9);
  assert_raises_about(FY_VALUE_ERROR,
                      "expected uint8 images of shape (N, 28, 28), but got torch.uint8 of "
                      "torch.Size([2, 27, 28])",
                      fy_fashion_mnist(folder, false));
  snprintf(name, sizeof name, "%s/t10k-images-idx3-ubyte", raw);
  unlink(name);
  snprintf(name, sizeof name, "%s/t10k-labels-idx1-ubyte", raw);
  unlink(name);
  assert_int_equal(rmdir(raw) | rmdir(root), 0);
}

static void new_folder(char path[256], const char *above, const char *name) {
  snprintf(path, 256, "%s/%s", above, name);
  assert_int_equal(mkdir(path, 0700), 0);
}

static void remove_set(const char *raw) {
  char name[256];
  for (int i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s/t10k-%s-ubyte", raw, i ? "labels-idx1" : "images-idx3");
    unlink(name);
  }
  assert_int_equal(rmdir(raw), 0);
}

// MNIST and Fashion-MNIST below one root: each finds its own, also where the files of the other have the same names.
static void test_mnist(void **state) {
  (void)state;
  char ferry[256], digits[256], clothes[256], text[96];
  new_folder(ferry, folder, "ferry");
  new_folder(digits, ferry, "mnist");
  new_folder(clothes, ferry, "fashion-mnist");
  write_set(digits, 28, 2, 7);
  write_set(clothes, 28, 2, 8);
  assert_false(fy_mnist_available(ferry)); // the training half is missing
  assert_values(fy_mnist(ferry, false).labels, (double[]){3, 7}, 2, 0);
  assert_values(fy_mnist(digits, false).labels, (double[]){3, 7}, 2, 0);
  setenv("XDG_DATA_HOME", folder, 1); // where chapters/get_data.sh writes
  assert_values(fy_mnist(NULL, false).labels, (double[]){3, 7}, 2, 0);
  assert_values(fy_fashion_mnist(NULL, false).labels, (double[]){3, 8}, 2, 0);
  FyDataset *set = fy_mnist_dataset(NULL, false, NULL);
  assert_string_equal(fy_dataset_describe(set, text, sizeof text), "MNIST (2 samples)");
  setenv("FERRY_DATA", clothes, 1); // goes first; its files are Fashion-MNIST's, so MNIST is looked for further on
  assert_values(fy_fashion_mnist(NULL, false).labels, (double[]){3, 8}, 2, 0);
  assert_values(fy_mnist(NULL, false).labels, (double[]){3, 7}, 2, 0);
  remove_set(digits);
  assert_raises_about(FY_OS_ERROR, "MNIST's t10k-images-idx3-ubyte[.gz] is not in ", fy_mnist(NULL, false));
  assert_raises_about(FY_OS_ERROR, "Run chapters/get_data.sh mnist", fy_mnist(NULL, false));
  unsetenv("FERRY_DATA");
  unsetenv("XDG_DATA_HOME");
  remove_set(clothes);
  assert_int_equal(rmdir(ferry), 0);
  assert_string_equal(fy_mnist_class(7), "7 - seven");
  assert_raises(FY_INDEX_ERROR, "MNIST has labels 0 to 9, but got -1", fy_mnist_class(-1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uint8),
      cmocka_unit_test(test_gzip),
      cmocka_unit_test(test_joined_gzip_members),
      cmocka_unit_test(test_wide_types_are_big_endian),
      cmocka_unit_test(test_empty_tensors),
      cmocka_unit_test(test_not_idx),
      cmocka_unit_test(test_dtype_and_rank),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_overflowing_dimensions),
      cmocka_unit_test(test_gzip_sizes),
      cmocka_unit_test(test_a_gzip_bomb),
      cmocka_unit_test(test_damaged_gzip),
      cmocka_unit_test(test_every_single_bit_changed),
      cmocka_unit_test(test_missing_files),
      cmocka_unit_test(test_fashion_mnist),
      cmocka_unit_test(test_fashion_mnist_elsewhere),
      cmocka_unit_test(test_fashion_mnist_is_checked),
      cmocka_unit_test(test_mnist),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
