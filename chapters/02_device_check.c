// Chapter 2: device check.
//
// Before anything moves to a GPU: is there one, how many, which, what can it do, and how does a program choose a device
// so that it runs on every machine?
//
// The lesson is docs/02_device_check.md.
#include "common.h"

// [available]
static void is_there_a_gpu(void) {
  heading("Is there a GPU?");
  // PyTorch: torch.cuda.is_available()
  bool cuda_available = fy_cuda_is_available();
  printf("CUDA available: %s\n", truth(cuda_available));
  // PyTorch: torch.cuda.device_count()
  printf("Number of GPUs: %d\n", fy_cuda_device_count());
  if (cuda_available) {
    // PyTorch: torch.cuda.current_device()
    printf("Current GPU:    %d\n", fy_cuda_current_device());
    // PyTorch: torch.cuda.get_device_name(0)
    printf("Name of GPU 0:  %s\n", fy_cuda_get_device_name(0));
  }
  printf("Why it is so:   %s\n", fy_cuda_description());
}
// [end]

// ---- versions -------------------------------------------------------------------------------------------------------

// CUDA writes version 12.4 as 12040.
static const char *cuda_version_text(int version) {
  return version ? text("%d.%d", version / 1000, version % 1000 / 10) : "none";
}

// [versions]
static void which_versions(void) {
  heading("Which versions?");
  printf("Ferry:        %s\n", fy_version());                                 // PyTorch: torch.__version__
  printf("CUDA runtime: %s\n", cuda_version_text(fy_cuda_runtime_version())); // PyTorch: torch.version.cuda
  printf("CUDA driver:  %s\n", cuda_version_text(fy_cuda_driver_version()));  // nvidia-smi shows it
  printf("cuBLAS:       %s\n", fy_cublas_version() ? text("%d", fy_cublas_version()) : "none");
  if (fy_cuda_is_simulated()) {
    printf("The runtime, driver and cuBLAS are the simulator's own.\n");
  }
}
// [end]

// ---- every GPU ------------------------------------------------------------------------------------------------------

static const char *known(double value, const char *unit, double scale) {
  return value > 0 ? text("%.1f %s", value / scale, unit) : "unknown";
}

// [list]
static void list_every_gpu(void) {
  heading("Every GPU, by its index");
  if (!fy_cuda_is_available()) {
    printf("No CUDA device found: everything in this workbook also runs on the CPU.\n");
    return;
  }
  for (int i = 0; i < fy_cuda_device_count(); i++) {
    // PyTorch: torch.cuda.get_device_name(i), torch.cuda.get_device_properties(i)
    FyDeviceProperties gpu = fy_cuda_get_device_properties(i);
    printf("GPU %d: %s%s\n", i, gpu.name, gpu.simulated ? " (simulated)" : "");
    printf("  compute capability %d.%d, %d multiprocessors, warps of %d threads, blocks of up to %d\n", gpu.major,
           gpu.minor, gpu.multi_processor_count, gpu.warp_size, gpu.max_threads_per_block);
    printf("  memory %s, bandwidth %s, CUDA cores %s\n", bytes_text((double)gpu.total_memory),
           known(gpu.memory_bandwidth, "GB/s", 1e9), gpu.cuda_cores ? text("%d", gpu.cuda_cores) : "unknown");
  }
}
// [end]

// [memory]
static void how_much_memory(FyDevice device) {
  if (device.type != FY_CUDA) {
    return;
  }
  size_t free_bytes, total_bytes;
  fy_mem_get_info(device, &free_bytes, &total_bytes); // PyTorch: torch.cuda.mem_get_info(device)
  printf("On %s now: %s of %s are free.\n", fy_device_name_of(device), bytes_text((double)free_bytes),
         bytes_text((double)total_bytes));
}
// [end]

// ---- choosing -------------------------------------------------------------------------------------------------------

// [choose]
// PyTorch: torch.device("cuda" if torch.cuda.is_available() else "cpu")
static FyDevice cuda_or_cpu(void) {
  return fy_device(fy_cuda_is_available() ? "cuda" : "cpu");
}

// The same, with Apple's GPUs as the second choice. This build never has them.
// PyTorch: "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
static FyDevice cuda_or_mps_or_cpu(void) {
  return fy_device(fy_cuda_is_available() ? "cuda" : fy_mps_is_available() ? "mps" : "cpu");
}
// [end]

static void choose_a_device(void) {
  heading("A device chosen when the program starts");
  FyDevice device = cuda_or_cpu();
  printf("Using device: %s\n", fy_device_name_of(device));
  FyDevice with_mps = cuda_or_mps_or_cpu();
  printf("With mps considered: %s (mps available: %s)\n", fy_device_name_of(with_mps), truth(fy_mps_is_available()));
  FyTensor *x = fy_ones(fy_shape(2), .device = device); // PyTorch: torch.ones(2, device=device)
  printf("A tensor made on \"%s\" is on: %s\n", fy_device_name_of(device), fy_device_name_of(fy_device_of(x)));
}

// [by_index]
static void choose_by_index(void) {
  heading("A GPU chosen by its index");
  int count = fy_cuda_device_count();
  FyDevice device = count > 1 ? fy_device("cuda:1") : count == 1 ? fy_device("cuda:0") : FY_CPU_DEVICE;
  // PyTorch: torch.cuda.get_device_name(device)
  printf("Selected device: %s, %s\n", fy_device_name_of(device),
         device.type == FY_CUDA ? fy_cuda_get_device_name(device.index) : "the CPU");
  if (count > 1) {
    // PyTorch: with torch.cuda.device(1):
    fy_cuda_device_guard(1) {
      FyTensor *inside = fy_zeros(fy_shape(1), .device = fy_device("cuda"));
      printf("Inside the guard \"cuda\" is %s\n", fy_device_name_of(fy_device_of(inside)));
    }
    FyTensor *outside = fy_zeros(fy_shape(1), .device = fy_device("cuda"));
    printf("After it \"cuda\" is %s again\n", fy_device_name_of(fy_device_of(outside)));
  }
  if (count > 0) {
    FyDeviceProperties gpu = fy_cuda_get_device_properties(device.index);
    // PyTorch: torch.cuda.get_device_capability(device) >= (7, 0)
    printf("Compute capability %d.%d; at least 7.0, which tensor cores need: %s\n", gpu.major, gpu.minor,
           truth(fy_cuda_has_capability(device.index, 7, 0)));
  }
}
// [end]

// ---- asking for what is not there -----------------------------------------------------------------------------------

// [absent]
// fy_device only parses the name. Ferry checks whether the device exists when it creates a tensor there.
static void make_a_tensor_on(const char *name) {
  FyError error;
  printf("torch.zeros(1, device=\"%s\")\n  ", name);
  fy_trap(error) {
    fy_zeros(fy_shape(1), .device = fy_device(name));
  }
  show_error(&error);
}

static void ask_for_what_is_not_there(void) {
  heading("Asking for a device that is not there");
  make_a_tensor_on(text("cuda:%d", fy_cuda_device_count())); // one past the last; on a CPU-only machine, the first
  make_a_tensor_on("mps");
  make_a_tensor_on("gpu");
  printf("These errors are why a program asks first, and why \"cuda\" should not stand in it as a fixed string.\n");
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter =
      chapter_begin(argc, argv, "Chapter 2: device check", "Which devices there are, and how to choose one.");
  is_there_a_gpu();
  which_versions();
  list_every_gpu();
  how_much_memory(chapter.device);
  choose_a_device();
  choose_by_index();
  ask_for_what_is_not_there();
  return 0;
}
