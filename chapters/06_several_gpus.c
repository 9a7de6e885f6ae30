// Chapter 6: several GPUs.
//
// A machine may have more than one GPU. A program can pick one of them, or let them share each batch: DataParallel cuts
// the batch into chunks, gives every GPU a copy of the model and a chunk, and puts the results together again.
//
// The lesson is docs/06_several_gpus.md.
#include "common.h"

#include <stdio.h>

enum { MAX_GPUS = 64 };

// The GPUs of this lesson: all there are, the chosen one first. None with --device cpu.
typedef struct Gpus {
  int count;
  int ids[MAX_GPUS];
} Gpus;

static Gpus gpus_of(FyDevice device) {
  Gpus gpus = {0};
  if (device.type == FY_CUDA) {
    gpus.ids[gpus.count++] = device.index;
    for (int i = 0; i < fy_cuda_device_count() && gpus.count < MAX_GPUS; i++) {
      if (i != device.index) {
        gpus.ids[gpus.count++] = i;
      }
    }
  }
  return gpus;
}

static const char *where(const FyTensor *t) {
  return fy_device_name_of(fy_device_of(t));
}

static const char *home_of(FyModule *model) {
  return where(fy_parameters(model)->items[0]);
}

// ---- which there are ------------------------------------------------------------------------------------------------

// [detect]
static void detect(void) {
  heading("How many are there?");
  printf("CUDA available: %s\n", truth(fy_cuda_is_available()));
  printf("Number of GPUs: %d\n", fy_cuda_device_count()); // PyTorch: torch.cuda.device_count()
  for (int i = 0; i < fy_cuda_device_count(); i++) {
    printf("GPU %d: %s%s\n", i, fy_cuda_get_device_name(i), fy_cuda_is_simulated() ? " (simulated)" : "");
  }
  if (!fy_cuda_is_available()) {
    printf("No CUDA device found. DataParallel then calls its module and changes nothing.\n");
  }
}
// [end]

// [second]
static void a_model_on_the_second(const Gpus *gpus) {
  heading("A model on the GPU of your choice");
  if (gpus->count < 2) {
    printf("This takes two GPUs; FERRY_SIM_DEVICES=2 simulates them.\n");
    return;
  }
  FyDevice first = fy_cuda_device(gpus->ids[0]), second = fy_cuda_device(gpus->ids[1]);
  FyModule *model = fy_nn_linear(10, 5);
  fy_module_to(model, second); // PyTorch: model.to(torch.device("cuda:1"))
  printf("the model is on %s\n", home_of(model));

  FyTensor *x = fy_randn(fy_shape(2, 10), .device = first);
  FyError error;
  printf("an input from %s:\n  ", where(x));
  fy_trap(error) {
    fy_forward(model, x); // two GPUs are two devices, as CPU and GPU are
  }
  show_error(&error);
  printf("after x.to(\"%s\") the output is on %s\n", fy_device_name_of(second),
         where(fy_forward(model, fy_to(x, second)))); // a copy from GPU to GPU
  // PyTorch: torch.cuda.can_device_access_peer(0, 1)
  printf("can they read each other's memory directly? %s\n",
         truth(fy_cuda_can_device_access_peer(first.index, second.index)));
}
// [end]

// ---- DataParallel, taken apart --------------------------------------------------------------------------------------

// [parts]
static void taken_apart(const Gpus *gpus) {
  heading("DataParallel, taken apart");
  if (gpus->count < 2) {
    printf("This takes two GPUs; FERRY_SIM_DEVICES=2 simulates them.\n");
    return;
  }
  FyDevice first = fy_cuda_device(gpus->ids[0]);
  FyModule *model = fy_nn_linear(10, 5);
  fy_module_to(model, first);
  FyTensor *batch = fy_randn(fy_shape(8, 10), .device = first);

  FyTensor *chunks[MAX_GPUS];
  int used = fy_scatter(batch, gpus->ids, gpus->count, 0, chunks); // 1. split the batch into chunks
  FyModule *replicas[MAX_GPUS];
  fy_replicate(model, gpus->ids, used, replicas); // 2. copy the model to each chunk's GPU
  FyTensor *outputs[MAX_GPUS];
  fy_parallel_apply(replicas, chunks, used, outputs);                       // 3. each replica on its chunk, in parallel
  FyTensor *whole = fy_gather((FyTensors){used, outputs}, gpus->ids[0], 0); // 4. concatenate on the first GPU

  for (int i = 0; i < used; i++) {
    printf("piece %d: input %s on %s, weights on %s, output %s\n", i, fy_shape_string(chunks[i]), where(chunks[i]),
           home_of(replicas[i]), fy_shape_string(outputs[i]));
  }
  printf("gathered: %s on %s, equal to the model's own output: %s\n", fy_shape_string(whole), where(whole),
         truth(fy_allclose(whole, fy_forward(model, batch), 1e-5, 1e-6)));
}
// [end]

