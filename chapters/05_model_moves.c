// Chapter 5: model moves.
//
// A model is a tree of modules that hold tensors. Moving a model means moving all of its tensors. Its inputs must be on
// the same device. The last part trains a model on real images.
//
// The lesson is docs/05_model_moves.md.
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// ---- define a module ------------------------------------------------------------------------------------------------

// [net]
// PyTorch: class SimpleNet(nn.Module) with self.fc1, self.relu, self.fc2
typedef struct SimpleNet {
  FyModule base;
  FyModule *fc1, *relu, *fc2;
} SimpleNet;

// (N, in_features) -> (N, out_features)
static FyTensor *simple_net_forward(FyModule *self, FyTensor *x) {
  SimpleNet *net = (SimpleNet *)self;
  FyTensor *out = fy_forward(net->fc1, x);
  out = fy_forward(net->relu, out);
  return fy_forward(net->fc2, out);
}

static SimpleNet *simple_net(int in_features, int hidden, int out_features) {
  SimpleNet *net = fy_module_new(SimpleNet, simple_net_forward);
  fy_register_module(net, fc1, fy_nn_linear(in_features, hidden));
  fy_register_module(net, relu, fy_nn_relu());
  fy_register_module(net, fc2, fy_nn_linear(hidden, out_features));
  return net;
}
// [end]

// [first_parameter]
// PyTorch: next(model.parameters()).device
static const char *home_of(FyModule *model) {
  return fy_device_name_of(fy_device_of(fy_parameters(model)->items[0]));
}
// [end]

// [before_after]
static void before_and_after(FyDevice device) {
  heading("A model before and after its move");
  SimpleNet *model = simple_net(10, 50, 1); // PyTorch: model = SimpleNet()
  fy_module_print(model);
  printf("Model at first: %s\n", home_of(&model->base));
  fy_module_to(model, device); // PyTorch: model.to(device)
  printf("Model after:    %s\n", home_of(&model->base));
}
// [end]

// ---- .cuda() against .to() ------------------------------------------------------------------------------------------

// [cuda_or_to]
static void cuda_against_to(FyDevice device) {
  heading(".cuda() against .to(device)");
  FyModule *model = fy_nn_linear(10, 5); // PyTorch: nn.Linear(10, 5)
  printf("before:             %s\n", home_of(model));
  FyError error;
  fy_trap(error) {
    fy_module_cuda(model); // PyTorch: model.cuda()
  }
  if (error.kind) {
    printf("model.cuda() without CUDA: ");
    show_error(&error);
  } else {
    printf("after .cuda():      %s\n", home_of(model));
  }
  // .to(device) accepts any device, so the same line works on every machine.
  FyModule *returned = fy_module_to(model, device); // PyTorch: model.to(device)
  printf("after .to(device):  %s\n", home_of(model));
  fy_module_cpu(model); // PyTorch: model.cpu()
  printf("after .cpu():       %s\n", home_of(model));
  // A module moves itself and returns itself. A tensor's .to returns a new tensor: do not ignore the result.
  printf("model.to returns the model itself: %s\n", truth(returned == model));
}
// [end]

// ---- parameters and buffers -----------------------------------------------------------------------------------------

static void print_tensors(const char *kind, const FyTensorList *list) {
  for (int i = 0; i < list->count; i++) {
    FyTensor *t = list->items[i];
    printf("  %-9s  %-22s %-22s %-15s %s\n", kind, list->names[i], fy_shape_string(t), fy_dtype_name(fy_dtype_of(t)),
           fy_device_name_of(fy_device_of(t)));
  }
}

// [buffers]
static void parameters_and_buffers(FyDevice device) {
  heading("What moves: parameters, and buffers too");
  FyModule *model = fy_nn_sequential(fy_nn_linear(20, 8), fy_nn_batch_norm1d(8), fy_nn_relu(), fy_nn_linear(8, 2));
  fy_module_to(model, device);                      // PyTorch: model.to(device)
  print_tensors("parameter", fy_parameters(model)); // PyTorch: model.named_parameters()
  print_tensors("buffer", fy_buffers(model));       // PyTorch: model.named_buffers()

  fy_train(model);                                                 // PyTorch: model.train()
  fy_forward(model, fy_randn(fy_shape(64, 20), .device = device)); // the running statistics change during training
  FyTensor *seen = fy_list_get(fy_buffers(model), "1.num_batches_tracked");
  printf("BatchNorm has counted %lld batch, on %s\n", (long long)fy_item_int64(seen),
         fy_device_name_of(fy_device_of(seen)));
}
// [end]

// [verify]
// PyTorch: class SimpleNet(nn.Module) with self.net = nn.Sequential(...)
typedef struct DeepNet {
  FyModule base;
  FyModule *net;
} DeepNet;

