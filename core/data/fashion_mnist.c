// datasets.FashionMNIST: four IDX files, as Zalando published them and Debian packages them.
#include "data/data.h"
#include "op/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, CLASSES = 10, SIDE = 28 };

static const char debian[] = "/usr/share/datasets/fashion-mnist";
static const char *const images_name[2] = {"t10k-images-idx3-ubyte", "train-images-idx3-ubyte"};
static const char *const labels_name[2] = {"t10k-labels-idx1-ubyte", "train-labels-idx1-ubyte"};

// Below a root, the files lie there themselves, in fashion-mnist/, or where torchvision puts them.
static const char *const folders[] = {"", "/fashion-mnist", "/FashionMNIST/raw"};
static const char *const endings[] = {"", ".gz"};

static bool find_below(const char *root, const char *name, char path[PATH_BYTES]) {
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
      int length = snprintf(path, PATH_BYTES, "%s%s/%s%s", root, folders[f], name, endings[e]);
      if (length > 0 && length < PATH_BYTES && access(path, R_OK) == 0)
        return true;
    }
  }
  return false;
}

static bool find_file(const char *root, const char *name, char path[PATH_BYTES]) {
  const char *environment = getenv("FERRY_DATA");
  if (root)
    return find_below(root, name, path);
  return (environment && *environment && find_below(environment, name, path)) || find_below(debian, name, path);
}

static FyTensor *read_file(const char *root, const char *name, char path[PATH_BYTES]) {
  if (find_file(root, name, path))
    return fy_read_idx(path);
  const char *environment = getenv("FERRY_DATA");
  fy_raise(FY_OS_ERROR,
           "Fashion-MNIST's %s[.gz] is not in %s%s%s. Install Debian's package dataset-fashion-mnist (apt-get install "
           "dataset-fashion-mnist), or set FERRY_DATA to the folder that has the four files.",
           name,
           root                          ? root
           : environment && *environment ? environment
                                         : debian,
           !root && environment && *environment ? " or " : "", !root && environment && *environment ? debian : "");
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

FyImages fy_fashion_mnist(const char *root, bool train) {
  char path[PATH_BYTES];
  int mark = fy_scope_open();
  FyTensor *images = read_file(root, images_name[train], path);
  check_images(images, path);
  FyTensor *bytes = read_file(root, labels_name[train], path);
  check_labels(bytes, fy_size_at(images, 0), path);
  FyImages result = {.images = fy_keep(images), .labels = fy_keep(fy_long(bytes))};
  fy_scope_close(mark);
  return result;
}

bool fy_fashion_mnist_available(const char *root) {
  char path[PATH_BYTES];
  bool all = true;
  for (int i = 0; i < 2; i++)
    all = all && find_file(root, images_name[i], path) && find_file(root, labels_name[i], path);
  return all;
}

const char *fy_fashion_mnist_class(int label) {
  static const char *const names[CLASSES] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                             "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  fy_check(label >= 0 && label < CLASSES, FY_INDEX_ERROR, "Fashion-MNIST has labels 0 to %d, but got %d", CLASSES - 1,
           label);
  return names[label];
}
