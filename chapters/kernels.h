// What the chapters on kernels share: checked calls, the first line of output, headings, times and tables. CUDA C alone, so that
// `nvcc chapters/20_the_first_kernel.cu` builds a chapter; `make chapters` builds it for simulated devices. No lesson is in here.
#ifndef CHAPTERS_KERNELS_H
#define CHAPTERS_KERNELS_H

#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#define MAYBE_UNUSED __attribute__((unused)) // a chapter uses what it needs
#else
#define MAYBE_UNUSED
#endif

// ---- errors -------------------------------------------------------------------------------------------------------------

// Every function of the runtime returns an error: CHECK(cudaMalloc(&p, n)) ends the program where one is not cudaSuccess.
#define CHECK(call) check_((call), #call, __FILE__, __LINE__)

// After a launch, which returns nothing: whether it could begin.
#define CHECK_LAUNCH() check_(cudaGetLastError(), "the launch", __FILE__, __LINE__)

static MAYBE_UNUSED void check_(cudaError_t error, const char *what, const char *file, int line) {
  if (error != cudaSuccess) {
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, what, cudaGetErrorName(error), cudaGetErrorString(error));
    exit(1);
  }
}

// ---- the program --------------------------------------------------------------------------------------------------------

typedef struct Chapter {
  bool quick;     // --quick: small sizes
  bool simulated; // the device is a simulated one
  bool modeled;   // it plays a GPU (FERRY_SIM_GPU): times are modeled, and labeled so
  bool counted;   // ./ferry inspect runs the program: modeled times of kernels come from counts, elsewhere from a guess
} Chapter;

static MAYBE_UNUSED Chapter chapter_now_; // for the functions below

static MAYBE_UNUSED void chapter_refuse(const char *program, const char *what) {
  fprintf(stderr, "%s: %s\ntry %s --help\n", program, what, program);
  exit(2);
}

static MAYBE_UNUSED void chapter_help(const char *program, const char *title, const char *about) {
  printf("%s\n%s\n\n"
         "usage: %s [--device cuda|cuda:N] [--quick] [--help]\n"
         "  --device D  the device that the kernels run on; without it, the first\n"
         "  --quick     small sizes: done in a moment\n"
         "  --help      this text\n",
         title, about, program);
  exit(0);
}

// The number behind "cuda:", 0 for "cuda"; the CPU has no kernels.
static MAYBE_UNUSED void chapter_device(const char *program, const char *name) {
  int count = 0, number = 0, used = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    chapter_refuse(program, "there is no CUDA device here");
  if (strcmp(name, "cpu") == 0) {
    printf("--device cpu: kernels run on a CUDA device, so there is nothing to do.\n");
    exit(0);
  }
  bool named = strcmp(name, "cuda") == 0 || (sscanf(name, "cuda:%d%n", &number, &used) == 1 && !name[used]);
  if (!named || number < 0 || number >= count)
    chapter_refuse(program, "--device takes cuda, or cuda:N with the number of a device that is there");
  CHECK(cudaSetDevice(number));
}

static MAYBE_UNUSED void chapter_first_line(void) {
  cudaDeviceProp properties;
  int device = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&properties, device));
#ifdef FERRY_SIM
  const char *played = getenv("FERRY_SIM_GPU");
  chapter_now_.simulated = true;
  chapter_now_.modeled = played && *played;
#endif
#if defined CUDASIM_INSPECT || defined CUDASIM_DUAL_VERSION // what --blocks leaves alone is compiled beside the rest
  chapter_now_.counted = true;
#endif
  printf("device: cuda:%d, %s, %s\n", device, properties.name,
         !chapter_now_.simulated ? "a real GPU"
         : chapter_now_.modeled  ? "times are modeled, not measured"
                                 : "simulated: it has no times of a GPU");
}