static FyTensor *deep_net_forward(FyModule *self, FyTensor *x) {
  return fy_forward(((DeepNet *)self)->net, x);
}

static void verify_every_parameter(FyDevice device) {
  heading("Every parameter, verified, and a batch through them");
  DeepNet *model = fy_module_new(DeepNet, deep_net_forward);
  fy_register_module(model, net,
                     fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                                      fy_nn_linear(128, 10)));
  fy_module_to(model, device);
  FyTensorList *parameters = fy_parameters(model);
  for (int i = 0; i < parameters->count; i++) { // PyTorch: for name, param in model.named_parameters():
    printf("%s: %s\n", parameters->names[i], fy_device_name_of(fy_device_of(parameters->items[i])));
  }
  FyTensor *x = fy_to(fy_randn(fy_shape(32, 784)), device); // PyTorch: torch.randn(32, 784).to(device)
  FyTensor *output = fy_forward(model, x);                  // PyTorch: model(x)
  printf("%s\n", fy_shape_string(output));                  // PyTorch: output.shape
}
// [end]

// [forward]
static void where_the_output_is(FyDevice device) {
  heading("Model here, input here, output here");
  FyModule *model = fy_nn_linear(100, 10); // PyTorch: nn.Linear(100, 10)
  fy_module_to(model, device);
  FyTensor *input = fy_to(fy_randn(fy_shape(5, 100)), device);
  FyTensor *output = fy_forward(model, input);
  printf("Model is on device:  %s\n", home_of(model));
  printf("Input is on device:  %s\n", fy_device_name_of(fy_device_of(input)));
  printf("Output is on device: %s\n", fy_device_name_of(fy_device_of(output)));
}
// [end]

// ---- half -----------------------------------------------------------------------------------------------------------

static size_t bytes_of(FyModule *model) {
  size_t bytes = 0;
  FyTensorList *state = fy_state_dict(model); // parameters and buffers
  for (int i = 0; i < state->count; i++) {
    bytes += fy_nbytes(state->items[i]);
  }
  return bytes;
}

// [half]
static void half_the_bytes(FyDevice device) {
  heading("Half precision: half the bytes");
  FyModule *model = fy_nn_linear(10, 5);
  FyTensor *x = fy_randn(fy_shape(4, 10));
  FyTensor *exact = fy_forward(model, x);
  size_t before = bytes_of(model);
  fy_module_to(fy_module_half(model), device);                      // PyTorch: model.half().to(device)
  FyTensor *rounded = fy_forward(model, fy_half(fy_to(x, device))); // the input must be half as well
  printf("%zu bytes, then %zu; output %s\n", before, bytes_of(model), fy_dtype_name(fy_dtype_of(rounded)));
  double difference = fy_item(fy_max(fy_abs(fy_sub(exact, fy_float(fy_cpu(rounded))))));
  printf("largest difference from the float32 output: %.1e (half has 11 bits of precision, float32 has 24)\n",
         difference);
}
// [end]

// ---- what goes wrong ------------------------------------------------------------------------------------------------

// [mismatch]
static void input_left_behind(FyDevice device) {
  heading("When model and input are apart");
  FyModule *model = fy_nn_linear(10, 5);
  fy_module_to(model, device);
  FyTensor *input = fy_randn(fy_shape(2, 10)); // forgotten on the CPU
  FyError error;
  printf("model on %s, input on cpu\n  ", home_of(model));
  fy_trap(error) {
    fy_forward(model, input);
  }
  show_error(&error);
  FyTensor *output = fy_forward(model, fy_to(input, device)); // PyTorch: model(input.to(device))
  printf("with input.to(device): %s on %s\n", fy_shape_string(output), fy_device_name_of(fy_device_of(output)));
}

static void labels_left_behind(FyDevice device) {
  FyTensor *scores = fy_randn(fy_shape(4, 10), .device = device);
  FyTensor *labels = fy_randint(0, 10, fy_shape(4)); // forgotten on the CPU
  FyError error;
  printf("\nscores on %s, labels on cpu\n  ", fy_device_name_of(fy_device_of(scores)));
  fy_trap(error) {
    fy_cross_entropy(scores, labels);
  }
  show_error(&error);
}

static void layer_by_layer(FyDevice device) {
  SimpleNet *model = simple_net(10, 50, 1);
  fy_module_to(model->fc1, device); // layer by layer, and fc2 was forgotten
  FyError error;
  printf("\nonly fc1 moved to %s\n  ", fy_device_name_of(device));
  fy_trap(error) {
    fy_forward(model, fy_randn(fy_shape(2, 10), .device = device));
  }
  show_error(&error);
  printf("model.to(device) moves every layer at once and forgets none.\n");
}
// [end]

// ---- training steps -------------------------------------------------------------------------------------------------

