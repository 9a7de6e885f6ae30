// Chapter 11: GPU memory.
//
// How much memory a program has in use, and how much it only holds; when a tensor dies, and what keeps it alive; what the
// allocator does with blocks, and how it can fail although enough is free; what takes the most in a training step, and
// four ways to need less.
//
// The lesson is docs/11_memory.md.
#include "memory_view.h"
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

// ---- how much -------------------------------------------------------------------------------------------------------

// [print]
// PyTorch: the function print_gpu_memory(), with torch.cuda.memory_allocated() and torch.cuda.memory_reserved()
static void print_gpu_memory(FyDevice device) {
  printf("Allocated: %.3f GB   Cached: %.3f GB\n", (double)fy_memory_allocated(device) / 1e9,
         (double)fy_memory_reserved(device) / 1e9);
}
// [end]

// The side of a matrix of which `how_many` fit into the device's memory: 10000, or less, and then it says so.
static int64_t side_of_matrices(const Chapter *chapter, int how_many) {
  size_t unused, total;
  int64_t n = size_for(chapter, 500, 3000, 10000);
  fy_mem_get_info(chapter->device, &unused, &total);
  while (chapter->gpu && (double)how_many * (double)(n * n) * 4 > 0.8 * (double)unused) {
    n /= 2;
  }
  if (n < 10000) {
    printf("(%lld x %lld elements here, where there is no GPU with room and speed for 10000 x 10000)\n", (long long)n,
           (long long)n);
  }
  return n;
}

// [large]
static void a_large_tensor(const Chapter *chapter) {
  heading("A large tensor, and after it");
  FyDevice device = chapter->device;
  int64_t n = side_of_matrices(chapter, 1);
  print_gpu_memory(device);
  FyTensor *large_tensor = fy_rand(fy_shape(n, n), .device = device); // PyTorch: torch.rand(n, n, device=device)
  print_gpu_memory(device);
  fy_drop(large_tensor); // PyTorch: del large_tensor
  printf("dropped:          ");
  print_gpu_memory(device);
  fy_empty_cache(); // PyTorch: torch.cuda.empty_cache()
  printf("cache given back: ");
  print_gpu_memory(device);
}
// [end]

// [product]
static void a_large_product(const Chapter *chapter) {
  heading("A product, and its peak");
  FyDevice device = chapter->device;
  int64_t n = side_of_matrices(chapter, 3);
  fy_reset_peak_memory_stats(device); // PyTorch: torch.cuda.reset_peak_memory_stats()
  print_gpu_memory(device);
  FyTensor *large_computation = NULL;
  fy_scope { // the two factors end with the scope; in Python, with the expression
    large_computation =
        fy_keep(fy_matmul(fy_randn(fy_shape(n, n), .device = device), fy_randn(fy_shape(n, n), .device = device)));
  }
  print_gpu_memory(device);
  double matrix = (double)(n * n) * 4;
  printf("at most in use meanwhile: %s, which is %.2f matrices of %s\n",
         bytes_text((double)fy_max_memory_allocated(device)), (double)fy_max_memory_allocated(device) / matrix,
         bytes_text(matrix));
  if (device.type == FY_CUDA) {
    size_t unused, total;
    fy_mem_get_info(device, &unused, &total); // PyTorch: torch.cuda.mem_get_info()
    printf("taken of the device's %s, by this and all other programs: %s\n", bytes_text((double)total),
           bytes_text((double)(total - unused)));
  }
  fy_drop(large_computation);
  fy_empty_cache();
  print_gpu_memory(device);
}
// [end]

// ---- tensor lifetime ----------------------------------------------------------------------------------------------------

// Prints the bytes in use above `base`, after the name of the last step.
static void in_use(FyDevice device, size_t base, const char *after) {
  printf("%-44s %10s\n", after, bytes_text((double)(fy_memory_allocated(device) - base)));
}

// [scope]
static void when_a_tensor_dies(FyDevice device) {
  heading("When a tensor dies");
  size_t base = fy_memory_allocated(device);
  FyTensor *kept = NULL;
  fy_scope {
    FyTensor *a = fy_ones(fy_shape(256, 1024), .device = device); // 1 MiB
    in_use(device, base, "a made");
    FyTensor *b = fy_add(a, a);
    in_use(device, base, "b = a + a");
    fy_drop(a); // PyTorch: del a
    in_use(device, base, "a dropped");
    FyTensor *row = fy_select(b, 0, 0); // a view: 4 KiB of the same memory
    fy_drop(b);
    in_use(device, base, "b dropped, but a row of it is still in sight");
    fy_drop(row);
    in_use(device, base, "the row dropped");
    fy_mul_scalar(fy_mul_scalar(fy_ones(fy_shape(256, 1024), .device = device), 2), 3);
    in_use(device, base, "ones * 2 * 3, all three still the scope's");
    kept = fy_keep(fy_ones(fy_shape(256, 1024), .device = device)); // survives the scope
  }
  in_use(device, base, "the scope closed, one tensor kept");
  fy_drop(kept);
  in_use(device, base, "and dropped");
}
// [end]

