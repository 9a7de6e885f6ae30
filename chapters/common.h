// What the chapters share: arguments, the first line of output, headings, times and tables. No lesson is in here.
#ifndef CHAPTERS_COMMON_H
#define CHAPTERS_COMMON_H

#include "ferry.h"

typedef struct Chapter {
  FyDevice device; // --device; without it cuda where there is one, else cpu. Its index is always resolved
  bool quick;      // --quick: small sizes
  bool simulated;  // the device is a simulated one, so its times are not a GPU's, but for a modeled one's
  bool modeled;    // it plays a GPU (FERRY_SIM_GPU): times on it are modeled, and shown with fy_cuda_model()
  bool gpu;        // the device is a real GPU
} Chapter;

// Reads the arguments (--help and bad ones end the program, with status 0 and 2), makes the device current, seeds the
// random numbers and prints the line that names the device. `about` is one sentence for --help.
Chapter chapter_begin(int argc, char **argv, const char *title, const char *about);

// An option that one chapter alone has.
typedef struct ChapterOption {
  const char *name, *help; // "--epochs", "how often the data is gone through"
  const char *value;  // "N": a whole number, "X": a number, "none|step": one of those, other text: any; NULL: a switch
  const char **text;  // gets what stands after the option; a switch's own name
  double least, most; // of a number
} ChapterOption;

// chapter_begin with `count` further options.
Chapter chapter_begin_with(int argc, char **argv, const char *title, const char *about, int count,
                           const ChapterOption *options);

// Says on standard error what is wrong with the arguments and ends the program with status 2.
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A section's announcement; sections number themselves.
void heading(const char *title);

// One of three sizes: for --quick, for a CPU or a simulated device, for a real GPU.
int64_t size_for(const Chapter *chapter, int64_t quick, int64_t usual, int64_t gpu);

// Python's True and False.
const char *truth(bool value);

// Prints a trapped error as Python would ("RuntimeError: ..."), or that none was raised.
void show_error(const FyError *error);

// ---- time -----------------------------------------------------------------------------------------------------------

// time.perf_counter(): seconds of a clock that never goes back; for a device that plays a GPU, of the modeled clock.
double seconds_now(FyDevice device);

// Runs the block and stores its seconds. The device is synchronized before and after, so that the time is that of the
// block's work, all of it and nothing else:
//   timed(seconds, device) { fy_matmul(a, b); }
#define timed(seconds, device)                                                                                         \
  for (Stopwatch stopwatch_ = stopwatch_start(device); stopwatch_.running; (seconds) = stopwatch_stop(&stopwatch_))

typedef struct Stopwatch {
  FyDevice device;
  double start;
  bool running;
} Stopwatch;
Stopwatch stopwatch_start(FyDevice device);
double stopwatch_stop(Stopwatch *stopwatch);

// The times of `repeats` synchronized runs of work(context), after one that does not count. The median is what a run
// takes; the best is what the machine can do, since whatever disturbs a run only makes it longer.
typedef struct Seconds {
  double median, best;
} Seconds;
Seconds seconds_of(FyDevice device, int repeats, void (*work)(void *context), void *context);

// "3.21 ms", with " (simulated)" behind it when the device is a simulated one, " (modeled)" when that plays a GPU. Like the two below, the text stays valid
// until eight further calls.
const char *time_text(FyDevice device, double seconds);
// The same for what the host measured by its own clock, a profile's CPU times: never modeled, whatever the device plays.
const char *host_time_text(FyDevice device, double seconds);
const char *bytes_text(double bytes);                                            // "4.2 MB", powers of 1000
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2))); // any short cell of a table

// ---- tables ---------------------------------------------------------------------------------------------------------

typedef struct Column {
  const char *title;
  int width; // at least; a longer cell pushes the rest of its row
} Column;

typedef struct Table {
  int columns;
  Column column[8];
} Table;

// Prints the titles; rows follow with table_row. The first column is flush left, the others flush right.
//   Table table = table_begin({"n", 6}, {"CPU", 12});
//   table_row(&table, "64", "1.2 ms");
#define table_begin(...)                                                                                               \
  table_begin_((int)(sizeof((Column[]){__VA_ARGS__}) / sizeof(Column)), (const Column[]){__VA_ARGS__})
Table table_begin_(int columns, const Column *column);
#define table_row(table, ...) table_row_((table), (const char *const[]){__VA_ARGS__})
void table_row_(const Table *table, const char *const *cells);

#endif