// ---- training with DataParallel -------------------------------------------------------------------------------------

// [net]
// 100 -> 50 -> 10
static FyModule *simple_net(FyDevice device) {
  fy_manual_seed(6); // the same weights each time
  FyModule *model = fy_nn_sequential(fy_nn_linear(100, 50), fy_nn_relu(), fy_nn_linear(50, 10));
  return fy_module_to(model, device);
}
// [end]

// [steps]
// Three steps on random data; the losses are stored in `losses`.
static void train(FyModule *model, FyDevice device, double losses[3]) {
  fy_manual_seed(7);
  FyModule *criterion = fy_nn_cross_entropy_loss();
  FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 0.001);
  FyTensor *inputs = fy_randn(fy_shape(128, 100), .device = device);     // (128, 100)
  FyTensor *labels = fy_randint(0, 10, fy_shape(128), .device = device); // (128)
  for (int epoch = 0; epoch < 3; epoch++) {
    fy_scope {
      FyTensor *loss = fy_loss(criterion, fy_forward(model, inputs), labels);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      losses[epoch] = fy_item(loss);
    }
  }
}
// [end]

// The largest difference between two models' tensors: their parameters, or with `grads` the gradients of these.
static double largest_difference(FyModule *a, FyModule *b, bool grads) {
  double largest = 0;
  FyTensorList *left = fy_parameters(a), *right = fy_parameters(b);
  for (int i = 0; i < left->count; i++) {
    FyTensor *x = grads ? fy_grad(left->items[i]) : fy_detach(left->items[i]);
    FyTensor *y = grads ? fy_grad(right->items[i]) : fy_detach(right->items[i]);
    double difference = fy_item(fy_max(fy_abs(fy_sub(fy_cpu(x), fy_cpu(y)))));
    largest = difference > largest ? difference : largest;
  }
  return largest;
}

// [train]
static void train_on_all(const Gpus *gpus, FyDevice device) {
  heading("Training on all of them");
  FyModule *module = simple_net(device);
  FyModule *model = module;
  if (gpus->count > 1) {
    printf("Using %d GPUs!\n", gpus->count);
    model = fy_nn_data_parallel(module, gpus->ids, gpus->count); // PyTorch: nn.DataParallel(model)
  } else {
    printf("Using one device, %s: there is nothing to share the batch with.\n", fy_device_name_of(device));
  }
  double losses[3];
  train(model, device, losses);
  for (int epoch = 0; epoch < 3; epoch++) {
    printf("Epoch [%d/3], Loss: %.4f\n", epoch + 1, losses[epoch]);
  }

  FyModule *alone = simple_net(device); // the same weights, and the same batch on one device
  double alone_losses[3];
  train(alone, device, alone_losses);
  printf("The same on one device:\n");
  for (int epoch = 0; epoch < 3; epoch++) {
    printf("Epoch [%d/3], Loss: %.4f\n", epoch + 1, alone_losses[epoch]);
  }
  printf("largest difference after training: weights %.1e, gradients %.1e\n", largest_difference(module, alone, false),
         largest_difference(module, alone, true));
}
// [end]

