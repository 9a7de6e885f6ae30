// SPDX-License-Identifier: MIT
// Data sets: tensors in memory, parts, CIFAR-10's binary files, made-up images.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD = 3073 };

static char folder[] = "/tmp/ferry-dataset-XXXXXX";
static char path[128];

static int set_up(void **state) {
  (void)state;
  unsetenv("FERRY_DATA");
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/test_batch.bin", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

// ---- tensors in memory -------------------------------------------------------------------------------------------------

static void tensors_in_memory(void **state) {
  (void)state;
  FyTensor *x = fy_reshape(fy_arange(12, .dtype = FY_FLOAT32), fy_shape(4, 3)), *y = fy_arange(4);
  FyDataset *set = fy_tensor_dataset(fy_t(fy_contiguous(fy_t(x))), y);
  assert_int_equal(set->count, 4);
  FyBatch sample = fy_dataset_get(set, 2);
  assert_values(sample.data, (double[]){6, 7, 8}, 3, 0);
  assert_int_equal(fy_item_int64(sample.target), 2);
  assert_int_equal(fy_item_int64(fy_dataset_get(set, -1).target), 3);
  assert_raises(FY_INDEX_ERROR, "index 4 is out of range for a data set of 4 samples", fy_dataset_get(set, 4));
  assert_raises_about(FY_INDEX_ERROR, "index -5", fy_dataset_get(set, -5));
  fy_for_batches(batch, fy_data_loader(set, .batch_size = 3)) {
    assert_string_equal(fy_shape_string(batch.data), batch.index ? "torch.Size([1, 3])" : "torch.Size([3, 3])");
    assert_true(fy_equal(batch.data, fy_narrow(x, 0, 3 * batch.index, batch.size)));
    assert_true(fy_equal(batch.target, fy_narrow(y, 0, 3 * batch.index, batch.size)));
  }
}

static void tensors_are_checked(void **state) {
  (void)state;
  FyTensor *x = fy_zeros(fy_shape(4, 3)), *y = fy_arange(3);
  assert_raises(FY_VALUE_ERROR, "Size mismatch between tensors: 4 inputs, but 3 targets", fy_tensor_dataset(x, y));
  assert_raises_about(FY_TYPE_ERROR, "the targets are NULL", fy_tensor_dataset(x, NULL));
  assert_raises_about(FY_VALUE_ERROR, "no dimension to count", fy_tensor_dataset(x, fy_number(1)));
  assert_raises_about(FY_VALUE_ERROR, "a transform takes one image",
                      fy_tensor_dataset(x, fy_arange(4), .transform = fy_to_tensor()));
}

static void transforms_of_a_data_set(void **state) {
  (void)state;
  FyTensor *images = fy_to_dtype(fy_reshape(fy_arange(24), fy_shape(2, 3, 2, 2)), FY_UINT8), *labels = fy_arange(2);
  FyDataset *first = fy_tensor_dataset(images, labels, .transform = fy_to_tensor(), .channels_first = true);
  FyTensor *data = fy_dataset_get(first, 1).data;
  assert_string_equal(fy_shape_string(data), "torch.Size([3, 2, 2])");
  assert_true(((float *)fy_numpy(data))[0] == 12 / 255.0f);
  assert_true(((float *)fy_numpy(data))[1] == 13 / 255.0f);
  FyDataset *last = fy_tensor_dataset(fy_reshape(images, fy_shape(2, 2, 2, 3)), labels, .transform = fy_to_tensor());
  data = fy_dataset_get(last, 1).data;
  assert_string_equal(fy_shape_string(data), "torch.Size([3, 2, 2])");
  assert_true(((float *)fy_numpy(data))[1] == 15 / 255.0f);
  fy_dataset_transform(last, NULL);
  assert_int_equal(fy_dtype_of(fy_dataset_get(last, 0).data), FY_UINT8);
}

static void parts(void **state) {
  (void)state;
  FyDataset *set = fy_tensor_dataset(fy_arange(10), fy_arange(10));
  FyDataset *middle = fy_subset(set, 3, 7), *end = fy_subset(middle, 2, 100);
  fy_drop(set); // its part holds it
  assert_int_equal(middle->count, 4);
  assert_int_equal(end->count, 2);
  assert_int_equal(fy_item_int64(fy_dataset_get(middle, 0).data), 3);
  assert_int_equal(fy_item_int64(fy_dataset_get(end, 1).target), 6);
  assert_raises_about(FY_INDEX_ERROR, "5 to 4 is no range", fy_subset(middle, 5, 9));
  FyDataset *made = fy_subset(fy_synthetic_dataset(9, 1, 1, fy_to_tensor()), 4, 9);
  assert_true(made->synthetic);
  assert_true(
      fy_equal(fy_dataset_get(made, 0).data, fy_dataset_get(fy_synthetic_dataset(9, 1, 1, fy_to_tensor()), 4).data));
}

static void a_class_is_required(void **state) {
  (void)state;
  static const FyDatasetClass none = {.name = "none"};
  assert_raises_about(FY_TYPE_ERROR, "a class with a get function", fy_dataset_new(sizeof(FyDataset), &none));
  assert_raises_about(FY_TYPE_ERROR, "a class with a get function", fy_dataset_new(sizeof(FyDataset), NULL));
}

// ---- CIFAR-10 ----------------------------------------------------------------------------------------------------------

// Record i has label (i + first) % 10, or `label` where that is not negative, and bytes that name record and place.
static void write_records(const char *file_path, int count, int first, int label, size_t extra) {
  static unsigned char record[RECORD];
  FILE *file = fopen(file_path, "wb");
  assert_non_null(file);
  for (int i = 0; i < count; i++) {
    record[0] = (unsigned char)(label >= 0 && i == count - 1 ? label : (i + first) % 10);
    for (int b = 1; b < RECORD; b++)
      record[b] = (unsigned char)(first + i * 7 + b);
    assert_int_equal(fwrite(record, 1, RECORD, file), RECORD);
  }
  assert_int_equal(fwrite(record, 1, extra, file), extra);
  assert_int_equal(fclose(file), 0);
}

static void cifar10(void **state) {
  (void)state;
  char train[160];
  write_records(path, 3, 5, -1, 0);
  FyImages test = fy_cifar10(folder, false);
  assert_string_equal(fy_shape_string(test.images), "torch.Size([3, 3, 32, 32])");
  assert_values(test.labels, (double[]){5, 6, 7}, 3, 0);
  const unsigned char *bytes = fy_numpy(test.images);
  assert_int_equal(bytes[3072], (5 + 7 + 1) & 255);
  assert_int_equal(bytes[2 * 3072 + 100], (5 + 14 + 101) & 255);
  assert_false(fy_cifar10_available(folder));
  for (int batch = 1; batch <= 5; batch += 2) { // some of the five will do
    snprintf(train, sizeof train, "%s/data_batch_%d.bin", folder, batch);
    write_records(train, 2, batch, -1, 0);
  }
  assert_true(fy_cifar10_available(folder));
  assert_values(fy_cifar10(folder, true).labels, (double[]){1, 2, 3, 4, 5, 6}, 6, 0);
  setenv("FERRY_DATA", folder, 1);
  FyDataset *set = fy_cifar10_dataset(NULL, true, fy_to_tensor());
  unsetenv("FERRY_DATA");
  FyBatch sample = fy_dataset_get(set, 0);
  assert_string_equal(fy_shape_string(sample.data), "torch.Size([3, 32, 32])");
  assert_true(((float *)fy_numpy(sample.data))[5] == (float)(1 + 6) / 255.0f);
  char text[96];
  assert_string_equal(fy_dataset_describe(set, text, sizeof text), "CIFAR-10 (6 samples)");
  assert_string_equal(fy_cifar10_class(9), "truck");
  assert_raises_about(FY_INDEX_ERROR, "labels 0 to 9, but got -1", fy_cifar10_class(-1));
}

static void assert_malformed(const char *part) {
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  assert_raises_about(FY_VALUE_ERROR, part, fy_read_cifar10(path));
  assert_raises_about(FY_VALUE_ERROR, path, fy_read_cifar10(path));
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
}

static void cifar10_is_checked(void **state) {
  (void)state;
  write_records(path, 2, 0, -1, 5);
  assert_malformed("offset 6146: expected records of 3073 bytes, but the file has 6151 bytes");
  write_records(path, 2, 0, 10, 0);
  assert_malformed("offset 3073: expected a label from 0 to 9, but got 10");
  write_records(path, 0, 0, -1, 0);
  assert_int_equal(fy_numel(fy_read_cifar10(path).labels), 0);
  assert_raises_about(FY_OS_ERROR, "No such file", fy_read_cifar10("/nonexistent/cifar"));
  setenv("XDG_DATA_HOME", "/nonexistent/data", 1);
  assert_raises_about(FY_OS_ERROR, "is not in /nonexistent/data/ferry. Run chapters/get_data.sh cifar-10",
                      fy_cifar10(NULL, true));
  assert_raises_about(FY_OS_ERROR, "test_batch.bin is not in /nonexistent", fy_cifar10("/nonexistent", false));
}

// ---- made-up images ----------------------------------------------------------------------------------------------------

static void made_up_images(void **state) {
  (void)state;
  FyDataset *gray = fy_synthetic_dataset(1000, 1, 3, NULL), *color = fy_synthetic_dataset(10, 3, 3, fy_to_tensor());
  char text[96];
  assert_true(gray->synthetic);
  assert_string_equal(fy_dataset_describe(gray, text, sizeof text), "synthetic images, not real data (1000 samples)");
  assert_string_equal(fy_shape_string(fy_dataset_get(gray, 0).data), "torch.Size([28, 28])");
  assert_string_equal(fy_shape_string(fy_dataset_get(color, 0).data), "torch.Size([3, 32, 32])");
  int64_t counts[10] = {0};
  for (int i = 0; i < 1000; i++)
    counts[fy_item_int64(fy_dataset_get(gray, i).target)]++;
  for (int i = 0; i < 10; i++)
    assert_in_range(counts[i], 60, 140);
  // The same seed makes the same images; another one, others.
  FyDataset *again = fy_synthetic_dataset(1000, 1, 3, NULL), *other = fy_synthetic_dataset(1000, 1, 4, NULL);
  assert_true(fy_equal(fy_dataset_get(gray, 77).data, fy_dataset_get(again, 77).data));
  assert_false(fy_equal(fy_dataset_get(gray, 77).data, fy_dataset_get(other, 77).data));
  assert_raises_about(FY_VALUE_ERROR, "but got 2", fy_synthetic_dataset(1, 2, 0, NULL));
}

// A linear classifier learns them from a thousand, and tells others apart.
static void made_up_images_can_be_learned(void **state) {
  (void)state;
  for (int channels = 1; channels <= 3; channels += 2) {
    int64_t pixels = channels == 1 ? 28 * 28 : 3 * 32 * 32, right = 0;
    fy_manual_seed(1);
    FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5f), fy_floats(0.5f)));
    FyDataset *all = fy_synthetic_dataset(2500, channels, 9, transform);
    FyModule *model = fy_nn_linear((int)pixels, 10);
    FyOptimizer *adam = fy_adam(fy_parameters(model), .lr = 1e-3);
    FyDataLoader *train = fy_data_loader(fy_subset(all, 0, 2000), .batch_size = 50, .shuffle = true, .seed = 1);
    for (int epoch = 0; epoch < 5; epoch++) {
      fy_for_batches(batch, train) {
        fy_zero_grad(adam);
        fy_backward(fy_cross_entropy(fy_forward(model, fy_flatten(batch.data, 1, -1)), batch.target));
        fy_step(adam);
      }
    }
    fy_for_batches(batch, fy_data_loader(fy_subset(all, 2000, 2500), .batch_size = 100)) {
      FyTensor *guess = fy_argmax_dim(fy_forward(model, fy_flatten(batch.data, 1, -1)), 1, false);
      right += fy_item_int64(fy_sum(fy_long(fy_eq(guess, batch.target))));
    }
    print_message("%d channel(s): %ld of 500 right\n", channels, (long)right);
    assert_true(right > 400);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_in_memory),
      cmocka_unit_test(tensors_are_checked),
      cmocka_unit_test(transforms_of_a_data_set),
      cmocka_unit_test(parts),
      cmocka_unit_test(a_class_is_required),
      cmocka_unit_test(cifar10),
      cmocka_unit_test(cifar10_is_checked),
      cmocka_unit_test(made_up_images),
      cmocka_unit_test(made_up_images_can_be_learned),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
