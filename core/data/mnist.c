// SPDX-License-Identifier: MIT
// datasets.FashionMNIST and datasets.MNIST: four IDX files each, of the same names and shapes.
#include "data/data.h"
#include "data/folders.h"
#include "op/ops.h"
#include <stdio.h>

enum { CLASSES = 10, SIDE = 28, ROOTS_BYTES = 3 * FY_PATH_BYTES };

// MNIST and Fashion-MNIST have the same four files; what differs is where they lie and what a class is called.
typedef struct Digits {
  const char *name, *remedy;
  FyDataPlaces given, usual; // below a root that the caller names, and below the machine's own
  const char *classes[CLASSES];
} Digits;

// A root that is named may be the folder of the files itself. Among the usual ones that is for Fashion-MNIST alone, or
// one FERRY_DATA would be taken for both sets.
static const Digits fashion = {
    .name = "Fashion-MNIST",
    .remedy = "Install Debian's package dataset-fashion-mnist (apt-get install dataset-fashion-mnist), run "
              "chapters/get_data.sh fashion-mnist, or set FERRY_DATA to the folder that has the four files.",
    .given = {(const char *const[]){"", "fashion-mnist", "FashionMNIST/raw", NULL}, NULL},
    .usual = {(const char *const[]){"", "fashion-mnist", "FashionMNIST/raw", NULL},
              "/usr/share/datasets/fashion-mnist"},
    .classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                "Ankle boot"},
};
static const Digits mnist = {
    .name = "MNIST",
    .remedy = "Run chapters/get_data.sh mnist, or set FERRY_DATA to a folder that has the four files in mnist/ or "
              "MNIST/raw/.",
    .given = {(const char *const[]){"", "mnist", "MNIST/raw", NULL}, NULL},
    .usual = {(const char *const[]){"mnist", "MNIST/raw", NULL}, NULL},
    .classes = {"0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
                "8 - eight", "9 - nine"},
};

static const char *const images_name[2] = {"t10k-images-idx3-ubyte", "train-images-idx3-ubyte"};
static const char *const labels_name[2] = {"t10k-labels-idx1-ubyte", "train-labels-idx1-ubyte"};

static bool find_file(const Digits *set, const char *root, const char *name, char path[FY_PATH_BYTES]) {
  char packed[64];
  const FyDataPlaces *places = root ? &set->given : &set->usual;
  snprintf(packed, sizeof packed, "%s.gz", name);
  return fy_find_data(places, root, name, path) || fy_find_data(places, root, packed, path);
}

static FyTensor *read_file(const Digits *set, const char *root, const char *name, char path[FY_PATH_BYTES]) {
  char roots[ROOTS_BYTES];
  if (find_file(set, root, name, path))
    return fy_read_idx(path);
  fy_raise(FY_OS_ERROR, "%s's %s[.gz] is not in %s. %s", set->name, name,
           fy_data_roots(root ? &set->given : &set->usual, root, roots, sizeof roots), set->remedy);
}

static void check_images(const FyTensor *t, const char *path) {
  bool fits = fy_dtype_of(t) == FY_UINT8 && fy_dim(t) == 3 && fy_size_at(t, 1) == SIDE && fy_size_at(t, 2) == SIDE;
  fy_check(fits, FY_VALUE_ERROR, "%s: offset 2: expected uint8 images of shape (N, %d, %d), but got %s of %s", path,
           SIDE, SIDE, fy_dtype_name(fy_dtype_of(t)), fy_shape_string(t));
}

static void check_labels(const FyTensor *t, int64_t count, const char *path) {
  fy_check(fy_dtype_of(t) == FY_UINT8 && fy_dim(t) == 1 && fy_numel(t) == count, FY_VALUE_ERROR,
           "%s: offset 2: expected one uint8 label for each of %lld images, but got %s of %s", path, (long long)count,
           fy_dtype_name(fy_dtype_of(t)), fy_shape_string(t));
  const unsigned char *labels = fy_data_ptr(t);
  for (int64_t i = 0; i < count; i++)
    fy_check(labels[i] < CLASSES, FY_VALUE_ERROR, "%s: offset %lld: expected a label from 0 to %d, but got %d", path,
             (long long)i + 8, CLASSES - 1, labels[i]);
}

static FyImages read_set(const Digits *set, const char *root, bool train) {
  char path[FY_PATH_BYTES];
  int mark = fy_scope_open();
  FyTensor *images = read_file(set, root, images_name[train], path);
  check_images(images, path);
  FyTensor *bytes = read_file(set, root, labels_name[train], path);
  check_labels(bytes, fy_size_at(images, 0), path);
  FyImages result = {.images = fy_keep(images), .labels = fy_keep(fy_long(bytes))};
  fy_scope_close(mark);
  return result;
}

static bool is_available(const Digits *set, const char *root) {
  char path[FY_PATH_BYTES];
  bool all = true;
  for (int i = 0; i < 2; i++)
    all = all && find_file(set, root, images_name[i], path) && find_file(set, root, labels_name[i], path);
  return all;
}

static const char *class_of(const Digits *set, int label) {
  fy_check(label >= 0 && label < CLASSES, FY_INDEX_ERROR, "%s has labels 0 to %d, but got %d", set->name, CLASSES - 1,
           label);
  return set->classes[label];
}

FyImages fy_fashion_mnist(const char *root, bool train) {
  return read_set(&fashion, root, train);
}

bool fy_fashion_mnist_available(const char *root) {
  return is_available(&fashion, root);
}

const char *fy_fashion_mnist_class(int label) {
  return class_of(&fashion, label);
}

FyImages fy_mnist(const char *root, bool train) {
  return read_set(&mnist, root, train);
}

bool fy_mnist_available(const char *root) {
  return is_available(&mnist, root);
}

const char *fy_mnist_class(int label) {
  return class_of(&mnist, label);
}