// ---- what a graph keeps -----------------------------------------------------------------------------------------------

typedef struct Work {
  FyModule *model;
  FyTensor *x, *y;
  FyDevice device;
} Work;

// [model]
// A network whose activations take more memory than its parameters, as is usual.
static Work make_work(FyDevice device, int64_t batch) {
  fy_manual_seed(0);
  Work work = {.device = device};
  work.model = fy_nn_sequential(fy_nn_linear(256, 512), fy_nn_relu(), fy_nn_linear(512, 512), fy_nn_relu(),
                                fy_nn_linear(512, 512), fy_nn_relu(), fy_nn_linear(512, 10));
  fy_module_to(work.model, device);
  work.x = fy_randn(fy_shape(batch, 256), .device = device);
  work.y = fy_randint(0, 10, fy_shape(batch), .device = device);
  return work;
}

static FyTensor *loss_of(const Work *work) {
  return fy_cross_entropy(fy_forward(work->model, work->x), work->y);
}
// [end]

// [graph]
static void what_a_graph_keeps(const Chapter *chapter) {
  heading("What a graph keeps alive");
  Work work = make_work(chapter->device, size_for(chapter, 512, 4096, 16384));
  size_t base = fy_memory_allocated(work.device), with_graph = 0;
  fy_reset_peak_memory_stats(work.device);
  fy_scope {
    FyTensor *loss = loss_of(&work);
    with_graph = fy_max_memory_allocated(work.device) - base;
    in_use(work.device, base, "loss = ..., one number, and its graph");
    fy_backward(loss);
    in_use(work.device, base, "loss.backward(): the gradients are left");
    fy_module_zero_grad(work.model); // PyTorch: model.zero_grad(), which drops them
    in_use(work.device, base, "model.zero_grad()");
  }
  fy_reset_peak_memory_stats(work.device);
  fy_scope {
    fy_no_grad { // PyTorch: with torch.no_grad():
      loss_of(&work);
    }
    in_use(work.device, base, "loss = ... without a graph");
  }
  printf("at most while the loss was computed: %s with a graph, %s without\n", bytes_text((double)with_graph),
         bytes_text((double)(fy_max_memory_allocated(work.device) - base)));
}
// [end]

typedef enum Sum { AS_TENSOR, AFTER_BACKWARD, AS_NUMBER, WITHOUT_GRAPH } Sum;

// [leak]
// Sums the loss over some batches in one of four ways. Stores the bytes in use after each batch in `after`.
static double summed_loss(const Work *work, Sum how, int batches, size_t *after) {
  FyTensor *total = fy_zeros(FY_SCALAR, .device = work->device);
  double number = 0;
  for (int i = 0; i < batches; i++) {
    fy_scope {
      if (how == AS_TENSOR || how == AFTER_BACKWARD) {
        FyTensor *loss = loss_of(work), *before = total;
        if (how == AFTER_BACKWARD) {
          fy_backward(loss);
          fy_module_zero_grad(work->model);
        }
        total = fy_keep(fy_add(before, loss)); // PyTorch: total = total + loss
        fy_drop(before);
      } else if (how == AS_NUMBER) {
        number += fy_item(loss_of(work)); // PyTorch: total += loss.item()
      } else {
        fy_no_grad {
          fy_add_(total, loss_of(work)); // PyTorch: with torch.no_grad(): total += loss
        }
      }
    }
    after[i] = fy_memory_allocated(work->device);
  }
  return number + fy_item(total);
}
// [end]