// [gradients]
static void where_the_gradients_are(const Gpus *gpus, FyDevice device) {
  heading("Where the gradients are");
  FyModule *module = fy_nn_linear(10, 5);
  fy_module_to(module, device);
  FyModule *model = gpus->count > 1 ? fy_nn_data_parallel(module, gpus->ids, gpus->count) : module;
  fy_backward(fy_sum(fy_forward(model, fy_ones(fy_shape(8, 10), .device = device))));
  FyTensorList *parameters = fy_parameters(module);
  for (int i = 0; i < parameters->count; i++) {
    printf("%s.grad is on %s\n", parameters->names[i], where(fy_grad(parameters->items[i])));
  }
  // d(sum of outputs) / d(bias) is 1 for each of the 8 rows, wherever it was computed: the chunks' gradients add up.
  printf("bias.grad: ");
  fy_print(fy_grad(fy_list_get(parameters, "bias")));
}
// [end]

// ---- a convolutional network ----------------------------------------------------------------------------------------

// [cnn]
// PyTorch: class SimpleCNN(nn.Module)
typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

static FyTensor *simple_cnn_forward(FyModule *self, FyTensor *x) { // x: (N, 3, 32, 32)
  SimpleCnn *cnn = (SimpleCnn *)self;
  x = fy_forward(cnn->relu, fy_forward(cnn->conv1, x)); // (N, 16, 32, 32)
  x = fy_forward(cnn->pool, x);                         // (N, 16, 16, 16)
  x = fy_view(x, fy_shape(fy_size_at(x, 0), -1));       // (N, 4096). PyTorch: x.view(x.size(0), -1)
  return fy_forward(cnn->fc, x);                        // (N, 10)
}

static FyModule *simple_cnn(void) {
  SimpleCnn *cnn = fy_module_new(SimpleCnn, simple_cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1));
  fy_register_module(cnn, relu, fy_nn_relu());
  fy_register_module(cnn, pool, fy_nn_max_pool2d(2));
  fy_register_module(cnn, fc, fy_nn_linear(16 * 16 * 16, 10));
  return &cnn->base;
}
// [end]

// [cnn_forward]
static void pictures_through_all(const Gpus *gpus, FyDevice device) {
  heading("Pictures through all of them");
  FyModule *cnn = simple_cnn();
  FyModule *model = cnn;
  if (gpus->count > 1) {
    model = fy_nn_data_parallel(cnn, gpus->ids, gpus->count);
    printf("Model wrapped with DataParallel\n");
  }
  fy_module_to(model, device); // PyTorch: model.to(device)
  FyTensor *input = fy_to(fy_randn(fy_shape(32, 3, 32, 32)), device);
  FyTensor *output = fy_forward(model, input);
  printf("Model is on device:  %s\n", home_of(model));
  printf("Input is on device:  %s\n", where(input));
  printf("Output shape:        %s\n", fy_shape_string(output));
  printf("Output is on device: %s\n", where(output));
  printf("equal to one device's output: %s\n", truth(fy_allclose(output, fy_forward(cnn, input), 1e-4, 1e-5)));
}
// [end]

// ---- batches that do not divide -------------------------------------------------------------------------------------

// [watcher]
// Notes how many rows each GPU was given. Every replica runs in its own thread and writes to its own array element.
static int64_t rows_on[MAX_GPUS];

typedef struct Watcher {
  FyModule base;
  FyModule *fc;
} Watcher;

static FyTensor *watcher_forward(FyModule *self, FyTensor *x) {
  rows_on[fy_is_cuda(x) ? fy_get_device(x) : 0] += fy_size_at(x, 0);
  return fy_forward(((Watcher *)self)->fc, x);
}
// [end]

// [uneven]
static void batches_that_do_not_divide(const Gpus *gpus, FyDevice device) {
  heading("Batches that do not divide, and batches too small");
  Watcher *watcher = fy_module_new(Watcher, watcher_forward);
  fy_register_module(watcher, fc, fy_nn_linear(10, 5));
  fy_module_to(watcher, device);
  FyModule *model = gpus->count > 1 ? fy_nn_data_parallel(watcher, gpus->ids, gpus->count) : &watcher->base;
  int64_t batches[] = {8, 7, 3, 1};
  for (int b = 0; b < 4; b++) {
    for (int i = 0; i < MAX_GPUS; i++) {
      rows_on[i] = 0;
    }
    FyTensor *output = fy_forward(model, fy_randn(fy_shape(batches[b], 10), .device = device));
    printf("batch of %lld: rows per device", (long long)batches[b]);
    for (int i = 0; i < (gpus->count ? gpus->count : 1); i++) {
      printf("%s %lld", i ? "," : "", (long long)rows_on[gpus->count ? gpus->ids[i] : 0]);
    }
    printf("; output %s\n", fy_shape_string(output));
  }
}
// [end]

