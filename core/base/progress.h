// SPDX-License-Identifier: MIT
// Shows the progress of a long loop, like tqdm: a progress bar on a terminal, plain lines elsewhere.
//
//   FyProgress bar = fy_progress_begin("epoch 1/3", fy_loader_samples(loader), "samples");
//   fy_for_batches(batch, loader) {
//     ...
//     fy_progress_add(&bar, batch.size);
//     if (fy_progress_due(&bar)) fy_progress_show(&bar, "loss %.4f", fy_item(loss));
//   }
//   fy_progress_end(&bar, "loss %.4f", mean);
//
// On a terminal, it is one line with the label, the bar, your text, the rate and the remaining time, redrawn at most
// ten times per second. Elsewhere, it prints a plain line at most every ten seconds and one at the end, so that a log
// stays short. It uses color only on a terminal, and not if NO_COLOR is set or TERM is "dumb". All output goes to
// standard output.
#ifndef FERRY_BASE_PROGRESS_H
#define FERRY_BASE_PROGRESS_H

#include "base/error.h"
#include <stdint.h>

typedef struct FyProgress {
  const char *label, *unit; // borrowed
  int64_t total, done;
  double start, shown; // in seconds: the times of the beginning and of the last output
  bool terminal, color;
} FyProgress;

// Starts a progress display of `total` units ("samples", "steps"). Label and unit are borrowed until fy_progress_end.
// fy_progress_add adds to the units that are done.
FY_API FyProgress fy_progress_begin(const char *label, int64_t total, const char *unit);
FY_API void fy_progress_add(FyProgress *progress, int64_t units);

// Returns whether it is time to show the progress again. This call is cheap, but reading a loss from a device is not:
// read the loss only if the function returns true. fy_progress_show shows the progress with your text.
FY_API bool fy_progress_due(const FyProgress *progress);
FY_API void fy_progress_show(FyProgress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Shows the last line, which stays visible, with the total time instead of the remaining time. Show nothing after it.
FY_API void fy_progress_end(FyProgress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Returns the units per second since the beginning.
FY_API double fy_progress_rate(const FyProgress *progress);

#endif
