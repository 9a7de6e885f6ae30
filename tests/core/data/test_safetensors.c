// SPDX-License-Identifier: MIT
// Safetensors files: there and back, from and for Python, and every kind of malformed file.
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy
// run: FERRY_CUDA=off
#include "../nn/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ferry-safetensors-XXXXXX";
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
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

// ---- there and back ----------------------------------------------------------------------------------------------------

static FyTensorList *of_all_kinds(FyDevice device) {
  static const FyDType dtypes[] = {FY_BOOL,    FY_UINT8,    FY_INT32,   FY_INT64,
                                   FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32, FY_FLOAT64};
  FyTensorList *list = fy_tensor_list_new();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    FyTensor *t = fy_to(fy_reshape(fy_arange(6), fy_shape(2, 3)), device, .dtype = dtypes[i]);
    fy_list_add(list, fy_dtype_name(dtypes[i]), t);
    fy_list_add(list, fy_dtype_scalar_name(dtypes[i]), fy_select(fy_select(t, 0, 1), 0, i % 3));
  }
  fy_list_add(list, "transposed", fy_t(list->items[12]));
  fy_list_add(list, "empty", fy_zeros(fy_shape(0, 7), .device = device));
  fy_list_add(list, "quote \" slash \\ tab \t caf\xc3\xa9 \xf0\x9f\x9a\xa2 \x01", fy_ones(fy_shape(1)));
  return list;
}

static void assert_same_lists(const FyTensorList *got, const FyTensorList *expected) {
  assert_int_equal(got->count, expected->count);
  for (int i = 0; i < got->count; i++) {
    assert_string_equal(got->names[i], expected->names[i]);
    assert_true(fy_equal(got->items[i], fy_cpu(expected->items[i])));
  }
}

static void there_and_back(void **state) {
  (void)state;
  FyDevice devices[] = {FY_CPU_DEVICE, fy_cuda_device(0)};
  for (int d = 0; d < (fy_cuda_is_available() ? 2 : 1); d++) {
    FyTensorList *list = of_all_kinds(devices[d]);
    FyMetadata *metadata = fy_metadata_new(), *loaded = NULL;
    fy_metadata_set(metadata, "format", "pt");
    fy_metadata_set(metadata, "a \"b\"\n", "%s", "\xe2\x9c\x93");
    fy_metadata_set(metadata, "format", "%s%d", "ferry", 1);
    fy_safetensors_save(path, list, metadata);
    assert_same_lists(fy_safetensors_load(path, &loaded), list);
    assert_int_equal(loaded->count, 2);
    assert_string_equal(fy_metadata_get(loaded, "format"), "ferry1");
    assert_string_equal(fy_metadata_get(loaded, "a \"b\"\n"), "\xe2\x9c\x93");
    assert_null(fy_metadata_get(loaded, "other"));
  }
}

static void nothing_at_all(void **state) {
  (void)state;
  FyMetadata *metadata = NULL;
  fy_safetensors_save(path, fy_tensor_list_new(), NULL);
  assert_int_equal(fy_safetensors_load(path, &metadata)->count, 0);
  assert_int_equal(metadata->count, 0);
}

static void a_model(void **state) {
  (void)state;
  FyModule *first = fy_nn_sequential(fy_nn_linear(4, 3), fy_nn_batch_norm1d(3), fy_nn_linear(3, 2));
  FyModule *second = fy_nn_sequential(fy_nn_linear(4, 3), fy_nn_batch_norm1d(3), fy_nn_linear(3, 2));
  FyTensor *x = fy_randn(fy_shape(5, 4));
  fy_forward(first, x);
  fy_eval(first);
  fy_eval(second);
  fy_safetensors_save(path, fy_state_dict(first), NULL);
  fy_load_state_dict(second, fy_safetensors_load(path, NULL));
  assert_true(fy_equal(fy_forward(first, x), fy_forward(second, x)));
}

