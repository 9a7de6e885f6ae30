// Two datasets and a network for each, for lessons 9 and 10.
#include "networks.h"

#include "training.h"

// ---- Fashion-MNIST --------------------------------------------------------------------------------------------------

// [fashion_data]
// PyTorch: transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
static FyTransform *gray_to_numbers(void) {
  return fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
}

// MNIST uses the same file format and image size.
Data load_mnist(const char *root) {
  FyDataset *train = fy_mnist_dataset(root, true, gray_to_numbers()); // PyTorch: datasets.MNIST(root, train=True)
  return (Data){train, train, fy_mnist_dataset(root, false, gray_to_numbers()), fy_mnist_class};
}

// The real images if they are installed, otherwise synthetic ones, which say so.
Data load_fashion_mnist(const char *root) {
  if (root || fy_fashion_mnist_available(NULL)) {
    FyDataset *train = fy_fashion_mnist_dataset(root, true, gray_to_numbers());
    return (Data){train, train, fy_fashion_mnist_dataset(root, false, gray_to_numbers()), fy_fashion_mnist_class};
  }
  FyDataset *all = fy_synthetic_dataset(70000, 1, 0, gray_to_numbers()), *train = fy_subset(all, 0, 60000);
  return (Data){train, train, fy_subset(all, 60000, 70000), synthetic_class};
}
// [end]

// [fashion_cnn]
// PyTorch: class CNN(nn.Module) with self.features and self.classifier
typedef struct CNN {
  FyModule base;
  FyModule *features, *classifier;
} CNN;

// (N, 1, 28, 28) -> (N, 10)
static FyTensor *fashion_forward(FyModule *self, FyTensor *x) {
  CNN *cnn = (CNN *)self;
  return fy_forward(cnn->classifier, fy_forward(cnn->features, x));
}

FyModule *new_fashion_cnn(uint64_t seed) {
  fy_manual_seed(seed); // for the initial weights, and for dropout later
  CNN *cnn = fy_module_new(CNN, fashion_forward);
  fy_register_module(cnn, features,
                     fy_nn_sequential(fy_nn_conv2d(1, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                                      fy_nn_conv2d(32, 64, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2)));
  fy_register_module(cnn, classifier,
                     fy_nn_sequential(fy_nn_flatten(), fy_nn_linear(64 * 7 * 7, 256), fy_nn_relu(), fy_nn_dropout(0.5),
                                      fy_nn_linear(256, 10)));
  return &cnn->base;
}
// [end]

// ---- CIFAR-10 -------------------------------------------------------------------------------------------------------

// [cifar_transforms]
static FyTransform *colors_to_numbers(void) {
  const float half[] = {0.5f, 0.5f, 0.5f};
  return fy_compose(fy_to_tensor(), fy_normalize(3, half, half));
}

// PyTorch: transforms.Compose([RandomCrop(32, padding=4), RandomHorizontalFlip(), ToTensor(), Normalize(...)])
static FyTransform *augmented(void) {
  return fy_compose(fy_random_crop(32, 4), fy_random_horizontal_flip(0.5), colors_to_numbers());
}
// [end]

// [cifar_data]
Data load_cifar10(const char *root) {
  if (root || fy_cifar10_available(NULL)) {
    return (Data){fy_cifar10_dataset(root, true, augmented()), fy_cifar10_dataset(root, true, colors_to_numbers()),
                  fy_cifar10_dataset(root, false, colors_to_numbers()), fy_cifar10_class};
  }
  FyDataset *plain = fy_synthetic_dataset(60000, 3, 0, colors_to_numbers());
  return (Data){fy_subset(fy_synthetic_dataset(60000, 3, 0, augmented()), 0, 50000), fy_subset(plain, 0, 50000),
                fy_subset(plain, 50000, 60000), synthetic_class};
}
// [end]

// [cifar_cnn]
// PyTorch: class OptimizedCNN(nn.Module)
typedef struct OptimizedCNN {
  FyModule base;
  FyModule *conv1, *conv2, *conv3, *pool, *fc1, *fc2, *relu;
} OptimizedCNN;

// (N, 3, 32, 32) -> (N, 10). PyTorch: self.pool(self.relu(self.conv1(x))) and so on
static FyTensor *cifar_forward(FyModule *self, FyTensor *x) {
  OptimizedCNN *cnn = (OptimizedCNN *)self;
  x = fy_forward_each(x, cnn->conv1, cnn->relu, cnn->pool, // (N, 32, 16, 16)
                      cnn->conv2, cnn->relu, cnn->pool,    // (N, 64, 8, 8)
                      cnn->conv3, cnn->relu, cnn->pool);   // (N, 128, 4, 4)
  x = fy_reshape(x, fy_shape(-1, 128 * 4 * 4));
  x = fy_forward_each(x, cnn->fc1, cnn->relu); // (N, 512)
  return fy_forward(cnn->fc2, x);
}

FyModule *new_cifar_cnn(uint64_t seed) {
  fy_manual_seed(seed);
  OptimizedCNN *cnn = fy_module_new(OptimizedCNN, cifar_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 32, 3, .padding = 1));
  fy_register_module(cnn, conv2, fy_nn_conv2d(32, 64, 3, .padding = 1));
  fy_register_module(cnn, conv3, fy_nn_conv2d(64, 128, 3, .padding = 1));
  fy_register_module(cnn, pool, fy_nn_max_pool2d(2));
  fy_register_module(cnn, fc1, fy_nn_linear(128 * 4 * 4, 512));
  fy_register_module(cnn, fc2, fy_nn_linear(512, 10));
  fy_register_module(cnn, relu, fy_nn_relu());
  return &cnn->base;
}
// [end]
