// ONNX files: saves a traced network and loads it again. The lesson is docs/15_tracing.md.
#include "onnx_file.h"
#include "training.h"

#include <stdio.h>
#include <sys/stat.h>

static long long bytes_of(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (long long)status.st_size : -1;
}

// [network]
static FyModule *small_new(FyDevice device) {
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(1, 8, 3, .padding = 1), fy_nn_batch_norm2d(8), fy_nn_relu(),
                                     fy_nn_max_pool2d(2), fy_nn_flatten(), fy_nn_linear(8 * 14 * 14, 10));
  return fy_module_to(model, device);
}
// [end]

// [save]
static FyModule *save(FyDevice device, const char *path) {
  heading("Exporting to ONNX");
  FyModule *model = small_new(device);
  fy_eval(model);
  FyModule *traced = fy_trace(model, fy_rand(fy_shape(1, 1, 28, 28), .device = device));
  fy_onnx_save(traced, path); // PyTorch: torch.onnx.export(model, (x,), path)

  FyTensorList *state = fy_state_dict(model);
  size_t bytes = 0;
  for (int i = 0; i < state->count; i++)
    bytes += fy_nbytes(state->items[i]);
  printf("the model: %d tensors, %zu bytes of numbers; the file: %lld bytes\n", state->count, bytes, bytes_of(path));
  return model;
}
// [end]

// [load]
static void load(FyDevice device, FyModule *model, const char *path) {
  heading("Loading an ONNX file");
  FyModule *loaded = fy_onnx_load(path, .device = device); // onnxruntime: InferenceSession(path)
  fy_traced_print_graph(loaded);
  FyTensor *images = fy_rand(fy_shape(16, 1, 28, 28), .device = device);
  fy_no_grad {
    FyTensor *a = fy_forward(model, images), *b = fy_forward(loaded, images);
    printf("the same for 16 images: %s\n", truth(fy_allclose(a, b, 1e-5, 1e-5)));
  }
}
// [end]

// [refused]
static void a_refusal(FyDevice device, const char *path) {
  FyModule *model = fy_nn_sequential(fy_nn_linear(8, 4), fy_nn_dropout(0.5)); // in training mode
  fy_module_to(model, device);
  FyModule *traced = fy_trace(model, fy_rand(fy_shape(2, 8), .device = device), .no_check = true);
  FyError error;
  fy_trap(error) {
    fy_onnx_save(traced, path);
  }
  show_error(&error);
}
// [end]

void onnx_file_sections(FyDevice device, const char *path) {
  path = path ? path : temporary_file("small.onnx");
  fy_scope {
    FyModule *model = save(device, path);
    load(device, model, path);
  }
  fy_scope {
    a_refusal(device, temporary_file("refused.onnx"));
  }
}