// So many that comparing each with all others would take minutes.
static void many_metadata_keys(void **state) {
  (void)state;
  enum { KEYS = 300000 };
  fy_scope {
    char key[16], value[16];
    FyMetadata *metadata = fy_metadata_new(), *loaded = NULL;
    for (int i = 0; i < KEYS; i++) {
      snprintf(key, sizeof key, "k%d", i);
      fy_metadata_set(metadata, key, "%d", i);
      fy_metadata_set(metadata, key, "%d", -i);
    }
    fy_safetensors_save(path, fy_tensor_list_new(), metadata);
    fy_safetensors_load(path, &loaded);
    assert_int_equal(loaded->count, KEYS);
    for (int i = 0; i < KEYS; i++) {
      snprintf(key, sizeof key, "k%d", i);
      snprintf(value, sizeof value, "%d", -i);
      assert_string_equal(loaded->keys[i], key);
      assert_string_equal(fy_metadata_get(loaded, key), value);
    }
    assert_null(fy_metadata_get(loaded, "k300000"));
  }
}

static FyTensorList *from_pytorch(const char *name, FyMetadata **metadata) {
  const char *directory = getenv("FERRY_GOLDEN");
  char file[512];
  snprintf(file, sizeof file, "%s/%s", directory ? directory : "tests/golden", name);
  return fy_safetensors_load(file, metadata);
}

// Weights and outputs that PyTorch saved (tests/golden/make_safetensors.py): a model of Ferry's computes the same.
static void a_model_of_pytorch(void **state) {
  (void)state;
  FyMetadata *metadata = NULL;
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(1, 3, 3, .padding = 1), fy_nn_batch_norm2d(3), fy_nn_relu(),
                                     fy_nn_max_pool2d(2), fy_nn_flatten(), fy_nn_linear(3 * 4 * 4, 5));
  fy_load_state_dict(model, from_pytorch("pytorch_model.safetensors", &metadata));
  assert_string_equal(fy_metadata_get(metadata, "format"), "pt");
  FyTensorList *values = from_pytorch("pytorch_values.safetensors", NULL);
  fy_eval(model);
  assert_true(fy_allclose(fy_forward(model, fy_list_get(values, "x")), fy_list_get(values, "y"), 1e-5, 1e-6));
}

static void values_of_pytorch(void **state) {
  (void)state;
  static const struct {
    const char *name;
    FyDType dtype;
    double values[6];
  } expected[] = {
      {"double", FY_FLOAT64, {1.5, -2, 0.25, 3, 0, -0.5}},
      {"half", FY_FLOAT16, {1.5, -2, 0.25, 3, 0, -0.5}},
      {"bfloat16", FY_BFLOAT16, {1.5, -2, 0.25, 3, 0, -0.5}},
      {"long", FY_INT64, {1, -2, 0, 3, 0, 0}},
      {"int", FY_INT32, {1, -2, 0, 3, 0, 0}},
      {"byte", FY_UINT8, {1, 2, 0, 3, 0, 0}},
      {"bool", FY_BOOL, {1, 0, 1, 1, 0, 0}},
  };
  FyTensorList *list = from_pytorch("pytorch_values.safetensors", NULL);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    FyTensor *t = fy_list_get(list, expected[i].name);
    assert_int_equal(fy_dtype_of(t), expected[i].dtype);
    assert_int_equal(fy_size_at(t, 0), 2);
    assert_values(fy_to_dtype(t, FY_FLOAT64), expected[i].values, 6, 0);
  }
  assert_int_equal(fy_dim(fy_list_get(list, "number")), 0);
  assert_true(fy_item(fy_list_get(list, "number")) == 2.5);
  assert_int_equal(fy_size_at(fy_list_get(list, "nothing"), 1), 3);
}

// Each tensor lies at a multiple of its element's size, so that others may map the file.
static void elements_are_aligned(void **state) {
  (void)state;
  char header[4096] = "";
  uint64_t length = 0;
  fy_safetensors_save(path, of_all_kinds(FY_CPU_DEVICE), NULL);
  FILE *file = fopen(path, "rb");
  assert_int_equal(fread(&length, 1, 8, file), 8);
  assert_int_equal(length % 8, 0);
  assert_int_equal(fread(header, 1, length, file), length);
  fclose(file);
  const char *wide = strstr(header, "\"torch.float64\":{\"dtype\":\"F64\",\"shape\":[2,3],\"data_offsets\":[");
  assert_non_null(wide);
  assert_int_equal(strtol(strstr(wide, "offsets\":[") + 10, NULL, 10) % 8, 0);
}

