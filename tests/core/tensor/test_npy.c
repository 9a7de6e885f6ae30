// SPDX-License-Identifier: MIT
// .npy files: every dtype and shape there and back, files by numpy itself and read by it, files that are not what they
// say, and writes that cannot happen.
//
// run: FERRY_CUDA=off
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "core/nn/check.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static FyDevice device;
static char folder[] = "/tmp/ferry-npy-XXXXXX";
static const FyDType dtypes[] = {FY_BOOL, FY_UINT8, FY_INT32, FY_INT64, FY_FLOAT16, FY_FLOAT32, FY_FLOAT64};
static const char *const descrs[] = {"|b1", "|u1", "<i4", "<i8", "<f2", "<f4", "<f8"};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static const char *path_of(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ & 3];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static size_t read_file(const char *path, unsigned char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t n = fread(bytes, 1, size, file);
  fclose(file);
  return n;
}

static void write_file(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

// A file of this version, header and number of bytes after it; returns its path.
static const char *write_npy(int version, const char *header, const void *data, size_t bytes) {
  unsigned char file[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
  size_t length = strlen(header), start = version == 1 ? 10 : 12;
  file[8] = (unsigned char)length;
  file[9] = (unsigned char)(length >> 8);
  memcpy(file + start, header, length);
  if (bytes)
    memcpy(file + start + length, data, bytes);
  const char *path = path_of("made.npy");
  write_file(path, file, start + length + bytes);
  return path;
}

// ---- there and back ----------------------------------------------------------------------------------------------------------

static void there_and_back(void **state) {
  (void)state;
  const FySize shapes[] = {
      FY_SCALAR,   fy_shape(1),       fy_shape(7),    fy_shape(2, 3, 4),
      fy_shape(0), fy_shape(3, 0, 2), fy_shape(1, 1), fy_shape(2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1)};
  const char *path = path_of("a.npy");
  for (int d = 0; d < DTYPES; d++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      fy_scope {
        FyTensor *t = fy_randint(0, dtypes[d] == FY_BOOL ? 2 : 100, shapes[s], .dtype = dtypes[d]);
        fy_npy_save(path, t);
        FyTensor *back = fy_npy_load(path);
        assert_true(fy_equal(back, t));
        assert_string_equal(fy_shape_string(back), fy_shape_string(t));
        assert_true(fy_is_contiguous(back) && !fy_is_cuda(back) && !fy_requires_grad(back));
      }
}

static void bits_survive(void **state) {
  (void)state;
  const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 0x1p-1074, 0.1};
  fy_npy_save(path_of("a.npy"), fy_tensor(values, fy_shape(6)));
  assert_memory_equal(fy_numpy(fy_npy_load(path_of("a.npy"))), values, sizeof values);
}

static void strided_tensors_are_written_row_major(void **state) {
  (void)state;
  FyTensor *t = fy_slice(fy_t(fy_view(fy_arange(24), fy_shape(4, 6))), 0, 0, 6, 2);
  fy_npy_save(path_of("a.npy"), t);
  assert_true(fy_equal(fy_npy_load(path_of("a.npy")), t));
  assert_false(fy_is_contiguous(t)); // the tensor itself is as it was
}

static void the_bytes_are_numpys(void **state) {
  (void)state;
  for (int d = 0; d < DTYPES; d++) {
    unsigned char got[512];
    char header[128];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }", descrs[d]);
    FyTensor *t = fy_ones(fy_shape(2, 3), .dtype = dtypes[d]);
    fy_npy_save(path_of("a.npy"), t);
    assert_int_equal(read_file(path_of("a.npy"), got, sizeof got), 128 + fy_nbytes(t));
    assert_memory_equal(got, "\x93NUMPY\x01\x00\x76\x00", 10); // 118 bytes of header: data begins at a multiple of 64
    assert_memory_equal(got + 10, header, strlen(header));
    for (size_t i = 10 + strlen(header); i < 127; i++)
      assert_int_equal(got[i], ' ');
    assert_int_equal(got[127], '\n');
    assert_memory_equal(got + 128, fy_numpy(t), fy_nbytes(t));
  }
}

static void shapes_as_python_writes_them(void **state) {
  (void)state;
  unsigned char got[256] = {0};
  fy_npy_save(path_of("a.npy"), fy_zeros(FY_SCALAR));
  read_file(path_of("a.npy"), got, 128);
  assert_non_null(strstr((char *)got + 10, "'shape': (), }"));
  fy_npy_save(path_of("a.npy"), fy_zeros(fy_shape(5)));
  read_file(path_of("a.npy"), got, 128);
  assert_non_null(strstr((char *)got + 10, "'shape': (5,), }"));
  fy_npy_save(path_of("a.npy"), fy_zeros(fy_shape(5), .dtype = FY_BFLOAT16));
  read_file(path_of("a.npy"), got, 128);
  assert_non_null(strstr((char *)got + 10, "'descr': '<V2'"));
}

static void numpys_rule_holds(void **state) {
  (void)state;
  unlink(path_of("none.npy"));
  FyTensor *leaf = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  assert_raises_about(FY_RUNTIME_ERROR, "Can't call numpy() on Tensor that requires grad.",
                      fy_npy_save(path_of("none.npy"), leaf));
  if (device.type == FY_CUDA)
    assert_raises_about(FY_TYPE_ERROR, "can't convert cuda:0 device type tensor to numpy.",
                        fy_npy_save(path_of("none.npy"), fy_detach(leaf)));
  assert_int_equal(access(path_of("none.npy"), F_OK), -1);
  assert_true(fy_requires_grad(leaf));
  fy_npy_save(path_of("some.npy"), fy_cpu(fy_detach(leaf)));
  assert_true(fy_item(fy_sum(fy_to(fy_npy_load(path_of("some.npy")), device))) == 3);
}

// ---- numpy itself -------------------------------------------------------------------------------------------------------------

// Runs a python program with numpy in the folder; skips when there is none. False: the program failed.
static bool python(const char *program) {
  char command[2048];
  snprintf(command, sizeof command, "cd %s && /usr/bin/python3 -c 'import numpy' 2>/dev/null", folder);
  if (system(command) != 0) {
    print_message("/usr/bin/python3 with numpy is not installed\n");
    skip();
  }
  const char *script = path_of("script.py");
  write_file(script, program, strlen(program));
  snprintf(command, sizeof command, "cd %s && /usr/bin/python3 script.py", folder);
  return system(command) == 0;
}

static void numpy_reads_what_is_written(void **state) {
  (void)state;
  fy_npy_save(path_of("w1.npy"), fy_view(fy_arange(6, .dtype = FY_FLOAT32), fy_shape(2, 3)));
  fy_npy_save(path_of("w2.npy"), fy_tensor(fy_longs(-1, INT64_MAX), fy_shape(2)));
  fy_npy_save(path_of("w3.npy"), fy_full(2.5, FY_SCALAR, .dtype = FY_FLOAT16));
  fy_npy_save(path_of("w4.npy"), fy_eye(2, .dtype = FY_BOOL));
  fy_npy_save(path_of("w5.npy"), fy_zeros(fy_shape(0, 4), .dtype = FY_FLOAT64));
  fy_npy_save(path_of("w6.npy"), fy_tensor(fy_ints(7, -8), fy_shape(2, 1)));
  fy_npy_save(path_of("w7.npy"), fy_full(255, fy_shape(3), .dtype = FY_UINT8));
  assert_true(python("import numpy as np\n"
                     "def same(name, a):\n"
                     "  b = np.load(name)\n"
                     "  assert b.dtype == a.dtype and b.shape == a.shape and (a == b).all(), (name, b)\n"
                     "same('w1.npy', np.arange(6, dtype=np.float32).reshape(2, 3))\n"
                     "same('w2.npy', np.array([-1, 2**63 - 1]))\n"
                     "same('w3.npy', np.array(2.5, dtype=np.float16))\n"
                     "same('w4.npy', np.eye(2, dtype=bool))\n"
                     "same('w5.npy', np.zeros((0, 4)))\n"
                     "same('w6.npy', np.array([[7], [-8]], dtype=np.int32))\n"
                     "same('w7.npy', np.full(3, 255, dtype=np.uint8))\n"));
}

static void what_numpy_writes_is_read(void **state) {
  (void)state;
  assert_true(python("import numpy as np\n"
                     "for t in ['bool', 'uint8', 'int32', 'int64', 'float16', 'float32', 'float64']:\n"
                     "  a = (np.arange(24) % 2 if t == 'bool' else np.arange(24)).reshape(2, 3, 4).astype(t)\n"
                     "  np.save('n_' + t, a)\n"
                     "  np.save('f_' + t, np.asfortranarray(a))\n"
                     "np.save('scalar', np.float32(3.5))\n"
                     "np.save('empty', np.zeros((3, 0), order='F'))\n"
                     "for v in (1, 2, 3):\n"
                     "  with open('v%d.npy' % v, 'wb') as f:\n"
                     "    np.lib.format.write_array(f, np.arange(5.), version=(v, 0))\n"
                     "for t in ['i4', 'i8', 'f2', 'f4', 'f8']:\n"
                     "  np.save('big_' + t, np.arange(-3, 3).astype('>' + t))\n"
                     "np.save('complex', np.zeros(3, dtype=complex))\n"
                     "np.save('object', np.array([None, 1]), allow_pickle=True)\n"
                     "np.save('record', np.zeros(3, dtype=[('x', 'f4')]))\n"));
  const char *const names[] = {"bool", "uint8", "int32", "int64", "float16", "float32", "float64"};
  for (int d = 0; d < DTYPES; d++) {
    FyTensor *expected = fy_view(fy_arange(24), fy_shape(2, 3, 4));
    if (dtypes[d] == FY_BOOL)
      expected = fy_reshape(fy_expand(fy_arange(2), fy_shape(12, 2)), fy_shape(2, 3, 4));
    char name[64];
    snprintf(name, sizeof name, "n_%s.npy", names[d]);
    assert_true(fy_equal(fy_npy_load(path_of(name)), fy_to_dtype(expected, dtypes[d])));
    snprintf(name, sizeof name, "f_%s.npy", names[d]);
    FyTensor *fortran = fy_npy_load(path_of(name));
    assert_true(fy_equal(fortran, fy_to_dtype(expected, dtypes[d])));
    assert_int_equal(fy_stride_at(fortran, 0), 1); // as it lies in the file, without a copy
  }
  assert_true(fy_item(fy_npy_load(path_of("scalar.npy"))) == 3.5);
  assert_string_equal(fy_shape_string(fy_npy_load(path_of("empty.npy"))), "torch.Size([3, 0])");
  for (int v = 1; v <= 3; v++) {
    char name[16];
    snprintf(name, sizeof name, "v%d.npy", v);
    assert_values(fy_npy_load(path_of(name)), fy_doubles(0, 1, 2, 3, 4), 5, 0);
  }
  const char *const big_endian[] = {"big_i4.npy", "big_i8.npy", "big_f2.npy", "big_f4.npy", "big_f8.npy"};
  for (int i = 0; i < 5; i++)
    assert_values(fy_npy_load(path_of(big_endian[i])), fy_doubles(-3, -2, -1, 0, 1, 2), 6, 0);
  const char *const refused[] = {"complex.npy", "object.npy"};
  for (int i = 0; i < 2; i++)
    assert_raises_about(FY_VALUE_ERROR, "at byte 20, expected one of the element types b1, u1, i4, i8, f2, f4, f8",
                        fy_npy_load(path_of(refused[i])));
  assert_raises_about(FY_VALUE_ERROR, "at byte 20, expected one element type (structured types are refused)",
                      fy_npy_load(path_of("record.npy")));
}

// ---- headers that are right, if unusual ------------------------------------------------------------------------------------------

static void unusual_headers_are_read(void **state) {
  (void)state;
  const float data[] = {0, 1, 2, 3, 4, 5};
  const char *const headers[] = {
      "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
      "{\"shape\": (2, 3), \"fortran_order\": False, \"descr\": \"<f4\"}\n",
      "  { 'shape' : ( 2 ,3 , ) , 'descr' : '<f4' , 'fortran_order' : False , }   \n",
  };
  for (int i = 0; i < 3; i++)
    for (int version = 1; version <= 3; version++)
      assert_values(fy_npy_load(write_npy(version, headers[i], data, sizeof data)), fy_doubles(0, 1, 2, 3, 4, 5), 6, 0);
  const char *fortran = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  FyTensor *t = fy_npy_load(write_npy(1, fortran, data, sizeof data));
  assert_values(t, fy_doubles(0, 2, 4, 1, 3, 5), 6, 0);
  assert_int_equal(fy_stride_at(t, 1), 2);
  const char *vector = "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }";
  assert_values(fy_npy_load(write_npy(1, vector, data, sizeof data)), fy_doubles(0, 1, 2, 3, 4, 5), 6, 0);
}

static void big_endian_elements_are_turned(void **state) {
  (void)state;
  const unsigned char data[] = {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0};
  assert_values(fy_npy_load(write_npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", data, sizeof data)),
                fy_doubles(1, -2.5), 2, 0);
  const unsigned char bytes[] = {1, 200};
  assert_values(
      fy_npy_load(write_npy(1, "{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", bytes, sizeof bytes)),
      fy_doubles(1, 200), 2, 0);
}

// ---- malformed files ---------------------------------------------------------------------------------------------------------

#define HEAD(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"
#define TYPES_TEXT                                                                                                     \
  "one of the element types b1, u1, i4, i8, f2, f4, f8, with '<', '>' or '|' before it (objects are refused)"

static void malformed_headers(void **state) {
  (void)state;
  static const struct {
    const char *header;
    int at;
    const char *expected;
  } cases[] = {
      {"", 10, "{"},
      {"'descr'", 10, "{"},
      {"{", 11, "a short string in quotes"},
      {"{'descr'", 18, ":"},
      {"{'descr': }", 20, "a short string in quotes"},
      {"{'descr': '<f4", 20, "a short string in quotes"},
      {HEAD("'<f4'", "False", "(2,)") " x", 68, "the end of the header"},
      {HEAD("''", "False", "(2,)"), 20, TYPES_TEXT},
      {HEAD("'>'", "False", "(2,)"), 20, TYPES_TEXT},
      {HEAD("'<>f4'", "False", "(2,)"), 20, TYPES_TEXT},
      {HEAD("'<V2'", "False", "(2,)"), 20, TYPES_TEXT},
      {HEAD("[('x', '<f4')]", "False", "(2,)"), 20, "one element type (structured types are refused)"},
      {HEAD("'|O'", "False", "(2,)"), 20, TYPES_TEXT},
      {HEAD("'<f44444444444444444444'", "False", "(2,)"), 20, "a short string in quotes"},
      {HEAD("'<f4'", "Maybe", "(2,)"), 44, "False"},
      {HEAD("'<f4'", "False", "2"), 60, "("},
      {HEAD("'<f4'", "False", "(2"), 64, "a dimension, which is a whole number from 0"},
      {HEAD("'<f4'", "False", "(-2,)"), 61, "a dimension, which is a whole number from 0"},
      {HEAD("'<f4'", "False", "(2.5,)"), 62, "',' or ')'"},
      {HEAD("'<f4'", "False", "(99999999999999999999,)"), 61, "a dimension, which is a whole number from 0"},
      {HEAD("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,)"), 93, "at most 16 dimensions"},
      {HEAD("'<f4'", "False", "(4294967296, 4294967296)"), 10, "a shape whose size in bytes is a 64-bit number"},
      {"{'descr': '<f4', 'shape': (2,), }", 43, "the keys descr, fortran_order and shape"},
      {"{'descr': '<f4', 'descr': '<f4', }", 27, "each key once"},
      {"{'descr': '<f4', 'order': True, }", 27, "one of the keys descr, fortran_order, shape"},
      {"{'descr': '<f4' 'fortran_order': False}", 26, "',' or '}'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[400];
    const char *path = write_npy(1, cases[i].header, "12345678", 8);
    snprintf(text, sizeof text, "%s: not a readable .npy file: at byte %d, expected %s", path, cases[i].at,
             cases[i].expected);
    assert_raises(FY_VALUE_ERROR, text, fy_npy_load(path));
  }
}

static void assert_malformed(const void *bytes, size_t n, const char *problem) {
  const char *path = path_of("bad.npy");
  char text[400];
  write_file(path, bytes, n);
  snprintf(text, sizeof text, "%s: not a readable .npy file: at byte %s", path, problem);
  assert_raises(FY_VALUE_ERROR, text, fy_npy_load(path));
}

static void malformed_files(void **state) {
  (void)state;
  const char *magic = "0, expected the magic string \\x93NUMPY, a version and a header length";
  assert_malformed("", 0, magic);
  assert_malformed("\x93NUMPY\x01\x00\x05", 9, magic);
  assert_malformed("\x89PNG\r\n\x1a\n\x00\x00\x00\x00", 12, magic);
  assert_malformed("\x93NUMPY\x00\x00\x05\x00{    ", 15, "6, expected version 1.0, 2.0 or 3.0");
  assert_malformed("\x93NUMPY\x04\x00\x05\x00{    ", 15, "6, expected version 1.0, 2.0 or 3.0");
  assert_malformed("\x93NUMPY\x01\x01\x05\x00{    ", 15, "6, expected version 1.0, 2.0 or 3.0");
  assert_malformed("\x93NUMPY\x02\x00\x05\x00", 10, "10, expected four bytes of header length");
  assert_malformed("\x93NUMPY\x01\x00\xff\xff{", 11, "8, expected a header of at most 10000 bytes");
  assert_malformed("\x93NUMPY\x02\x00\x05\x00\x00\xff{    ", 17, "8, expected a header of at most 10000 bytes");
  assert_malformed("\x93NUMPY\x01\x00\x20\x00{    ", 15, "10, expected the whole header, as text");
  assert_malformed("\x93NUMPY\x01\x00\x05\x00{\0   ", 15, "10, expected the whole header, as text");
}

static void the_number_of_elements_is_right(void **state) {
  (void)state;
  const char *header = HEAD("'<f4'", "False", "(3,)");
  const int64_t bytes[] = {0, 11, 13, 16};
  for (int i = 0; i < 4; i++) {
    char text[300];
    const char *path = write_npy(1, header, "0123456789abcdef", (size_t)bytes[i]);
    snprintf(text, sizeof text,
             "%s: not a readable .npy file: at byte %zu, expected 12 bytes of elements, but the file has %d", path,
             10 + strlen(header), (int)bytes[i]);
    assert_raises(FY_VALUE_ERROR, text, fy_npy_load(path));
  }
  // A zero among the sizes makes any other size harmless, and the file then ends there.
  const char *none = HEAD("'<f4'", "False", "(4611686018427387904, 4, 0)");
  assert_raises_about(FY_VALUE_ERROR, "expected 0 bytes of elements, but the file has 4",
                      fy_npy_load(write_npy(1, none, "0123", 4)));
}

static bool loads(const char *path) {
  FyError error;
  fy_trap(error) {
    fy_npy_load(path);
  }
  assert_true(error.kind == FY_NO_ERROR || error.kind == FY_VALUE_ERROR);
  return error.kind == FY_NO_ERROR;
}

// Whatever a single byte is changed to, the answer is a tensor or an error: never a crash, a leak or a hang.
static void any_byte_may_be_wrong(void **state) {
  (void)state;
  unsigned char good[256], bad[256];
  fy_npy_save(path_of("good.npy"), fy_view(fy_arange(6, .dtype = FY_FLOAT32), fy_shape(2, 3)));
  size_t n = read_file(path_of("good.npy"), good, sizeof good);
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  int errors = 0;
  const unsigned char values[] = {0, ' ', '9', '(', '}', 0xff};
  for (size_t at = 0; at < 128; at++)
    for (int v = 0; v < 6; v++)
      fy_scope {
        memcpy(bad, good, n);
        bad[at] = values[v];
        write_file(path_of("bad.npy"), bad, n);
        errors += !loads(path_of("bad.npy"));
      }
  assert_true(errors > 300);
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
}

static void bools_are_0_or_1(void **state) {
  (void)state;
  const unsigned char data[] = {0, 1, 2};
  const char *header = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}";
  char text[64];
  snprintf(text, sizeof text, "at byte %zu, expected a bool, 0 or 1", 10 + strlen(header) + 2);
  assert_raises_about(FY_VALUE_ERROR, text, fy_npy_load(write_npy(1, header, data, sizeof data)));
}

// ---- the file system ---------------------------------------------------------------------------------------------------------

static void files_that_cannot_be_read(void **state) {
  (void)state;
  char text[300];
  snprintf(text, sizeof text, "%s: cannot read: No such file or directory", path_of("missing.npy"));
  assert_raises(FY_OS_ERROR, text, fy_npy_load(path_of("missing.npy")));
  snprintf(text, sizeof text, "%s: cannot read: not a regular file", folder);
  assert_raises(FY_OS_ERROR, text, fy_npy_load(folder));
  assert_raises(FY_OS_ERROR, "/dev/zero: cannot read: not a regular file", fy_npy_load("/dev/zero"));
}

static int files_in_folder(void) {
  char command[128], line[16] = "";
  snprintf(command, sizeof command, "ls -A %s/locked | wc -l", folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  assert_non_null(fgets(line, sizeof line, pipe));
  pclose(pipe);
  return atoi(line);
}

// The target is a folder, so the finished file cannot take its place: the temporary one goes, the folder stays.
static void a_write_that_fails_at_the_end(void **state) {
  (void)state;
  mkdir(path_of("locked"), 0700);
  mkdir(path_of("locked/target.npy"), 0700);
  char text[300];
  snprintf(text, sizeof text, "%s: cannot write: Is a directory", path_of("locked/target.npy"));
  assert_raises(FY_OS_ERROR, text, fy_npy_save(path_of("locked/target.npy"), fy_ones(fy_shape(3))));
  assert_int_equal(files_in_folder(), 1);
  snprintf(text, sizeof text, "%s: cannot write: No such file or directory", path_of("nowhere/a.npy"));
  assert_raises(FY_OS_ERROR, text, fy_npy_save(path_of("nowhere/a.npy"), fy_ones(fy_shape(3))));
}

// This process's files may not grow beyond 4 KiB for a while: what was there before is there after, and nothing else.
static void a_write_that_fails_midway(void **state) {
  (void)state;
  struct rlimit limit, small;
  FyError error;
  mkdir(path_of("locked"), 0700);
  fy_npy_save(path_of("locked/old.npy"), fy_full(7, fy_shape(10)));
  int files = files_in_folder();
  FyTensor *large = fy_zeros(fy_shape(100000));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  small.rlim_cur = 4096;
  signal(SIGXFSZ, SIG_IGN); // the write itself then fails
  setrlimit(RLIMIT_FSIZE, &small);
  fy_trap(error) {
    fy_npy_save(path_of("locked/old.npy"), large);
  }
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_DFL);
  char text[300];
  snprintf(text, sizeof text, "%s: cannot write: File too large", path_of("locked/old.npy"));
  assert_string_equal(error.message, text);
  assert_int_equal(error.kind, FY_OS_ERROR);
  assert_true(fy_item(fy_sum(fy_npy_load(path_of("locked/old.npy")))) == 70);
  assert_int_equal(files_in_folder(), files);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (!mkdtemp(folder))
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(bits_survive),
      cmocka_unit_test(strided_tensors_are_written_row_major),
      cmocka_unit_test(the_bytes_are_numpys),
      cmocka_unit_test(shapes_as_python_writes_them),
      cmocka_unit_test(numpys_rule_holds),
      cmocka_unit_test(numpy_reads_what_is_written),
      cmocka_unit_test(what_numpy_writes_is_read),
      cmocka_unit_test(unusual_headers_are_read),
      cmocka_unit_test(big_endian_elements_are_turned),
      cmocka_unit_test(malformed_headers),
      cmocka_unit_test(bools_are_0_or_1),
      cmocka_unit_test(malformed_files),
      cmocka_unit_test(the_number_of_elements_is_right),
      cmocka_unit_test(any_byte_may_be_wrong),
      cmocka_unit_test(files_that_cannot_be_read),
      cmocka_unit_test(a_write_that_fails_at_the_end),
      cmocka_unit_test(a_write_that_fails_midway),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) ? 1 : failed;
}
