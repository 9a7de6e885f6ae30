// Chapter 15: tracing, graphs, algorithms.
//
// What a program can know about a model before it runs it: the ops of a forward pass, written down once and made ready; a whole
// step of a GPU's work, recorded and launched as one; and which of several algorithms is the fastest for a shape.
//
// The lesson is docs/15_tracing.md.
#include "algorithms.h"
#include "cuda_graphs.h"
#include "networks.h"

#include <stdio.h>

// ---- tracing ----------------------------------------------------------------------------------------------------------

// [cnn]
static FyModule *cnn_new(FyDevice device) {
  FyModule *model =
      fy_nn_sequential(fy_nn_conv2d(1, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                       fy_nn_conv2d(32, 64, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                       fy_nn_linear(64 * 7 * 7, 256), fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_linear(256, 10));
  return fy_module_to(model, device);
}
// [end]

// [trace]
static void a_trace(FyDevice device) {
  heading("A trace");
  FyModule *model = cnn_new(device);
  fy_eval(model);
  FyTensor *example = fy_rand(fy_shape(1, 1, 28, 28), .device = device);
  FyModule *traced = fy_trace(model, example); // PyTorch: torch.jit.trace(model, example)
  fy_traced_print_graph(traced);               // PyTorch: print(traced.graph)

  FyTensor *images = fy_rand(fy_shape(16, 1, 28, 28), .device = device);
  FyTensor *a = fy_forward(model, images), *b = fy_forward(traced, images);
  printf("the same for 16 other images: %s\n", truth(fy_allclose(a, b, 1e-5, 1e-5)));
}
// [end]

// [branch]
// Twice as much of what is mostly positive; one more of the rest.
static FyTensor *branch_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_item(fy_sum(x)) > 0 ? fy_mul_scalar(x, 2) : fy_add_scalar(x, 1);
}

static void a_frozen_branch(FyDevice device) {
  heading("A frozen branch");
  FyModule *model = fy_module_new_with(sizeof(FyModule), "Branch", branch_forward);
  FyTensor *positive = fy_ones(fy_shape(3), .device = device), *negative = fy_neg(positive);
  FyModule *traced = fy_trace(model, positive);
  printf("for the example: %s\n", truth(fy_equal(fy_forward(model, positive), fy_forward(traced, positive))));
  printf("for another:     %s\n", truth(fy_equal(fy_forward(model, negative), fy_forward(traced, negative))));
  FyError error;
  fy_trap(error) {
    fy_traced_check(traced, model, negative);
  }
  show_error(&error);
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 15: tracing, graphs, algorithms",
                                  "A forward pass written down and made ready; recorded launches; chosen algorithms.");
  // Tracing
  fy_scope {
    a_trace(chapter.device);
  }
  fy_scope {
    a_frozen_branch(chapter.device);
  }
  // A file that others open
  cuda_graph_sections(chapter.device);
  algorithm_sections(chapter.device);
  return 0;
}