static void what_cannot_be_saved(void **state) {
  (void)state;
  FyTensorList *twice = fy_tensor_list_new(), *reserved = fy_tensor_list_new(), *bytes = fy_tensor_list_new();
  FyTensor *t = fy_zeros(fy_shape(1));
  fy_list_add(twice, "a", t);
  fy_list_add(twice, "b", t);
  fy_list_add(twice, "a", t);
  fy_list_add(reserved, "__metadata__", t);
  fy_list_add(bytes, "\xff", t);
  assert_raises(FY_VALUE_ERROR, "two tensors are named \"a\"", fy_safetensors_save(path, twice, NULL));
  assert_raises_about(FY_VALUE_ERROR, "\"__metadata__\"", fy_safetensors_save(path, reserved, NULL));
  assert_raises_about(FY_VALUE_ERROR, "not UTF-8", fy_safetensors_save(path, bytes, NULL));
  assert_raises_about(FY_VALUE_ERROR, "not UTF-8", fy_metadata_set(fy_metadata_new(), "k", "\xc0\x80"));
  assert_raises_about(FY_OS_ERROR, "/nonexistent/file: cannot write: No such file",
                      fy_safetensors_save("/nonexistent/file", fy_tensor_list_new(), NULL));
  assert_raises_about(FY_OS_ERROR, "No such file", fy_safetensors_load("/nonexistent/file", NULL));
  assert_raises_about(FY_OS_ERROR, "not a regular file", fy_safetensors_load(folder, NULL));
}

// ---- Python ------------------------------------------------------------------------------------------------------------

static bool python(const char *program) {
  char command[4096];
  snprintf(command, sizeof command, "FILE=%s python3 - <<'END'\n%s\nEND", path, program);
  return system(command) == 0;
}

static bool has_python(void) {
  return system("python3 -c 'import json, struct' 2>/dev/null") == 0;
}

static void from_python(void **state) {
  (void)state;
  if (!has_python()) {
    print_message("needs python3\n");
    skip();
  }
  assert_true(python("import json, os, struct\n"
                     "data = struct.pack('<3f', 1.5, -2, 3) + struct.pack('<q', -7)\n"
                     "header = {'__metadata__': {'format': 'pt', 'who': 'J\\u00f6rg \\U0001f6a2'},\n"
                     "          'b\\u00e9ta': {'shape': [], 'dtype': 'I64', 'data_offsets': [12, 20]},\n"
                     "          'none': {'dtype': 'F16', 'shape': [4, 0], 'data_offsets': [12, 12]},\n"
                     "          'w': {'dtype': 'F32', 'shape': [3, 1], 'data_offsets': [0, 12]}}\n"
                     "text = json.dumps(header, indent=1).encode() + b'     '\n"
                     "with open(os.environ['FILE'], 'wb') as f:\n"
                     "    f.write(struct.pack('<Q', len(text)) + text + data)\n"));
  FyMetadata *metadata = NULL;
  FyTensorList *list = fy_safetensors_load(path, &metadata);
  assert_string_equal(fy_metadata_get(metadata, "who"), "J\xc3\xb6rg \xf0\x9f\x9a\xa2");
  assert_string_equal(list->names[0], "b\xc3\xa9ta");
  assert_int_equal(fy_item_int64(list->items[0]), -7);
  assert_string_equal(fy_shape_string(list->items[1]), "torch.Size([4, 0])");
  assert_values(fy_list_get(list, "w"), (double[]){1.5, -2, 3}, 3, 0);
}

