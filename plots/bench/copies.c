// SPDX-License-Identifier: MIT
// Benchmarks of copies between host and device, and of what a call costs when there is next to nothing to do.
#include "bench.h"

// ---- copies -------------------------------------------------------------------------------------------------------------

// `size` bytes from a to b, which are there already: what is measured is the copy, no allocation.
void setup_copy(Run *run) {
  int64_t elements = run->size >= 4 ? run->size / 4 : 1;
  FySize shape = fy_shape(elements);
  FyDevice device = run->device;
  int kind = run->bench->variant;
  bool pinned = kind == COPY_H2D_PINNED || kind == COPY_D2H_PINNED;
  FyTensor *host = kind == COPY_D2D ? NULL : fy_ones(shape, .pin_memory = pinned);
  FyTensor *there = kind == COPY_HOST ? fy_zeros(shape) : fy_zeros(shape, .device = device);
  bool down = kind == COPY_D2H || kind == COPY_D2H_PINNED;
  run->a = kind == COPY_D2D ? fy_ones(shape, .device = device) : down ? there : host;
  run->b = down ? host : there;
  // On one side of a bus, what is read and what is written both count; across it, what crosses.
  run->bytes = (kind == COPY_HOST || kind == COPY_D2D ? 2 : 1) * (double)elements * 4;
}

void body_copy(Run *run) {
  if (run->bench->variant == COPY_H2D_PINNED) {
    fy_copy_async_(run->b, run->a);
  } else {
    fy_copy_(run->b, run->a);
  }
}

// ---- copies with and without work beside them ---------------------------------------------------------------------------

enum { OVERLAP_SIDE = 2048, OVERLAP_SIDE_SIMULATED = 64 };

// `size` bytes from pinned memory to the device, and a matrix product there: one after the other, or on two streams.
void setup_overlap(Run *run) {
  int64_t elements = run->size >= 4 ? run->size / 4 : 1;
  int64_t side = fy_cuda_is_simulated() ? OVERLAP_SIDE_SIMULATED : OVERLAP_SIDE;
  run->a = fy_ones(fy_shape(elements), .pin_memory = true);
  run->b = fy_zeros(fy_shape(elements), .device = run->device);
  run->c = fy_randn(fy_shape(side, side), .device = run->device);
  run->stream = fy_stream_new(run->device, 0);
  run->bytes = (double)elements * 4;
  fy_synchronize(run->device);
}

void body_overlap(Run *run) {
  if (run->bench->variant == OVERLAP_NO) {
    fy_copy_async_(run->b, run->a);
    fy_matmul(run->c, run->c);
    return;
  }
  fy_stream_guard(run->stream) {
    fy_copy_async_(run->b, run->a);
  }
  fy_matmul(run->c, run->c);
  fy_stream_wait_stream(fy_current_stream(run->device), run->stream);
}

// ---- results fetched one by one, or all at once -----------------------------------------------------------------------------

enum { SUMS = 100 };

// A hundred sums of products of two size x size matrices, of which the host wants the numbers.
void setup_sums(Run *run) {
  FySize shape = fy_shape(run->size, run->size);
  run->a = fy_randn(shape, .device = run->device);
  run->b = fy_randn(shape, .device = run->device);
  run->c = fy_zeros(fy_shape(SUMS), .device = run->device);
  run->bytes = SUMS * 5 * (double)run->size * (double)run->size * 4; // the products are written and read again
}

void body_sums(Run *run) {
  for (int i = 0; i < SUMS; i++) {
    fy_scope {
      FyTensor *sum = fy_sum(fy_mul(run->a, run->b));
      if (run->bench->variant == SUMS_COPIED_EACH)
        fy_item(sum);
      else
        fy_copy_(fy_select(run->c, 0, i), sum);
    }
  }
  if (run->bench->variant == SUMS_COPIED_ONCE)
    fy_item(fy_select(fy_to(run->c, FY_CPU_DEVICE), 0, SUMS - 1));
}

// ---- overhead -----------------------------------------------------------------------------------------------------------

// size x size matrices, small enough that all the time goes into what surrounds the work.
void setup_small(Run *run) {
  FySize shape = fy_shape(run->size, run->size);
  bool graph = run->bench->variant == SMALL_ADD_GRAPH || run->bench->variant == SMALL_BACKWARD;
  run->a = fy_randn(shape, .device = run->device, .requires_grad = graph);
  run->b = fy_randn(shape, .device = run->device);
  run->items = 1;
}

void body_small(Run *run) {
  switch (run->bench->variant) {
  case SMALL_ADD:
  case SMALL_ADD_GRAPH:
    fy_add(run->a, run->b);
    break;
  case SMALL_BACKWARD:
    fy_set_grad(run->a, NULL);
    fy_backward(fy_sum(fy_add(run->a, run->b)));
    break;
  case SMALL_EMPTY:
    fy_empty(fy_shape(run->size, run->size), .device = run->device);
    break;
  case SMALL_SYNCHRONIZE:
    fy_synchronize(run->device);
    break;
  }
}