// [train]
static void train_on_random_data(FyDevice device) {
  heading("Five training steps");
  SimpleNet *model = fy_module_to(simple_net(100, 50, 10), device);    // PyTorch: SimpleNet().to(device)
  FyModule *criterion = fy_nn_cross_entropy_loss();                    // PyTorch: nn.CrossEntropyLoss()
  FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 0.001); // PyTorch: optim.Adam(...)
  FyTensor *inputs = fy_to(fy_randn(fy_shape(64, 100)), device);       // (64, 100)
  FyTensor *labels = fy_to(fy_randint(0, 10, fy_shape(64)), device);   // (64), classes 0 to 9
  for (int epoch = 0; epoch < 5; epoch++) {
    fy_scope {                                              // frees the tensors of this step at its end
      FyTensor *outputs = fy_forward(model, inputs);        // (64, 10)
      FyTensor *loss = fy_loss(criterion, outputs, labels); // PyTorch: criterion(outputs, labels)
      fy_zero_grad(optimizer);                              // PyTorch: optimizer.zero_grad()
      fy_backward(loss);                                    // PyTorch: loss.backward()
      fy_step(optimizer);                                   // PyTorch: optimizer.step()
      printf("Epoch [%d/5], Loss: %.4f\n", epoch + 1, fy_item(loss));
    }
  }
}
// [end]

// ---- Fashion-MNIST --------------------------------------------------------------------------------------------------

enum { BATCH = 64, PIXELS = 28 * 28 };

// [batch]
// The images with the numbers `index`: (N, 28, 28) bytes become (N, 784) float32 in [-1, 1] on `device`. They are
// copied as bytes, so the transfer is a quarter of what float32 would need.
static FyTensor *pictures(const FyImages *set, FyTensor *index, FyDevice device) {
  FyTensor *bytes = fy_to(fy_index_select(set->images, 0, index), device);
  FyTensor *x = fy_div_scalar(fy_to_dtype(bytes, FY_FLOAT32), 255);
  return fy_view(fy_div_scalar(fy_sub_scalar(x, 0.5), 0.5), fy_shape(-1, PIXELS));
}

static FyTensor *classes(const FyImages *set, FyTensor *index, FyDevice device) {
  return fy_to(fy_index_select(set->labels, 0, index), device); // (N) int64
}
// [end]

// A bar that redraws itself on a terminal; elsewhere a line now and then.
static void show_progress(int64_t step, int64_t steps, double loss) {
  if (isatty(STDOUT_FILENO)) {
    int filled = (int)(30 * step / steps);
    printf("\r  [%.*s%*s] %lld/%lld, loss %.4f%s", filled, "##############################", 30 - filled, "",
           (long long)step, (long long)steps, loss, step == steps ? "\n" : "");
  } else {
    printf("  batch %lld/%lld, loss %.4f\n", (long long)step, (long long)steps, loss);
  }
  fflush(stdout);
}

// [epoch]
// Trains on `steps` batches in random order. Returns the last mean loss that was reported.
static double train_epoch(FyModule *model, FyOptimizer *optimizer, const FyImages *set, int64_t steps,
                          FyDevice device) {
  int64_t count = fy_size_at(set->labels, 0), report = isatty(STDOUT_FILENO) ? 20 : 200, since = 0;
  double mean_loss = 0;
  FyTensor *order = fy_randperm((double)count);              // PyTorch: shuffle=True
  FyTensor *running = fy_zeros(FY_SCALAR, .device = device); // the sum of losses stays on the device
  for (int64_t i = 0; i < steps; i++) {
    fy_scope {
      int64_t end = (i + 1) * BATCH < count ? (i + 1) * BATCH : count;
      FyTensor *index = fy_slice(order, 0, i * BATCH, end, 1);
      FyTensor *data = pictures(set, index, device);  // PyTorch: data.to(device)
      FyTensor *target = classes(set, index, device); // PyTorch: target.to(device)
      FyTensor *loss = fy_cross_entropy(fy_forward(model, data), target);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      fy_add_(running, fy_detach(loss));
    }
    since++;
    if ((i + 1) % report == 0 || i + 1 == steps) { // only here does the CPU wait for the device
      mean_loss = fy_item(running) / (double)since;
      show_progress(i + 1, steps, mean_loss);
      fy_zero_(running);
      since = 0;
    }
  }
  return mean_loss;
}
// [end]

// [accuracy]
// The fraction of the first `count` images that the model classifies correctly.
static double accuracy(FyModule *model, const FyImages *set, int64_t count, FyDevice device) {
  int64_t correct = 0, batch = 1000;
  fy_eval(model); // PyTorch: model.eval()
  fy_no_grad {    // PyTorch: with torch.no_grad():
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        FyTensor *index = fy_arange((double)(i + batch < count ? i + batch : count), .start = (double)i);
        FyTensor *guess = fy_argmax_dim(fy_forward(model, pictures(set, index, device)), 1, false); // (N) int64
        correct += fy_item_int64(fy_sum(fy_eq(guess, classes(set, index, device))));
      }
    }
  }
  fy_train(model);
  return (double)correct / (double)count;
}
// [end]