static void for_python(void **state) {
  (void)state;
  if (!has_python()) {
    print_message("needs python3\n");
    skip();
  }
  FyTensorList *list = fy_tensor_list_new();
  FyMetadata *metadata = fy_metadata_new();
  fy_metadata_set(metadata, "quote", "\"\\\n\xc3\xa9");
  fy_list_add(list, "fc.bias", fy_tensor(fy_longs(1, -2), fy_shape(2)));
  fy_list_add(list, "fc.\"weight\"", fy_tensor(fy_floats(1, 2, 3, 4.5f), fy_shape(2, 2)));
  fy_safetensors_save(path, list, metadata);
  assert_true(python("import json, os, struct\n"
                     "raw = open(os.environ['FILE'], 'rb').read()\n"
                     "n = struct.unpack('<Q', raw[:8])[0]\n"
                     "header, data = json.loads(raw[8:8 + n]), raw[8 + n:]\n"
                     "assert header['__metadata__'] == {'quote': '\"\\\\\\n\\u00e9'}, header\n"
                     "w, b = header['fc.\"weight\"'], header['fc.bias']\n"
                     "assert w['dtype'] == 'F32' and w['shape'] == [2, 2] and b['dtype'] == 'I64', header\n"
                     "assert struct.unpack('<4f', data[slice(*w['data_offsets'])]) == (1, 2, 3, 4.5)\n"
                     "assert struct.unpack('<2q', data[slice(*b['data_offsets'])]) == (1, -2)\n"
                     "assert len(data) == 32\n"));
}

// ---- malformed ---------------------------------------------------------------------------------------------------------

static void write_file(uint64_t length, const char *header, size_t header_bytes, size_t data_bytes) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (int i = 0; i < 8; i++)
    fputc((int)(length >> 8 * i & 255), file);
  fwrite(header, 1, header_bytes, file);
  for (size_t i = 0; i < data_bytes; i++)
    fputc(1, file);
  assert_int_equal(fclose(file), 0);
}

// Loading raises an error that names the file, the byte and what was expected; no tensor's memory is taken or kept.
static void assert_refused(const char *part) {
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  fy_reset_peak_memory_stats(FY_CPU_DEVICE);
  assert_raises_about(FY_VALUE_ERROR, part, fy_safetensors_load(path, NULL));
  assert_raises_about(FY_VALUE_ERROR, path, fy_safetensors_load(path, NULL));
  assert_raises_about(FY_VALUE_ERROR, "at byte ", fy_safetensors_load(path, NULL));
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  assert_true(fy_max_memory_allocated(FY_CPU_DEVICE) <= before + (1 << 16));
}

static void refuse(const char *header, size_t data_bytes, const char *part) {
  write_file(strlen(header), header, strlen(header), data_bytes);
  assert_refused(part);
}

static void accept(const char *header, size_t data_bytes, int count) {
  write_file(strlen(header), header, strlen(header), data_bytes);
  assert_int_equal(fy_safetensors_load(path, NULL)->count, count);
}

#define ONE "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}"
#define TENSOR(name, dtype, shape, begin, end)                                                                         \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}"

static void header_lengths(void **state) {
  (void)state;
  FILE *file = fopen(path, "wb");
  fwrite("\2\0\0", 1, 3, file);
  fclose(file);
  assert_refused("at byte 0, expected 8 bytes of header length, but the file has 3");
  write_file(100000001, "{}", 2, 0);
  assert_refused("a header of at most 100000000 bytes, but got 100000001");
  write_file(UINT64_MAX, "{}", 2, 0);
  assert_refused("a header of at most 100000000 bytes, but got 18446744073709551615");
  write_file(UINT64_MAX - 7, "{}", 2, 0);
  assert_refused("a header of at most 100000000 bytes");
  write_file(3, "{}", 2, 0);
  assert_refused("a header within the file of 10 bytes, but it has 3");
  write_file(0, "", 0, 0);
  assert_refused("at byte 8, expected '{'");
}

static void what_is_legal(void **state) {
  (void)state;
  accept("{}", 0, 0);
  accept("{}      ", 0, 0);
  accept("{" ONE "}", 2, 1);
  accept("{\"__metadata__\":{}," ONE "}", 2, 1);
  accept("{\n\t" ONE ",\r\n \"__metadata__\" : { \"k\" : \"v\" } }  ", 2, 1);
  accept("{" TENSOR("a", "F32", "", "0", "4") "}", 4, 1);
  accept("{" TENSOR("a", "F32", "0", "0", "0") "," TENSOR("b", "U8", "1", "0", "1") "}", 1, 2);
  accept("{" TENSOR("b", "U8", "1", "4", "5") "," TENSOR("a", "F32", "1", "0", "4") "}", 5, 2);
  accept("{" TENSOR("", "BOOL", "3", "0", "3") "}", 3, 1);
  accept("{" TENSOR("a", "F32", "0,4294967296", "0", "0") "}", 0, 1);
}

