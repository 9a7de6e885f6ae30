// Chapter 4: benchmarks.
//
// How long does a matrix product take on the CPU, and how long on the device? Measuring that is easy to get wrong: a
// GPU still works after the call has returned, its first call pays for initialization, and small work does not repay
// the transfer.
//
// The lesson is docs/04_benchmarks.md.
#include "common.h"

#include <stdio.h>

// An operation and what it takes, on one device.
typedef struct Work {
  FyTensor *(*operation)(FyTensor *a, FyTensor *b);
  FyTensor *a, *b;
} Work;

static void do_work(void *context) {
  Work *work = context;
  work->operation(work->a, work->b);
}

static void about_times(const Chapter *chapter) {
  if (chapter->modeled) {
    printf("Times of %s are %s.\nThe CPU's are measured.\n", fy_device_name_of(chapter->device), fy_cuda_model());
  } else if (chapter->simulated) {
    printf("Times of %s are marked (simulated): they are this CPU playing a GPU, and are compared with nothing.\n",
           fy_device_name_of(chapter->device));
  } else if (!chapter->gpu) {
    printf("There is one device here, the CPU, so the second number of each pair is the CPU's again.\n");
  }
}

// [difference]
// PyTorch: torch.abs(result_cpu - result_gpu.cpu()).max().item()
static double largest_difference(FyTensor *result_cpu, FyTensor *result_device) {
  return fy_item(fy_max(fy_abs(fy_sub(result_cpu, fy_cpu(result_device)))));
}
// [end]

// ---- one product, with care -----------------------------------------------------------------------------------------

// [benchmark]
static void one_large_product(const Chapter *chapter) {
  heading("One large product on both");
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 192, 1024, 10000);
  FyTensor *a_cpu = fy_randn(fy_shape(n, n)); // PyTorch: torch.randn(size, size)
  FyTensor *b_cpu = fy_randn(fy_shape(n, n));
  FyTensor *a = fy_to(a_cpu, device); // PyTorch: a_cpu.to(device)
  FyTensor *b = fy_to(b_cpu, device);

  double first = 0, second = 0, cpu = 0;
  timed(first, device) { // the first call initializes libraries, allocates memory, loads kernels
    fy_matmul(a, b);
  }
  FyTensor *result = NULL;
  timed(second, device) { // synchronizes, starts the clock, runs this, synchronizes, stops it
    result = fy_matmul(a, b);
  }
  FyTensor *result_cpu = fy_matmul(a_cpu, b_cpu); // the CPU also gets a warm-up
  timed(cpu, FY_CPU_DEVICE) {
    result_cpu = fy_matmul(a_cpu, b_cpu);
  }
  printf("(%lld, %lld) @ (%lld, %lld)\n", (long long)n, (long long)n, (long long)n, (long long)n);
  printf("  cpu:               %s\n", time_text(FY_CPU_DEVICE, cpu));
  printf("  %s, first call:  %s\n", fy_device_name_of(device), time_text(device, first));
  printf("  %s, second call: %s\n", fy_device_name_of(device), time_text(device, second));
  if (chapter->gpu) {
    printf("  the GPU was %.1f times as fast\n", cpu / second);
  }
  printf("Maximum difference between the results: %.3g\n", largest_difference(result_cpu, result));
}
// [end]

// ---- the clock that stops too early ---------------------------------------------------------------------------------

// [nosync]
static void without_synchronizing(const Chapter *chapter) {
  heading("The same without synchronizing");
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 192, 768, 8192);
  FyTensor *a = fy_randn(fy_shape(n, n), .device = device);
  FyTensor *b = fy_randn(fy_shape(n, n), .device = device);
  fy_matmul(a, b);
  fy_synchronize(device); // warmed up, and nothing is pending

  double start = seconds_now(device);
  fy_matmul(a, b); // the call returns when the work is enqueued
  double queued = seconds_now(device) - start;
  fy_synchronize(device); // PyTorch: torch.cuda.synchronize()
  double finished = seconds_now(device) - start;
  printf("clock stopped when the call returned:    %s\n", time_text(device, queued));
  printf("clock stopped after synchronizing:       %s\n", time_text(device, finished));
  if (device.type == FY_CUDA) {
    printf("The first is only the time to queue the work: %.1f %% of the truth, and it hardly grows with n.\n",
           100 * queued / finished);
  } else {
    printf("On the CPU the call returns when the work is done, so both tell the truth.\n");
  }
}
// [end]

