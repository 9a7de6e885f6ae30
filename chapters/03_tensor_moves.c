// Chapter 3: tensor moves.
//
// A tensor lives in the memory of one device. It is made there or brought there; it computes there, with others that
// live there; and it comes back to the CPU when something outside of Ferry is to read it.
//
// The lesson is docs/03_tensor_moves.md.
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *where(const FyTensor *t) {
  return fy_device_name_of(fy_device_of(t));
}

// ---- to and fro -----------------------------------------------------------------------------------------------------

// [to]
static void move_with_to(FyDevice device) {
  heading("Moving with .to(device)");
  FyTensor *cpu_tensor = fy_randn(fy_shape(3, 3)); // PyTorch: torch.randn(3, 3)
  printf("CPU tensor:\n");
  fy_print(cpu_tensor);
  FyTensor *moved = fy_to(cpu_tensor, device); // PyTorch: cpu_tensor.to(device)
  printf("Moved tensor:\n");
  fy_print(moved);
  printf("Is it on a GPU? %s\n", truth(fy_is_cuda(moved))); // PyTorch: moved.is_cuda
  // A move is a copy: the original stays where it was.
  printf("The original is still on: %s\n", where(cpu_tensor));
}
// [end]

// [there]
static void already_there(FyDevice device) {
  heading("When there is nothing to move");
  FyTensor *x = fy_randn(fy_shape(3, 3), .device = device);
  FyTensor *same = fy_to(x, device);                 // PyTorch: x.to(device)
  FyTensor *copied = fy_to(x, device, .copy = true); // PyTorch: x.to(device, copy=True)
  printf("x.to(device) for an x that is there gives x itself: %s\n", truth(same == x));
  printf("with copy=True it shares no memory with x:          %s\n", truth(!fy_shares_storage(copied, x)));
}
// [end]

// [cuda_cpu]
static void move_with_cuda_and_cpu(void) {
  heading("Moving with .cuda() and .cpu()");
  FyTensor *tensor_cpu = fy_randn(fy_shape(2, 2)); // PyTorch: torch.randn(2, 2)
  printf("Tensor on the CPU:\n");
  fy_print(tensor_cpu);
  if (!fy_cuda_is_available()) {
    FyError error;
    printf("tensor_cpu.cuda() on a machine without CUDA:\n  ");
    fy_trap(error) {
      fy_cuda(tensor_cpu);
    }
    show_error(&error);
    return;
  }
  FyTensor *tensor_gpu = fy_cuda(tensor_cpu); // PyTorch: tensor_cpu.cuda()
  printf("Tensor on the GPU:\n");
  fy_print(tensor_gpu);
  FyTensor *tensor_back = fy_cpu(tensor_gpu); // PyTorch: tensor_gpu.cpu()
  printf("Back on the CPU:\n");
  fy_print(tensor_back);
  printf("on a GPU: %s, then %s; the values survived the trip: %s\n", truth(fy_is_cuda(tensor_gpu)),
         truth(fy_is_cuda(tensor_back)), truth(fy_equal(tensor_cpu, tensor_back)));
}
// [end]

// ---- made where they are needed -------------------------------------------------------------------------------------

// [create]
static void create_on_the_device(FyDevice device) {
  heading("Made on the device, with no move at all");
  FyTensor *vector =
      fy_tensor(fy_longs(1, 2, 3), fy_shape(3), .device = device); // torch.tensor([1, 2, 3], device=device)
  FyTensor *matrix = fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(2, 2), .device = device);
  FyTensor *zeros = fy_zeros(fy_shape(3, 3), .device = device);  // PyTorch: torch.zeros(3, 3, device=device)
  FyTensor *ones = fy_ones(fy_shape(3, 3), .device = device);    // PyTorch: torch.ones(3, 3, device=device)
  FyTensor *random = fy_randn(fy_shape(3, 4), .device = device); // PyTorch: torch.randn(3, 4, device=device)
  FyTensor *uniform = fy_rand(fy_shape(3, 3), .device = device); // PyTorch: torch.rand(3, 3, device=device)
  fy_print(vector);
  fy_print(matrix);
  fy_print(fy_add(zeros, ones));
  fy_print(random);
  printf("torch.rand(3, 3, device=device) is on: %s\n", where(uniform));
}
// [end]