static void json_is_strict(void **state) {
  (void)state;
  refuse(" {}", 0, "at byte 8, expected '{'");
  refuse("[]", 0, "at byte 8, expected '{'");
  refuse("{}x", 0, "at byte 10, expected nothing but spaces");
  refuse("{}\n", 0, "at byte 10, expected nothing but spaces");
  refuse("{", 0, "expected a tensor's name, in quotes");
  refuse("{" ONE, 2, "expected '}'");
  refuse("{" ONE ",}", 2, "expected a tensor's name, in quotes");
  refuse("{,}", 0, "expected a tensor's name, in quotes");
  refuse("{\"a\" 1}", 0, "expected ':'");
  refuse("{\"a", 0, "expected the end of a tensor's name: a quote");
  refuse("{\"a\\x\"", 0, "expected one of the escapes");
  refuse("{\"\\u00g0\"", 0, "expected four hexadecimal digits");
  refuse("{\"\\ud800\"", 0, "expected a pair of surrogates");
  refuse("{\"\\ud800\\u0041\"", 0, "expected a pair of surrogates");
  refuse("{\"\\udc00\"", 0, "half a pair of surrogates");
  refuse("{\"\\u0000\"", 0, "a character other than NUL");
  refuse("{\"\x01\"", 0, "at byte 10, expected UTF-8 text without control characters");
  refuse("{\"\xc0\x80\"", 0, "expected UTF-8 text");
  refuse("{\"\xed\xa0\x80\"", 0, "expected UTF-8 text");
  refuse("{\"\xf4\x90\x80\x80\"", 0, "expected UTF-8 text");
  refuse("{\"\xe2\x9c\"", 0, "expected UTF-8 text");
  write_file(5, "{\"\0\":", 5, 0);
  assert_refused("expected UTF-8 text");
}

static void keys_are_distinct(void **state) {
  (void)state;
  refuse("{" ONE "," ONE "}", 2, "expected each key once, but \"a\" comes again");
  refuse("{" TENSOR("a", "U8", "0", "0", "0") ",\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         2, "expected each key once, but \"a\" comes again");
  refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "but \"__metadata__\" comes again");
  refuse("{\"__metadata__\":{\"k\":\"1\",\"j\":\"2\",\"k\":\"1\"}}", 0, "but \"k\" comes again");
  refuse("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
         "each of dtype, shape and data_offsets once");
}

static void metadata_is_text(void **state) {
  (void)state;
  refuse("{\"__metadata__\":{\"k\":1}}", 0, "expected a text of __metadata__, in quotes");
  refuse("{\"__metadata__\":{\"k\":null}}", 0, "expected a text of __metadata__, in quotes");
  refuse("{\"__metadata__\":[]}", 0, "expected '{'");
  refuse("{\"__metadata__\":{\"k\":\"v\",}}", 0, "expected a key of __metadata__, in quotes");
}

static void entries_are_whole(void **state) {
  (void)state;
  refuse("{\"a\":{}}", 0, "expected dtype, shape or data_offsets, in quotes");
  refuse("{\"a\":7}", 0, "expected '{'");
  refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0, "expected dtype, shape and data_offsets for each tensor");
  refuse("{\"a\":{\"dtype\":\"U8\",\"size\":[]}}", 0, "one of the keys dtype, shape, data_offsets");
  refuse("{" TENSOR("a", "F8_E4M3", "1", "0", "1") "}", 1, "one of the dtypes BOOL, U8, I32");
  refuse("{" TENSOR("a", "I16", "1", "0", "2") "}", 2, "but got I16");
  refuse("{\"a\":{\"dtype\":3}}", 0, "expected a dtype, in quotes");
}