// [model784]
// The same seed for each device: the same initial weights, and the same order of images.
static FyModule *fashion_model(FyDevice device) {
  fy_manual_seed(0);
  FyModule *model = fy_nn_sequential(fy_nn_linear(PIXELS, 256), fy_nn_relu(), fy_nn_linear(256, 10));
  return fy_module_to(model, device); // PyTorch: nn.Sequential(...).to(device)
}
// [end]

static double train_and_report(const FyImages *train, const FyImages *test, int64_t steps, int64_t tested, int epochs,
                               FyDevice device) {
  FyModule *model = fashion_model(device);
  FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 0.001);
  double loss = 0, seconds = 0, total = 0;
  for (int epoch = 0; epoch < epochs; epoch++) {
    if (epochs > 1) {
      printf("  epoch %d/%d\n", epoch + 1, epochs);
    }
    timed(seconds, device) {
      loss = train_epoch(model, optimizer, train, steps, device);
    }
    total += seconds;
    printf("  %lld batches of %d on %s in %s\n", (long long)steps, BATCH, fy_device_name_of(device),
           time_text(device, seconds));
    double right = accuracy(model, test, tested, device);
    printf("  test accuracy on %lld held-out pictures: %.2f %%\n", (long long)tested, 100 * right);
  }
  if (epochs > 1) {
    printf("  trained for %s in all\n", time_text(device, total));
  }
  return loss;
}

static void say_where_the_pictures_are_from(void) {
  FyError error;
  printf("The pictures are not here, so this part is left out:\n");
  fy_trap(error) {
    fy_fashion_mnist(NULL, true);
  }
  show_error(&error);
}

static void epochs_of_fashion_mnist(const Chapter *chapter, int epochs) {
  heading(epochs == 1 ? "One epoch of Fashion-MNIST" : text("%d epochs of Fashion-MNIST", epochs));
  if (!fy_fashion_mnist_available(NULL)) {
    say_where_the_pictures_are_from();
    return;
  }
  FyImages train = fy_fashion_mnist(NULL, true); // PyTorch: datasets.FashionMNIST(root, train=True)
  FyImages test = fy_fashion_mnist(NULL, false);
  printf("%s pictures to learn from, %s to be tested on; classes such as %s and %s\n\n", fy_shape_string(train.images),
         fy_shape_string(test.images), fy_fashion_mnist_class(0), fy_fashion_mnist_class(9));
  int64_t count = fy_size_at(train.labels, 0), all = (count + BATCH - 1) / BATCH;
  int64_t part = size_for(chapter, 20, 100, all), tested = size_for(chapter, 1000, 10000, 10000);
  if (chapter->simulated || chapter->quick) {
    printf("A part of an epoch on %s, %lld of %lld batches:\n", fy_device_name_of(chapter->device), (long long)part,
           (long long)all);
    int times = chapter->quick ? epochs : 1;
    double there = train_and_report(&train, &test, part, tested, times, chapter->device);
    if (chapter->device.type == FY_CUDA) {
      printf("The same part on the CPU:\n");
      double here = train_and_report(&train, &test, part, tested, times, FY_CPU_DEVICE);
      printf("  the mean losses differ by %.1e: the device changes the place, not the result\n", fabs(there - here));
    }
  }
  if (!chapter->quick) {
    FyDevice device = chapter->simulated ? FY_CPU_DEVICE : chapter->device;
    printf("The whole epoch on %s:\n", fy_device_name_of(device));
    train_and_report(&train, &test, all, tested, epochs, device);
  }
}

int main(int argc, char **argv) {
  const char *epochs = "1";
  const ChapterOption option = {.name = "--epochs",
                                .help = "how often to go through Fashion-MNIST (1)",
                                .value = "N",
                                .text = &epochs,
                                .least = 1,
                                .most = 1000};
  Chapter chapter =
      chapter_begin_with(argc, argv, "Chapter 5: model moves", "Models on a device, and trained there.", 1, &option);
  FyDevice device = chapter.device;
  fy_scope {
    before_and_after(device);
    cuda_against_to(device);
    parameters_and_buffers(device);
    verify_every_parameter(device);
    where_the_output_is(device);
    half_the_bytes(device);
    input_left_behind(device);
    labels_left_behind(device);
    layer_by_layer(device);
  }
  fy_scope {
    train_on_random_data(device);
  }
  epochs_of_fashion_mnist(&chapter, atoi(epochs));
  return 0;
}