// [before]
// Synchronizing only at the end is not enough: this clock also measures work that was enqueued earlier.
static void with_work_still_pending(const Chapter *chapter) {
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 192, 768, 8192);
  FyTensor *a = fy_randn(fy_shape(n, n), .device = device);
  FyTensor *small = fy_randn(fy_shape(1000), .device = device);
  fy_mul_scalar(small, 2);
  fy_synchronize(device);

  fy_matmul(a, a); // earlier work, still pending
  double start = seconds_now(device);
  fy_mul_scalar(small, 2); // the work that we want to measure
  fy_synchronize(device);
  double busy = seconds_now(device) - start;

  double idle = 0;
  timed(idle, device) { // synchronizes before it starts the clock
    fy_mul_scalar(small, 2);
  }
  printf("\n1000 numbers doubled, clock started while a product was pending: %s\n", time_text(device, busy));
  printf("1000 numbers doubled, clock started on an idle device:           %s\n", time_text(device, idle));
}
// [end]

// [events]
// The device's own clock: two events on the stream, before and after the work.
static void time_with_events(const Chapter *chapter) {
  heading("The device's own clock: events");
  FyDevice device = chapter->device;
  if (device.type != FY_CUDA) {
    printf("Events belong to CUDA; the CPU has none.\n");
    return;
  }
  int64_t n = size_for(chapter, 192, 768, 8192);
  FyTensor *a = fy_randn(fy_shape(n, n), .device = device);
  fy_matmul(a, a);
  FyEvent *start = fy_event_new(true); // PyTorch: torch.cuda.Event(enable_timing=True)
  FyEvent *end = fy_event_new(true);
  FyStream *stream = fy_current_stream(device);
  fy_event_record(start, stream); // PyTorch: start.record()
  fy_matmul(a, a);
  fy_event_record(end, stream);                            // PyTorch: end.record()
  fy_event_synchronize(end);                               // PyTorch: end.synchronize()
  double milliseconds = fy_event_elapsed_time(start, end); // PyTorch: start.elapsed_time(end)
  printf("between the two events: %s\n", time_text(device, milliseconds / 1000));
}
// [end]

// ---- from small to large --------------------------------------------------------------------------------------------

static const char *winner(const Chapter *chapter, double cpu, double device, double device_with_moves) {
  if (!chapter->gpu && !chapter->modeled) {
    return "-";
  }
  return cpu < device ? "cpu" : cpu < device_with_moves ? "gpu, cpu with moves" : "gpu";
}

// [sweep]
// Copies the inputs to the device, computes, and copies the result back.
static void carry_and_work(void *context) {
  Work *work = context; // on the CPU
  FyDevice device = {FY_CUDA, -1};
  fy_cpu(work->operation(fy_to(work->a, device), fy_to(work->b, device)));
}

static void one_row(const Chapter *chapter, const Table *table, int64_t n, Work host, int repeats) {
  FyDevice device = chapter->device;
  Work on_device = {host.operation, fy_to(host.a, device), fy_to(host.b, device)};
  double cpu = seconds_of(FY_CPU_DEVICE, repeats, do_work, &host).median;
  double resident = seconds_of(device, repeats, do_work, &on_device).median;
  double round_trip = device.type == FY_CUDA ? seconds_of(device, repeats, carry_and_work, &host).median : resident;
  double difference = largest_difference(host.operation(host.a, host.b), on_device.operation(on_device.a, on_device.b));
  table_row(table, text("%lld", (long long)n), time_text(FY_CPU_DEVICE, cpu), time_text(device, resident),
            time_text(device, round_trip), text("%.1e", difference), winner(chapter, cpu, resident, round_trip));
}

static Table sweep_table(const char *first) {
  return table_begin({first, 6}, {"cpu", 10}, {"device", 22}, {"with both moves", 22}, {"difference", 10},
                     {"faster", 8});
}

