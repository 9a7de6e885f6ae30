// SPDX-License-Identifier: MIT
// datasets.CIFAR10 from its binary version: records of a label byte and 3,072 bytes of image, channels first.
#include "data/byte_source.h"
#include "data/data.h"
#include "data/folders.h"
#include "op/ops.h"
#include <stdio.h>

enum { CLASSES = 10, SIDE = 32, IMAGE = 3 * SIDE * SIDE, RECORD = 1 + IMAGE, TRAIN_FILES = 5 };

static int64_t record_count(FyByteSource *source, const char *path) {
  uint64_t bytes = fy_byte_source_limit(source);
  fy_check(!fy_byte_source_is_gzip(source), FY_VALUE_ERROR,
           "%s: offset 0: expected CIFAR-10's binary version, but the file is gzip; unpack the archive (tar -xzf)",
           path);
  fy_check(bytes % RECORD == 0, FY_VALUE_ERROR,
           "%s: offset %llu: expected records of %d bytes, but the file has %llu bytes, which is no multiple of it",
           path, (unsigned long long)(bytes - bytes % RECORD), RECORD, (unsigned long long)bytes);
  return (int64_t)(bytes / RECORD);
}

static void read_record(FyByteSource *source, const char *path, unsigned char *image, int64_t *label) {
  unsigned char byte;
  uint64_t offset = fy_byte_source_offset(source);
  size_t got = fy_byte_source_read(source, &byte, 1);
  got += fy_byte_source_read(source, image, IMAGE);
  fy_check(got == RECORD, FY_VALUE_ERROR, "%s: offset %llu: expected a record of %d bytes, but the file ends after %zu",
           path, (unsigned long long)offset, RECORD, got);
  fy_check(byte < CLASSES, FY_VALUE_ERROR, "%s: offset %llu: expected a label from 0 to %d, but got %d", path,
           (unsigned long long)offset, CLASSES - 1, byte);
  *label = byte;
}

// One set out of the records of `count` files: each is opened and measured before memory is taken.
static FyImages read_files(const char *const *paths, int count) {
  FyByteSource *sources[TRAIN_FILES];
  int64_t records[TRAIN_FILES], total = 0;
  int mark = fy_scope_open();
  for (int f = 0; f < count; f++) {
    sources[f] = fy_byte_source_open(paths[f]);
    records[f] = record_count(sources[f], paths[f]);
    total += records[f];
  }
  FyImages set = {.images = fy_empty(fy_shape(total, 3, SIDE, SIDE), .dtype = FY_UINT8),
                  .labels = fy_empty(fy_shape(total), .dtype = FY_INT64)};
  unsigned char *image = fy_data_ptr(set.images);
  int64_t *label = fy_data_ptr(set.labels);
  for (int f = 0; f < count; f++)
    for (int64_t i = 0; i < records[f]; i++, image += IMAGE)
      read_record(sources[f], paths[f], image, label++);
  fy_keep(set.images);
  fy_keep(set.labels);
  fy_scope_close(mark);
  return set;
}

FyImages fy_read_cifar10(const char *path) {
  fy_check(path, FY_TYPE_ERROR, "fy_read_cifar10: the path is NULL");
  return read_files(&path, 1);
}

// ---- where the files are -----------------------------------------------------------------------------------------------

static const FyDataPlaces places = {
    (const char *const[]){"", "cifar-10-batches-bin", "cifar-10/cifar-10-batches-bin", NULL}, NULL};

// Batch 0 is the test set's.
static bool find_batch(const char *root, int batch, char path[FY_PATH_BYTES]) {
  char name[32] = "test_batch.bin";
  if (batch)
    snprintf(name, sizeof name, "data_batch_%d.bin", batch);
  return fy_find_data(&places, root, name, path);
}

bool fy_cifar10_available(const char *root) {
  char path[FY_PATH_BYTES];
  bool train = false;
  for (int batch = 1; batch <= TRAIN_FILES; batch++)
    train = train || find_batch(root, batch, path);
  return train && find_batch(root, 0, path);
}

FyImages fy_cifar10(const char *root, bool train) {
  char path[TRAIN_FILES][FY_PATH_BYTES], roots[2 * FY_PATH_BYTES];
  const char *found[TRAIN_FILES];
  int count = 0;
  for (int batch = train; batch <= (train ? TRAIN_FILES : 0); batch++) {
    if (find_batch(root, batch, path[count])) {
      found[count] = path[count];
      count++;
    }
  }
  fy_check(count, FY_OS_ERROR,
           "CIFAR-10's %s is not in %s. Run chapters/get_data.sh cifar-10, or unpack cifar-10-binary.tar.gz "
           "(https://www.cs.toronto.edu/~kriz/cifar.html) and give the folder, or set FERRY_DATA to it.",
           train ? "data_batch_1.bin" : "test_batch.bin", fy_data_roots(&places, root, roots, sizeof roots));
  return read_files(found, count);
}

const char *fy_cifar10_class(int label) {
  static const char *const names[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                             "dog",      "frog",       "horse", "ship", "truck"};
  fy_check(label >= 0 && label < CLASSES, FY_INDEX_ERROR, "CIFAR-10 has labels 0 to %d, but got %d", CLASSES - 1,
           label);
  return names[label];
}