static void the_leak(const Chapter *chapter) {
  enum { BATCHES = 5 };
  static const char *const names[] = {"total = total + loss", "the same after backward", "total += loss.item()",
                                      "added in no_grad"};
  heading("A sum that leaks");
  Work work = make_work(chapter->device, size_for(chapter, 256, 1024, 4096));
  printf("in use after each batch of %lld:\n", (long long)fy_size_at(work.x, 0));
  for (int how = AS_TENSOR; how <= WITHOUT_GRAPH; how++) {
    size_t base = fy_memory_allocated(work.device), after[BATCHES];
    fy_scope {
      double sum = summed_loss(&work, how, BATCHES, after);
      printf("%-24s", names[how]);
      for (int i = 0; i < BATCHES; i++) {
        printf(" %9s", bytes_text((double)(after[i] - base)));
      }
      printf("   sum %.4f\n", sum);
    }
  }
}

// ---- the allocator from inside ----------------------------------------------------------------------------------------

// [blocks]
static void blocks_and_segments(FyDevice device) {
  heading("Blocks and segments");
  fy_empty_cache();
  FyTensor *one = fy_zeros(fy_shape(1), .device = device);
  FyTensor *hundred = fy_zeros(fy_shape(100), .device = device);
  FyTensor *more = fy_zeros(fy_shape(129), .device = device); // 516 bytes
  FyTensor *large = fy_zeros(fy_shape(3, MIB / 4), .device = device);
  fy_drop(hundred);
  print_blocks(device, true, 6);
  printf("\neach character 128 KiB; # in use, . free, | where a block begins:\n");
  print_segments(device, 128 << 10);
  FyMemoryStats stats = fy_memory_stats(device); // PyTorch: torch.cuda.memory_stats()
  printf("\nasked for %s, in use %s, reserved %s in %lld segments\n", bytes_text((double)stats.requested),
         bytes_text((double)stats.allocated), bytes_text((double)stats.reserved), (long long)stats.segments);
  fy_drop(one);
  fy_drop(more);
  fy_drop(large);
}
// [end]

// [fragments]
// Allocates twelve tensors of 5 MiB, drops every other one, then requests one of 15 MiB.
static void fragments(FyDevice device) {
  heading("Enough is free, and yet");
  size_t unused, total;
  fy_empty_cache();
  fy_mem_get_info(device, &unused, &total);
  double share = ((double)fy_memory_reserved(device) + 64 * MIB) / (double)total;
  fy_set_per_process_memory_fraction(share, device); // PyTorch: torch.cuda.set_per_process_memory_fraction(share)
  FyTensor *tensors[12];
  for (int i = 0; i < 12; i++) {
    tensors[i] = fy_empty(fy_shape(5, MIB), .dtype = FY_UINT8, .device = device);
  }
  for (int i = 0; i < 12; i += 2) {
    fy_drop(tensors[i]);
  }
  printf("each character 1 MiB:\n");
  print_segments(device, MIB);
  FyMemoryStats stats = fy_memory_stats(device);
  printf("free in split segments: %s; wanted: 15.7 MB\n  ", bytes_text((double)stats.inactive_split));
  FyError error;
  fy_trap(error) {
    fy_empty(fy_shape(15, MIB), .dtype = FY_UINT8, .device = device);
  }
  show_error(&error);
  for (int i = 1; i < 12; i += 2) {
    fy_drop(tensors[i]);
  }
  fy_drop(fy_empty(fy_shape(15, MIB), .dtype = FY_UINT8, .device = device));
  printf("with the other six gone, too, it fits: the free neighbors are one block again\n");
  fy_set_per_process_memory_fraction(1, device);
}
// [end]

// ---- needing less -----------------------------------------------------------------------------------------------------

// [less]
// One training step over `batch` samples in `parts` micro-batches. Their gradients add up to those of the batch.
static void step_in_parts(const Work *work, int64_t batch, int parts) {
  int64_t rows = batch / parts;
  for (int i = 0; i < parts; i++) {
    fy_scope {
      FyTensor *x = fy_narrow(work->x, 0, i * rows, rows), *y = fy_narrow(work->y, 0, i * rows, rows);
      FyTensor *loss = fy_cross_entropy(fy_forward(work->model, x), y);
      fy_backward(fy_div_scalar(loss, parts));
    }
  }
}

// The peak memory of a step, above what was in use before it.
static size_t peak_of_step(const Work *work, int64_t batch, int parts) {
  size_t base = fy_memory_allocated(work->device);
  fy_module_zero_grad(work->model);
  fy_reset_peak_memory_stats(work->device);
  step_in_parts(work, batch, parts);
  size_t peak = fy_max_memory_allocated(work->device) - base;
  fy_module_zero_grad(work->model);
  return peak;
}
// [end]

static void row_of(const Table *table, const char *what, int64_t samples, size_t peak, size_t whole) {
  table_row(table, what, text("%lld", (long long)samples), bytes_text((double)peak),
            text("%.0f %%", 100 * (double)peak / (double)whole));
}

