// SPDX-License-Identifier: MIT
#include "score.h"
#include "inspect/report/inspection.h"
#include "model/gpu.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double UM = 1e6;   // microseconds in a second
static const double SEEN = 0.9; // of the least that an answer does: the last round of a loop is short in some blocks
static const double ROUNDED = 1e-6;
static const double UNEVEN = 1.1; // the blocks that nobody looked at, beside those that were

const Scored *exercise_scored(const Exercise *e) {
  for (int i = 0; e->open && i < MAX_TESTS && e->tests[i].name; i++)
    if (e->tests[i].scored)
      return e->tests[i].scored;
  return NULL;
}

int score_most_stars(const Scored *s) {
  int most = 0;
  while (most < MAX_STARS && s->steps[most] > 0)
    most++;
  return most;
}

int score_stars_of(const Scored *s, double seconds) {
  int stars = 0;
  while (stars < score_most_stars(s) && s->naive / seconds >= s->steps[stars] * (1 - ROUNDED))
    stars++;
  return stars;
}

void score_time(char *text, size_t bytes, double seconds) {
  snprintf(text, bytes, UM * seconds < 1000 ? "%.3g us" : "%.0f us", UM * seconds);
}

void score_stars(char *text, size_t bytes, const Scored *s, int stars) {
  size_t used = 0;
  for (int i = 0; i < score_most_stars(s) && used + 1 < bytes; i++)
    text[used++] = i < stars ? '*' : '.';
  text[used] = '\0';
}

const char *score_gpu(const Scored *s) {
  const struct model_gpu *gpu = model_gpu_named(s->gpu);
  return gpu ? gpu->name : s->gpu;
}

static const Mistake UNEQUAL = {"unequal work per block",
                                "The score comes from a sample of the blocks of each launch, and the other blocks do "
                                "more work than those. Give all blocks the same amount of work.",
                                "docs/inspector.md#options"};

// ---- judging -------------------------------------------------------------------------------------------------------------

// What the kernels were seen to do, the blocks that nobody looked at included.
typedef struct Work {
  double loaded, stored, computed, seconds, launches;
  bool mixed;
  const InspectKernel *longest;
} Work;

static double bytes_of(const InspectKernel *k, AccessKind kind) {
  double sectors = 0;
  for (int n = 0; n < k->line_count; n++)
    sectors += (double)k->lines[n].access[GLOBAL][kind].units;
  return 32 * sectors;
}

static Work work_of(const Inspection *i) {
  Work w = {.mixed = true};
  for (int n = 0; n < i->kernel_count; n++) {
    const InspectKernel *k = &i->kernels[n];
    const double more = k->instrumented ? (double)k->blocks / (double)k->instrumented : 0;
    w.loaded += more * bytes_of(k, LOAD);
    w.stored += more * (bytes_of(k, STORE) + bytes_of(k, ATOMIC));
    w.computed += more * (k->mix.fma + k->mix.fp32 + k->mix.fp64);
    w.mixed &= k->mixed;
    w.seconds += k->time.seconds;
    w.launches += k->time.launches;
    if (!w.longest || k->time.seconds > w.longest->time.seconds)
      w.longest = k;
  }
  return w;
}

static bool has_done(Case *c, const char *what, const char *unit, double seen, double least) {
  if (seen >= SEEN * least)
    return true;
  case_fail(
      c, NULL,
      "the inspector saw %.3g million %s %s, but a correct answer needs at least %.3g million. Work that the inspector "
      "does not see cannot be scored",
      seen / 1e6, unit, what, least / 1e6);
  return false;
}

static bool all_was_seen(Case *c, const Work *w, Least least) {
  const Counts *n = counts(c);
  if (w->launches != (double)n->launches || !w->longest || !(w->seconds > 0) || !isfinite(w->seconds)) {
    case_fail(c, NULL, "%lld kernels were launched, but the inspector has times for %.0f", (long long)n->launches,
              w->launches);
    return false;
  }
  if (!expect_exactly(c, "copies, fills and products beside the kernels", n->operations - n->launches, 0, NULL))
    return false;
  for (int i = 0; i < c->inspection->kernel_count; i++) {
    const InspectKernel *k = &c->inspection->kernels[i];
    if (!expect_that(c, k->time.uneven <= UNEVEN, &UNEQUAL,
                     "the blocks of %s did %.2f times the work that the instrumented blocks represent", k->name,
                     k->time.uneven))
      return false;
  }
  return has_done(c, "loaded", "bytes", w->loaded, least.loaded) &&
         has_done(c, "stored", "bytes", w->stored, least.stored) &&
         (!w->mixed || has_done(c, "executed", "float32 instructions", w->computed, least.computed));
}

bool expect_score(Case *c, Least least, const Mistake *slow) {
  const Scored *s = c->test->scored;
  if (!c->inspection || !s)
    return true;
  if (!expect_no_finding(c))
    return false;
  const Work w = work_of(c->inspection);
  if (!all_was_seen(c, &w, least))
    return false;
  const double naive = s->naive * (least.share > 0 ? least.share : 1), ratio = naive / w.seconds;
  Score score = {.seconds = w.seconds, .stars = score_stars_of(s, w.seconds)};
  snprintf(score.limit, sizeof score.limit, "%s", inspect_limit(&w.longest->time));
  if (least.share <= 0)
    c->score = score;
  if (ratio >= s->steps[0] * (1 - ROUNDED))
    return true;
  char yours[32], handed[32];
  score_time(yours, sizeof yours, w.seconds);
  score_time(handed, sizeof handed, naive);
  if (!c->fallback)
    c->fallback = slow;
  case_fail(c, NULL,
            "%s on %s, modeled: %.2f times as fast as the original file (%s); expected at least %.2f times\n"
            "limited by %s",
            yours, score_gpu(s), ratio, handed, s->steps[0], score.limit);
  return false;
}