// [seed]
// Ferry's generator counts: the same seed gives the same numbers on every device. (PyTorch's CPU and CUDA generators
// differ, so that its numbers change with the device.)
static void same_numbers_everywhere(FyDevice device) {
  fy_manual_seed(42); // PyTorch: torch.manual_seed(42)
  FyTensor *here = fy_randn(fy_shape(1000));
  fy_manual_seed(42);
  FyTensor *there = fy_randn(fy_shape(1000), .device = device);
  printf("randn from seed 42 on cpu and on %s, largest difference: %g\n", where(there),
         fy_item(fy_max(fy_abs(fy_sub(here, fy_cpu(there))))));
}
// [end]

// [three_ways]
static void three_ways(FyDevice device) {
  heading("Three ways to the same place");
  FyTensor *cpu_tensor = fy_tensor(fy_floats(1, 2, 3), fy_shape(3)); // PyTorch: torch.tensor([1.0, 2.0, 3.0])
  FyTensor *first = fy_to(cpu_tensor, device);                       // PyTorch: cpu_tensor.to(device)
  FyTensor *second = device.type == FY_CUDA ? fy_cuda(cpu_tensor)    // PyTorch: cpu_tensor.cuda(); needs a GPU
                                            : first;
  FyTensor *third = fy_tensor(fy_floats(1, 2, 3), fy_shape(3), .device = device); // never a tensor on the CPU
  FyTensor *back = fy_cpu(third);                                                 // PyTorch: third.cpu()
  printf("cpu_tensor: %s, .to(device): %s, .cuda(): %s, device=: %s, .cpu(): %s\n", where(cpu_tensor), where(first),
         where(second), where(third), where(back));
  printf("all equal: %s\n", truth(fy_equal(first, second) && fy_equal(second, third) && fy_equal(cpu_tensor, back)));
}
// [end]

// [ask]
static void ask_a_tensor(FyDevice device) {
  heading("Asking a tensor where it is");
  FyTensor *x = fy_to(fy_randn(fy_shape(3, 4)), device);              // PyTorch: torch.randn(3, 4).to(device)
  printf("x.device:       %s\n", fy_device_name_of(fy_device_of(x))); // PyTorch: x.device
  printf("x.is_cuda:      %s\n", truth(fy_is_cuda(x)));               // PyTorch: x.is_cuda
  printf("x.get_device(): %d\n", fy_get_device(x));                   // PyTorch: x.get_device()
  printf("x.shape:        %s\n", fy_shape_string(x));                 // PyTorch: x.shape
  // Device and dtype in one go. PyTorch: x.to("cpu", torch.float16)
  FyTensor *half = fy_to(x, FY_CPU_DEVICE, .dtype = FY_FLOAT16);
  printf("x.to(\"cpu\", torch.float16): %s, %s, %zu bytes instead of %zu\n", where(half),
         fy_dtype_name(fy_dtype_of(half)), fy_nbytes(half), fy_nbytes(x));
}
// [end]

// ---- out to numpy ---------------------------------------------------------------------------------------------------

// [numpy_error]
static void numpy_refused(FyTensor *t, const char *code) {
  FyError error;
  printf("%s\n  ", code);
  fy_trap(error) {
    fy_numpy(t);
  }
  show_error(&error);
}
// [end]

// A .npy file that is gone when the function returns.
static void save_and_load(FyTensor *t) {
  const char *folder = getenv("TMPDIR");
  char path[512];
  snprintf(path, sizeof path, "%s/ferry-XXXXXX", folder ? folder : "/tmp");
  int file = mkstemp(path);
  if (file < 0) {
    printf("no temporary file at %s, so nothing is saved\n", path);
    return;
  }
  close(file);
  fy_npy_save(path, t);                 // PyTorch: numpy.save(path, t.numpy())
  FyTensor *loaded = fy_npy_load(path); // PyTorch: torch.from_numpy(numpy.load(path))
  printf("saved as .npy, loaded, equal: %s\n", truth(fy_equal(t, loaded)));
  unlink(path);
}