static void needing_less(const Chapter *chapter) {
  heading("Needing less");
  int64_t batch = size_for(chapter, 512, 4096, 16384);
  Work work = make_work(chapter->device, batch);
  size_t whole = peak_of_step(&work, batch, 1);
  Table table = table_begin({"one step", 28}, {"samples", 8}, {"peak", 10}, {"of it", 6});
  row_of(&table, "the whole batch", batch, whole, whole);
  row_of(&table, "a quarter of the batch", batch / 4, peak_of_step(&work, batch / 4, 1), whole);
  row_of(&table, "the batch in four parts", batch, peak_of_step(&work, batch, 4), whole);
  row_of(&table, "in sixteen parts", batch, peak_of_step(&work, batch, 16), whole);
  fy_module_half(work.model); // PyTorch: model.half()
  work.x = fy_half(work.x);
  row_of(&table, "the whole, all in float16", batch, peak_of_step(&work, batch, 1), whole);
}

// ---- over time --------------------------------------------------------------------------------------------------------

enum { MOST_EVENTS = 4096 };

static size_t recorded(FyDevice device) {
  return fy_memory_history(device, NULL, 0);
}

// [timeline]
static void over_a_step(const Chapter *chapter) {
  heading("A step over time");
  Work work = make_work(chapter->device, size_for(chapter, 512, 4096, 16384));
  FyOptimizer *optimizer = fy_adam(fy_parameters(work.model));
  fy_backward(loss_of(&work));
  fy_step(optimizer); // Adam's own tensors are made at the first step
  fy_zero_grad(optimizer);
  Phase phases[3] = {{"forward", 0}, {"backward", 0}, {"step", 0}};
  fy_record_memory_history(true, .max_entries = MOST_EVENTS); // PyTorch: torch.cuda.memory._record_memory_history()
  fy_scope {
    FyTensor *loss = loss_of(&work);
    phases[0].end = recorded(work.device);
    fy_backward(loss);
    phases[1].end = recorded(work.device);
    fy_step(optimizer);
    fy_zero_grad(optimizer);
  }
  phases[2].end = recorded(work.device);
  static FyMemoryEvent events[MOST_EVENTS];
  fy_memory_history(work.device, events, MOST_EVENTS);
  const FyMemoryEvent *peak = print_timeline(events, phases, 3, MIB / 2);
  printf("blocks of half a MiB and more; the most was in use after event %d of %zu, a block for %s\n",
         (int)(peak - events) + 1, phases[2].end, place_text(peak->file, peak->line));
}
// [end]

// [snapshot]
static void who_holds_what(const Chapter *chapter, const char *path) {
  heading("Who holds what");
  Work work = make_work(chapter->device, size_for(chapter, 512, 4096, 16384));
  FyTensor *loss = loss_of(&work); // a graph is alive while we look
  print_by_line(work.device, 5);
  fy_memory_snapshot(path); // PyTorch: torch.cuda.memory._dump_snapshot(path)
  fy_record_memory_history(false);
  printf("the loss is %.4f; all blocks, and what was recorded, are in %s\n", fy_item(loss), path);
}
// [end]

int main(int argc, char **argv) {
  const char *path = NULL;
  ChapterOption options[] = {
      {.name = "--snapshot", .help = "where the snapshot goes (a temporary file)", .value = "FILE", .text = &path}};
  Chapter chapter = chapter_begin_with(argc, argv, "Chapter 11: where the memory goes",
                                       "What takes memory, what keeps it, and how to need less.", 1, options);
  FyDevice device = chapter.device;
  fy_scope {
    a_large_tensor(&chapter);
    a_large_product(&chapter);
    when_a_tensor_dies(device);
  }
  fy_scope {
    what_a_graph_keeps(&chapter);
  }
  fy_scope {
    the_leak(&chapter);
  }
  if (device.type == FY_CUDA) {
    blocks_and_segments(device);
    fragments(device);
  } else {
    heading("Blocks and segments");
    printf(
        "The CPU's allocator keeps blocks, too, but cuts none: run with --device cuda (simulated, without a GPU).\n");
    heading("Enough is free, and yet");
    printf("So this cannot happen to it, either.\n");
  }
  fy_scope {
    needing_less(&chapter);
  }
  fy_scope {
    over_a_step(&chapter);
  }
  fy_scope {
    who_holds_what(&chapter, path ? path : temporary_file("snapshot.pickle"));
  }
  return 0;
}
