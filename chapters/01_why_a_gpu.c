// Chapter 1: why a GPU.
//
// A CPU and a GPU side by side, in numbers that this program measures: how many cores, how many bytes per second, how
// many multiplications and additions per second. Then the reason why the numbers differ, and which work gains from it.
//
// The lesson is docs/01_why_a_gpu.md.
#include "common.h"

#include <math.h>
#include <unistd.h>

// ---- measuring one processor ----------------------------------------------------------------------------------------

// [processor]
typedef struct Processor {
  double bandwidth; // bytes per second that a copy reads and writes
  double flops;     // float32 multiplications and additions per second in a matrix product
} Processor;
// [end]

typedef struct Pair {
  FyTensor *a, *b;
} Pair;

// [bandwidth]
static void copy(void *context) {
  Pair *pair = context;
  fy_copy_(pair->a, pair->b); // PyTorch: a.copy_(b)
}

// Each element is read once and written once: 8 bytes of traffic per float32.
static double measure_bandwidth(FyDevice device, int64_t n) {
  double bandwidth = 0;
  fy_scope {
    FyTensor *from = fy_rand(fy_shape(n), .device = device); // PyTorch: torch.rand(n, device=device)
    FyTensor *to = fy_zeros(fy_shape(n), .device = device);
    double seconds = seconds_of(device, 15, copy, &(Pair){to, from}).best;
    bandwidth = 2.0 * (double)fy_nbytes(from) / seconds;
  }
  return bandwidth;
}
// [end]

// [product]
static void multiply(void *context) {
  Pair *pair = context;
  fy_matmul(pair->a, pair->b); // PyTorch: torch.matmul(a, b)
}

// Each of the n x n results takes n multiplications and n additions: 2 n^3 floating-point operations.
static double measure_flops(FyDevice device, int64_t n) {
  double flops = 0;
  fy_scope {
    FyTensor *a = fy_randn(fy_shape(n, n), .device = device); // random numbers: a product of zeros can be faster
    FyTensor *b = fy_randn(fy_shape(n, n), .device = device);
    double seconds = seconds_of(device, 15, multiply, &(Pair){a, b}).best;
    flops = 2.0 * (double)(n * n * n) / seconds;
  }
  return flops;
}
// [end]

static Processor measure(FyDevice device, int64_t elements, int64_t n) {
  return (Processor){measure_bandwidth(device, elements), measure_flops(device, n)};
}

// ---- the table ------------------------------------------------------------------------------------------------------

static const char *rate_text(double per_second) {
  return per_second > 1e12 ? text("%.1f TFLOP/s", per_second / 1e12) : text("%.0f GFLOP/s", per_second / 1e9);
}

static const char *why_no_gpu_column(const Chapter *chapter) {
  if (chapter->simulated) {
    return "a simulated device is this CPU in disguise: it has no speed of its own to report";
  }
  if (fy_cuda_is_available() && !fy_cuda_is_simulated()) {
    return "the lesson was asked to stay on the CPU; leave --device out to fill it";
  }
  return "there is no NVIDIA GPU here";
}

static void print_gpu_table(const Processor *cpu, const Processor *gpu, FyDevice device, int64_t n) {
  FyDeviceProperties about = fy_cuda_get_device_properties(device.index);
  const char *model = fy_cuda_model();
  Table table = table_begin({"", 34}, {"CPU", 20}, {model ? "GPU, modeled" : "GPU", 28});
  const char *cores = about.cuda_cores ? text("%d small ones", about.cuda_cores) : "unknown";
  table_row(&table, "cores", text("%ld large ones", sysconf(_SC_NPROCESSORS_ONLN)), cores);
  table_row(&table, "grouped in", "-", text("%d multiprocessors", about.multi_processor_count));
  table_row(&table, "built for", "one thread, soon", "very many threads, together");
  table_row(&table, model ? "memory bandwidth of a copy" : "memory bandwidth, a copy measured",
            text("%.1f GB/s", cpu->bandwidth / 1e9), text("%.0f GB/s", gpu->bandwidth / 1e9));
  table_row(&table, text("float32 product, n = %lld", (long long)n), rate_text(cpu->flops), rate_text(gpu->flops));
  table_row(&table, "the name in code", "\"cpu\"", "\"cuda\"");
  if (model) {
    printf("\nThe GPU's numbers are %s.", model);
  }
  printf("\nHere the GPU moves %.0f times as many bytes per second and calculates %.0f times as fast.\n",
         gpu->bandwidth / cpu->bandwidth, gpu->flops / cpu->flops);
}

static void print_cpu_table(const Chapter *chapter, const Processor *cpu, int64_t n) {
  Table table = table_begin({"", 34}, {"CPU", 20}, {"GPU", 28});
  table_row(&table, "cores", text("%ld large ones", sysconf(_SC_NPROCESSORS_ONLN)), "");
  table_row(&table, "built for", "one thread, soon", "very many threads, together");
  table_row(&table, "memory bandwidth, a copy measured", text("%.1f GB/s", cpu->bandwidth / 1e9), "");
  table_row(&table, text("float32 product, n = %lld", (long long)n), rate_text(cpu->flops), "");
  table_row(&table, "the name in code", "\"cpu\"", "\"cuda\"");
  printf("\nThe GPU column is empty because %s.\n", why_no_gpu_column(chapter));
}

