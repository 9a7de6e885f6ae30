// SPDX-License-Identifier: MIT
// How far a long loop is: a bar on a terminal, plain lines elsewhere (tqdm).
//
//   FyProgress bar = fy_progress_begin("epoch 1/3", fy_loader_samples(loader), "samples");
//   fy_for_batches(batch, loader) {
//     ...
//     fy_progress_add(&bar, batch.size);
//     if (fy_progress_due(&bar)) fy_progress_show(&bar, "loss %.4f", fy_item(loss));
//   }
//   fy_progress_end(&bar, "loss %.4f", mean);
//
// On a terminal: one line, redrawn at most ten times a second: label, bar, the text, rate and time left. Elsewhere: a plain
// line at most every ten seconds (and at the end), so that a log stays short. Color only on a terminal, and not when
// NO_COLOR is set or TERM is "dumb". Everything goes to standard output.
#ifndef FERRY_BASE_PROGRESS_H
#define FERRY_BASE_PROGRESS_H

#include "base/error.h"
#include <stdint.h>

typedef struct FyProgress {
  const char *label, *unit; // borrowed
  int64_t total, done;
  double start, shown; // seconds of the clock: the beginning, and when something was printed last
  bool terminal, color;
} FyProgress;

// `total` in units ("samples", "steps"); label and unit are borrowed until the end.
FY_API FyProgress fy_progress_begin(const char *label, int64_t total, const char *unit);
FY_API void fy_progress_add(FyProgress *progress, int64_t units);

// Is it time to show something? Asking is cheap, and reading a loss from a device is not: do it only when this is true.
FY_API bool fy_progress_due(const FyProgress *progress);
FY_API void fy_progress_show(FyProgress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The last line: it stays, with the whole time in place of the time left. Nothing is shown after it.
FY_API void fy_progress_end(FyProgress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Units per second since the beginning.
FY_API double fy_progress_rate(const FyProgress *progress);

#endif