// [numpy]
static void out_to_numpy(FyDevice device) {
  heading("Out to numpy: detach, then to the CPU");
  FyTensor *plain = fy_tensor(fy_floats(1.5f, 2.5f, 3.5f), fy_shape(3), .device = device);
  FyTensor *with_grad = fy_to(fy_tensor(fy_floats(4, 5, 6), fy_shape(3), .requires_grad = true), device);
  numpy_refused(plain, "plain.numpy()");
  numpy_refused(fy_cpu(with_grad), "with_grad.cpu().numpy()");

  float *array = fy_numpy(fy_cpu(plain)); // PyTorch: plain.cpu().numpy()
  printf("plain.cpu().numpy():              [%g %g %g]\n", array[0], array[1], array[2]);
  array = fy_numpy(fy_cpu(fy_detach(with_grad))); // PyTorch: with_grad.detach().cpu().numpy()
  printf("with_grad.detach().cpu().numpy(): [%g %g %g]\n", array[0], array[1], array[2]);
  save_and_load(fy_cpu(plain));
}
// [end]

// [shares]
// The array of a CPU tensor is the tensor's own memory: what is written there is in the tensor.
static void numpy_shares_memory(void) {
  FyTensor *t = fy_zeros(fy_shape(3)); // PyTorch: t = torch.zeros(3)
  float *array = fy_numpy(t);          // PyTorch: array = t.numpy()
  array[1] = 7;                        // PyTorch: array[1] = 7
  printf("array[1] = 7, and the tensor it came from: ");
  fy_print(t);
}
// [end]

// ---- one device per operation ---------------------------------------------------------------------------------------

// [mismatch]
static void one_device_per_operation(FyDevice device) {
  heading("One operation, one device");
  FyTensor *a = fy_to(fy_randn(fy_shape(3)), device); // PyTorch: torch.randn(3).to(device)
  FyTensor *b = fy_randn(fy_shape(3));                // on the CPU
  FyError error;
  printf("a on %s, b on %s, a + b\n  ", where(a), where(b));
  fy_trap(error) {
    fy_add(a, b); // PyTorch: a + b
  }
  show_error(&error);

  FyTensor *c = fy_add(a, fy_to(b, device)); // PyTorch: a + b.to(device)
  printf("a + b.to(device) is on %s\n", where(c));
  // A single number needs no copy of its own: it is an argument of the kernel launch.
  printf("a + 1 is on %s\n", where(fy_add_scalar(a, 1))); // PyTorch: a + 1
}
// [end]

// ---- lifetimes ------------------------------------------------------------------------------------------------------

// [lifetimes]
// The scope frees its tensors when the block ends, also after an error. A tensor that must outlive it is kept.
static FyTensor *doubled_rows(FyTensor *x) {
  fy_scope {
    FyTensor *doubled = fy_mul_scalar(x, 2);       // x * 2: freed at the scope's end
    return fy_keep(fy_sum_dim(doubled, 1, false)); // PyTorch: return (x * 2).sum(1)
  }
  return NULL; // not reached: the compiler sees the block as a loop
}

static void how_long_a_tensor_lives(FyDevice device) {
  heading("How long a tensor lives");
  FyTensor *x = fy_ones(fy_shape(2, 3), .device = device);
  fy_print(doubled_rows(x));
  fy_scope {
    FyTensor *large = fy_zeros(fy_shape(1000, 1000), .device = device);
    printf("elements: %lld, the last one %g\n", (long long)fy_numel(large),
           fy_item(fy_select(fy_select(large, 0, -1), 0, -1)));
    fy_drop(large); // PyTorch: del large. Frees its 4 MB here, not only at the end of the block
  }
  volatile int64_t rows =
      0; // set in the trap and read after an error: without volatile the compiler may use the old value
  FyError error;
  fy_trap(error) {
    rows = fy_size(x).dim[0]; // PyTorch: x.shape[0]
    fy_raise(FY_VALUE_ERROR, "raised on purpose, with %lld rows", (long long)rows);
  }
  printf("%s: %s (rows: %lld)\n", fy_error_name(error.kind), error.message, (long long)rows);
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 3: tensor moves", "How tensors get from one device to another.");
  FyDevice device = chapter.device;
  move_with_to(device);
  already_there(device);
  move_with_cuda_and_cpu();
  create_on_the_device(device);
  same_numbers_everywhere(device);
  three_ways(device);
  ask_a_tensor(device);
  out_to_numpy(device);
  numpy_shares_memory();
  one_device_per_operation(device);
  how_long_a_tensor_lives(device);
  return 0;
}