static void numbers_are_whole(void **state) {
  (void)state;
  static const char *const bad[] = {"-1", "1.0", "1e0", "01", "", "\"1\"", "[1]", "null", "18446744073709551616"};
  char header[256];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (*bad[i]) { // an empty shape is legal
      snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"U8\",\"shape\":[%s],\"data_offsets\":[0,1]}}", bad[i]);
      refuse(header, 1, "expected a dimension");
    }
    snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,%s]}}", bad[i]);
    refuse(header, 1, "expected an offset");
  }
  refuse("{" TENSOR("a", "U8", "9223372036854775808", "0", "1") "}", 1, "expected a dimension below 2^63");
  refuse("{" TENSOR("a", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "0", "1") "}", 1, "expected at most 16 dimensions");
}

static void spans_fit(void **state) {
  (void)state;
  refuse("{" TENSOR("a", "F32", "2", "0", "4") "}", 4, "span dtype and shape, 8 bytes, but they span 4");
  refuse("{" TENSOR("a", "F32", "0", "0", "4") "}", 4, "span dtype and shape, 0 bytes, but they span 4");
  refuse("{" TENSOR("a", "U8", "4294967296,4294967296", "0", "0") "}", 0, "whose bytes a 64-bit number can count");
  refuse("{" TENSOR("a", "F64", "2305843009213693952", "0", "0") "}", 0, "whose bytes a 64-bit number can count");
  refuse("{" TENSOR("a", "U8", "0,4294967296,4294967296", "0", "0") "}", 0, "whose bytes a 64-bit number can count");
  refuse("{" TENSOR("a", "U8", "1", "1", "0") "}", 1, "data_offsets in order and within the 1 bytes of data");
  refuse("{" TENSOR("a", "U8", "2", "0", "2") "}", 1, "data_offsets in order and within the 1 bytes of data");
  refuse("{" TENSOR("a", "U8", "1", "18446744073709551615", "0") "}", 1, "data_offsets in order and within");
}

static void data_has_no_gaps(void **state) {
  (void)state;
  refuse("{" ONE "}", 3, "expected the end of the file after 2 bytes of data, but there are 3");
  refuse("{}", 1, "expected the end of the file after 0 bytes of data, but there are 1");
  refuse("{" TENSOR("a", "U8", "1", "1", "2") "}", 2, "\"a\" to begin at offset 0, without gap or overlap, but got 1");
  refuse("{" TENSOR("a", "U8", "1", "0", "1") "," TENSOR("b", "U8", "1", "2", "3") "}", 3,
         "\"b\" to begin at offset 1, without gap or overlap, but got 2");
  refuse("{" TENSOR("a", "U8", "2", "0", "2") "," TENSOR("b", "U8", "2", "1", "3") "}", 3,
         "\"b\" to begin at offset 2, without gap or overlap, but got 1");
  refuse("{" TENSOR("a", "U8", "2", "0", "2") "," TENSOR("b", "U8", "2", "0", "2") "}", 2,
         "to begin at offset 2, without gap or overlap, but got 0");
}

static void bools_are_0_or_1(void **state) {
  (void)state;
  const char header[] = "{" TENSOR("a", "BOOL", "2", "0", "2") "}";
  write_file(sizeof header - 1, header, sizeof header - 1, 0);
  FILE *file = fopen(path, "ab");
  fputs("\1\2", file);
  fclose(file);
  assert_refused("expected a bool, 0 or 1, but got 2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_metadata_keys),   cmocka_unit_test(there_and_back),
      cmocka_unit_test(nothing_at_all),       cmocka_unit_test(a_model),
      cmocka_unit_test(a_model_of_pytorch),   cmocka_unit_test(values_of_pytorch),
      cmocka_unit_test(elements_are_aligned), cmocka_unit_test(what_cannot_be_saved),
      cmocka_unit_test(from_python),          cmocka_unit_test(for_python),
      cmocka_unit_test(header_lengths),       cmocka_unit_test(what_is_legal),
      cmocka_unit_test(json_is_strict),       cmocka_unit_test(keys_are_distinct),
      cmocka_unit_test(metadata_is_text),     cmocka_unit_test(entries_are_whole),
      cmocka_unit_test(numbers_are_whole),    cmocka_unit_test(spans_fit),
      cmocka_unit_test(data_has_no_gaps),     cmocka_unit_test(bools_are_0_or_1),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