static Processor compare_processors(const Chapter *chapter) {
  heading(chapter->modeled ? "The CPU, measured here, and a GPU, modeled" : "The CPU and the GPU, measured here");
  int64_t elements = size_for(chapter, 4 << 20, 32 << 20, 256 << 20);
  int64_t n = size_for(chapter, 256, 1024, 4096);
  Processor cpu = measure(FY_CPU_DEVICE, elements, n);
  if (chapter->gpu || chapter->modeled) {
    Processor gpu = measure(chapter->device, elements, n);
    print_gpu_table(&cpu, &gpu, chapter->device, n);
  } else {
    print_cpu_table(chapter, &cpu, n);
  }
  return cpu;
}

// ---- why some work gains and other work does not --------------------------------------------------------------------

// [add]
static void add(void *context) {
  Pair *pair = context;
  fy_add(pair->a, pair->b); // PyTorch: a + b
}

// a + b: one addition for 12 bytes (two numbers read, one written).
static double seconds_of_addition(FyDevice device, int64_t n) {
  FyTensor *a = fy_randn(fy_shape(n, n), .device = device);
  FyTensor *b = fy_randn(fy_shape(n, n), .device = device);
  return seconds_of(device, 15, add, &(Pair){a, b}).best;
}
// [end]

static double seconds_of_product(FyDevice device, int64_t n) {
  FyTensor *a = fy_randn(fy_shape(n, n), .device = device);
  FyTensor *b = fy_randn(fy_shape(n, n), .device = device);
  return seconds_of(device, 15, multiply, &(Pair){a, b}).best;
}

static void intensity_row(const Table *table, FyDevice device, const char *name, double operations, double bytes,
                          double seconds) {
  table_row(table, name, text("%.2f", operations / bytes), text("%.1f", bytes / seconds / 1e9),
            text("%.1f", operations / seconds / 1e9), time_text(device, seconds));
}

static void two_kinds_of_work(const Chapter *chapter, const Processor *cpu) {
  heading("Two kinds of work: waiting for memory, and calculating");
  FyDevice device = chapter->gpu ? chapter->device : FY_CPU_DEVICE;
  int64_t large = size_for(chapter, 512, 4096, 8192), small = 64, medium = size_for(chapter, 256, 1024, 4096);
  printf("On %s:\n\n", fy_device_name_of(device));
  Table table = table_begin({"work", 22}, {"FLOP per byte", 14}, {"GB/s", 10}, {"GFLOP/s", 10}, {"time", 12});
  fy_scope {
    double l = (double)large, m = (double)medium, s = (double)small;
    intensity_row(&table, device, text("a + b, n = %lld", (long long)large), l * l, 12 * l * l,
                  seconds_of_addition(device, large));
    intensity_row(&table, device, text("a @ b, n = %lld", (long long)small), 2 * s * s * s, 12 * s * s,
                  seconds_of_product(device, small));
    intensity_row(&table, device, text("a @ b, n = %lld", (long long)medium), 2 * m * m * m, 12 * m * m,
                  seconds_of_product(device, medium));
  }
  if (!chapter->gpu) {
    printf(
        "\nThis CPU calculates at best %.0f operations in the time that one byte takes from memory. Work with fewer\n"
        "per byte waits for memory, work with more keeps the arithmetic busy. A GPU is ahead in both.\n",
        cpu->flops / cpu->bandwidth);
  }
}

// ---- many small cores -----------------------------------------------------------------------------------------------

// [independent]
// Each element of relu(x) depends on one element of x only. So a GPU can compute each one in a thread of its own.
static void independent_elements(const Chapter *chapter) {
  heading("Why so many small cores help: the elements do not wait for each other");
  FyTensor *x = fy_randn(fy_shape(2, 4), .device = chapter->device); // (2, 4)
  FyTensor *whole = fy_relu(x);                                      // PyTorch: torch.relu(x)
  FyTensor *left = fy_relu(fy_slice(x, 1, 0, 2, 1));                 // PyTorch: torch.relu(x[:, 0:2])
  FyTensor *right = fy_relu(fy_slice(x, 1, 2, 4, 1));                // PyTorch: torch.relu(x[:, 2:4])
  FyTensor *joined = fy_cat(fy_list(left, right), 1);                // PyTorch: torch.cat((left, right), 1)
  fy_print(whole);
  printf("the two halves apart, in any order, give the same: %s\n", truth(fy_equal(whole, joined)));
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 1: why a GPU", "The CPU and the GPU compared by measurement.");
  Processor cpu = compare_processors(&chapter);
  two_kinds_of_work(&chapter, &cpu);
  independent_elements(&chapter);
  return 0;
}