// Reads the arguments (--help and bad ones end the program, with status 0 and 2), makes the device current and prints the line
// that names it. `about` is one sentence for --help.
static MAYBE_UNUSED Chapter chapter_begin(int argc, char **argv, const char *title, const char *about) {
  const char *device = "cuda";
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
      chapter_help(argv[0], title, about);
    else if (strcmp(argv[i], "--quick") == 0)
      chapter_now_.quick = true;
    else if (strncmp(argv[i], "--device=", 9) == 0)
      device = argv[i] + 9;
    else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
      device = argv[++i];
    else
      chapter_refuse(argv[0], "unknown argument, or one without its value");
  }
  chapter_device(argv[0], device);
  chapter_first_line();
  printf("\n%s\n", title);
  return chapter_now_;
}

// A section's announcement; sections number themselves.
static MAYBE_UNUSED void heading(const char *title) {
  static int number;
  printf("\n%d. %s\n\n", ++number, title);
  fflush(stdout);
}

// ---- times --------------------------------------------------------------------------------------------------------------

// Whether times say something here: on a GPU, and on a device that plays one. A table's column of times is left out elsewhere.
static MAYBE_UNUSED bool shows_times(void) {
  return !chapter_now_.simulated || chapter_now_.modeled;
}

// Runs the block and stores the device's milliseconds between its begin and its end, by two events of the default stream:
//   timed(milliseconds) { scale<<<blocks, threads>>>(x, n); }
#define timed(milliseconds) for (Timer timer_ = timer_start(); timer_.running; (milliseconds) = timer_stop(&timer_))

typedef struct Timer {
  cudaEvent_t begin, end;
  bool running;
} Timer;

static MAYBE_UNUSED Timer timer_start(void) {
  Timer timer = {NULL, NULL, true};
  CHECK(cudaEventCreate(&timer.begin));
  CHECK(cudaEventCreate(&timer.end));
  CHECK(cudaEventRecord(timer.begin));
  return timer;
}

static MAYBE_UNUSED float timer_stop(Timer *timer) {
  float milliseconds = 0;
  CHECK_LAUNCH();
  CHECK(cudaEventRecord(timer->end));
  CHECK(cudaEventSynchronize(timer->end));
  if (!chapter_now_.simulated ||
      chapter_now_.modeled) // a modeled time says on stderr what it is: only where it is shown
    CHECK(cudaEventElapsedTime(&milliseconds, timer->begin, timer->end));
  CHECK(cudaEventDestroy(timer->begin));
  CHECK(cudaEventDestroy(timer->end));
  timer->running = false;
  return milliseconds;
}

// ---- text and tables ----------------------------------------------------------------------------------------------------

// Any short text; it stays until sixteen further calls.
static MAYBE_UNUSED const char *text(const char *format, ...) {
  static char buffers[16][160];
  static int next;
  char *out = buffers[next++ % 16];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out, sizeof buffers[0], format, arguments);
  va_end(arguments);
  return out;
}

// "12.3 us" of a GPU; "12.3 us (modeled)" of a played one, with a ~ before it where its kernels were not counted; "-" of a
// simulated device that plays none, whose times say nothing.
static MAYBE_UNUSED const char *time_text(float milliseconds) {
  const char *label = chapter_now_.modeled ? " (modeled)" : "", *about = chapter_now_.counted ? "" : "~";
  if (!shows_times())
    return "-";
  if (milliseconds < 1)
    return text("%s%.1f us%s", chapter_now_.modeled ? about : "", 1e3 * (double)milliseconds, label);
  return text("%s%.2f ms%s", chapter_now_.modeled ? about : "", (double)milliseconds, label);
}

// Bytes moved in so many milliseconds, "812 GB/s"; "-" where there is no time.
static MAYBE_UNUSED const char *rate_text(double bytes, float milliseconds) {
  if (!shows_times() || milliseconds <= 0)
    return "-";
  return text("%.0f GB/s", bytes / 1e6 / (double)milliseconds);
}

// The width of each column, and a row of cells: the first flush left, the others flush right.
//   Table table = {3, {18, 12, 12}};
//   table_row(&table, "kernel", "launches", "time");
typedef struct Table {
  int columns;
  int width[8];
} Table;

static MAYBE_UNUSED void table_row(const Table *table, ...) {
  va_list cells;
  va_start(cells, table);
  for (int i = 0; i < table->columns; i++)
    printf(i == 0 ? "%-*s" : " %*s", table->width[i], va_arg(cells, const char *));
  va_end(cells);
  printf("\n");
}

#endif