// ---- what goes wrong ------------------------------------------------------------------------------------------------

// [left_behind]
static void model_left_on_the_cpu(const Gpus *gpus) {
  heading("Wrapped, but not moved");
  if (gpus->count < 2) {
    printf("This takes two GPUs; FERRY_SIM_DEVICES=2 simulates them.\n");
    return;
  }
  FyModule *model = fy_nn_data_parallel(fy_nn_linear(10, 5), gpus->ids, gpus->count);
  FyTensor *input = fy_randn(fy_shape(8, 10), .device = fy_cuda_device(gpus->ids[0]));
  FyError error;
  fy_trap(error) {
    fy_forward(model, input);
  }
  show_error(&error);
  fy_module_to(model, fy_cuda_device(gpus->ids[0])); // PyTorch: model.cuda()
  printf("after model.to(\"%s\"): %s\n", fy_device_name_of(fy_cuda_device(gpus->ids[0])),
         fy_shape_string(fy_forward(model, input)));
}

static void error_in_a_replica(const Gpus *gpus) {
  if (gpus->count < 2) {
    return;
  }
  FyDevice first = fy_cuda_device(gpus->ids[0]);
  FyModule *model = fy_nn_data_parallel(fy_nn_linear(10, 5), gpus->ids, gpus->count);
  fy_module_to(model, first);
  FyError error;
  printf("\nrows of 12 numbers for a layer that takes 10; the error comes out of a replica's thread:\n");
  fy_trap(error) {
    fy_forward(model, fy_randn(fy_shape(8, 12), .device = first));
  }
  show_error(&error);
}
// [end]

// ---- what it costs --------------------------------------------------------------------------------------------------

typedef struct Pass {
  FyModule *model;
  FyTensor *input;
} Pass;

static void one_step(void *context) {
  Pass *pass = context;
  fy_module_zero_grad(pass->model);
  fy_backward(fy_sum(fy_forward(pass->model, pass->input)));
}

// [cost]
static void what_it_costs(const Chapter *chapter, const Gpus *gpus) {
  heading("What sharing costs and gains");
  if (!chapter->gpu || gpus->count < 2) {
    printf(
        "Only two or more real GPUs can say. Each step copies the model to every GPU, the pieces there, the outputs\n"
        "and the gradients back: a small model loses by it, and so does a small batch.\n");
    return;
  }
  Table table = table_begin({"batch", 8}, {"one GPU", 12}, {text("%d GPUs", gpus->count), 12});
  FyModule *cnn = simple_cnn();
  fy_module_to(cnn, chapter->device);
  FyModule *shared = fy_nn_data_parallel(cnn, gpus->ids, gpus->count);
  for (int64_t batch = 64; batch <= size_for(chapter, 256, 1024, 4096); batch *= 4) {
    FyTensor *input = fy_randn(fy_shape(batch, 3, 32, 32), .device = chapter->device);
    double one = seconds_of(chapter->device, 5, one_step, &(Pass){cnn, input}).median;
    double all = seconds_of(chapter->device, 5, one_step, &(Pass){shared, input}).median;
    table_row(&table, text("%lld", (long long)batch), time_text(chapter->device, one), time_text(chapter->device, all));
  }
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter =
      chapter_begin(argc, argv, "Chapter 6: several GPUs", "One of several GPUs, and all of them at once.");
  FyDevice device = chapter.device;
  Gpus gpus = gpus_of(device);
  detect();
  a_model_on_the_second(&gpus);
  taken_apart(&gpus);
  fy_scope {
    train_on_all(&gpus, device);
    where_the_gradients_are(&gpus, device);
  }
  fy_scope {
    pictures_through_all(&gpus, device);
    batches_that_do_not_divide(&gpus, device);
    model_left_on_the_cpu(&gpus);
    error_in_a_replica(&gpus);
  }
  fy_scope {
    what_it_costs(&chapter, &gpus);
  }
  return 0;
}