static void from_small_to_large(const Chapter *chapter) {
  heading("From small to large");
  static const int64_t sizes[] = {8, 32, 128, 256, 512, 1000, 2000, 5000};
  int64_t largest = size_for(chapter, 128, 1000, 5000);
  Table table = sweep_table("n");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
    fy_scope {
      int64_t n = sizes[i];
      Work product = {fy_matmul, fy_randn(fy_shape(n, n)), fy_randn(fy_shape(n, n))};
      one_row(chapter, &table, n, product, n <= 256 ? 9 : n <= 2000 ? 3 : 1);
    }
  }
  if (chapter->gpu || chapter->modeled) {
    printf("\nSmall products are over on the CPU before the GPU has been told; large ones repay the move.\n");
  } else {
    printf("\nWhich is faster is left open: it takes a GPU to say.\n");
  }
}
// [end]

// [convolution]
// PyTorch: F.conv2d(images, filters, padding=1)
static FyTensor *convolve(FyTensor *images, FyTensor *filters) {
  return fy_conv2d(images, filters, NULL, .padding = 1);
}

// 64 filters of 3 x 3 over images of 28 x 28 with 32 channels, as in the middle of a small network.
static void more_and_more_pictures(const Chapter *chapter) {
  heading("A convolution over more and more pictures");
  int64_t largest = size_for(chapter, 8, 64, 512);
  Table table = sweep_table("batch");
  for (int64_t batch = 1; batch <= largest; batch *= batch < 8 ? 8 : 4) {
    fy_scope {
      Work convolution = {convolve, fy_randn(fy_shape(batch, 32, 28, 28)), fy_randn(fy_shape(64, 32, 3, 3))};
      one_row(chapter, &table, batch, convolution, batch <= 32 ? 5 : 3);
    }
  }
}
// [end]

// ---- where the time goes --------------------------------------------------------------------------------------------

// [stages]
static void where_the_time_goes(const Chapter *chapter) {
  heading("Where the time of a round trip goes");
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 128, 512, 5000);
  FyTensor *a_cpu = fy_randn(fy_shape(n, n));
  FyTensor *b_cpu = fy_randn(fy_shape(n, n));
  FyTensor *a = NULL, *b = NULL, *c = NULL;
  double to_device = 0, product = 0, to_host = 0, cpu = 0;
  timed(to_device, device) {
    a = fy_to(a_cpu, device);
    b = fy_to(b_cpu, device);
  }
  fy_matmul(a, b); // warm-up
  timed(product, device) {
    c = fy_matmul(a, b);
  }
  timed(to_host, device) {
    c = fy_cpu(c);
  }
  timed(cpu, FY_CPU_DEVICE) {
    fy_matmul(a_cpu, b_cpu);
  }
  printf("n = %lld, %s per matrix\n", (long long)n, bytes_text((double)fy_nbytes(a_cpu)));
  printf("  two matrices to %s: %s\n", fy_device_name_of(device), time_text(device, to_device));
  printf("  the product there:      %s\n", time_text(device, product));
  printf("  the result back:        %s\n", time_text(device, to_host));
  printf("  the product on the cpu: %s\n", time_text(FY_CPU_DEVICE, cpu));
  if (chapter->modeled) {
    printf("By the model the GPU's product alone is %.1f times as fast as this CPU's; with the moves: %.1f times.\n",
           cpu / product, cpu / (to_device + product + to_host));
  } else if (chapter->gpu) {
    printf("The GPU's product alone: %.1f times as fast; with the moves: %.1f times.\n", cpu / product,
           cpu / (to_device + product + to_host));
  }
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 4: benchmarks", "Measuring CPU and device, and how not to.");
  about_times(&chapter);
  fy_scope {
    one_large_product(&chapter);
  }
  fy_scope {
    without_synchronizing(&chapter);
    with_work_still_pending(&chapter);
    time_with_events(&chapter);
  }
  from_small_to_large(&chapter);
  more_and_more_pictures(&chapter);
  fy_scope {
    where_the_time_goes(&chapter);
  }
  return 0;
}
