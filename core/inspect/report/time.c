// SPDX-License-Identifier: MIT
// The modeled time of a kernel, and what limits it: modeled, not measured.
#include "inspect/report/inspection.h"
#include "model/gpu.h"
#include "model/kernel.h"
#include <math.h>

// The share of a stored sector that must be written for the model to be reliable.
static const double FULL = 0.75;

// Search spaces of autotuners (docs/dev/model_measured.md): on the A100, kernels that read an operand from shared memory for each
// multiply-add took this many times their modeled time. On four GPUs of other architectures, they did not.
static const double SHARED_ON_GA100 = 1.7;

static bool is_bound_by_shared_memory(const InspectKernel *k) {
  const double global = fmax(k->modeled.load_waves + k->modeled.store_waves, k->modeled.loads + k->modeled.stores);
  return inspect_longest(&k->time) == MODEL_L1 && k->modeled.shared_waves > global;
}

static void print_why(const InspectTime *t) {
  const double share = t->term[inspect_longest(t)];
  if (t->least > t->seconds / 2) {
    inspect_wrapped(2, "limited by its launch: the shortest kernel takes %.3g us, so it could do more in the same time",
                    1e6 * t->least / t->launches);
    return;
  }
  inspect_wrapped(2,
                  "limited by %s, which takes %.4g us by itself. In us: device memory %.3g, L2 %.3g, L1 and shared "
                  "memory %.3g, instructions %.3g, arithmetic %.3g, latency %.3g",
                  inspect_limit(t), 1e6 * share / t->launches, 1e6 * t->term[MODEL_DRAM] / t->launches,
                  1e6 * t->term[MODEL_L2] / t->launches, 1e6 * t->term[MODEL_L1] / t->launches,
                  1e6 * t->term[MODEL_ISSUE] / t->launches, 1e6 * t->term[MODEL_ARITHMETIC] / t->launches,
                  1e6 * t->term[MODEL_LATENCY] / t->launches);
}

void inspect_print_time(const Inspection *i, const InspectKernel *k) {
  const InspectTime *t = &k->time;
  const struct model_gpu *gpu = i->gpu ? model_gpu_named(i->gpu) : NULL;
  if (k->mixed && k->mix.fp32 + k->mix.fp64 > 0)
    inspect_wrapped(
        2, "computed: %.0f float32 instructions (%.0f multiply-adds), %.0f float64, %.0f integer, %.0f special",
        k->mix.fp32, k->mix.fma, k->mix.fp64, k->mix.integer, k->mix.special);
  if (!gpu || t->launches == 0)
    return;
  inspect_wrapped(2, "%s: %.4g us per launch, modeled, not measured (docs/model.md)", gpu->name,
                  1e6 * t->seconds / t->launches);
  print_why(t);
  inspect_wrapped(2, "%.0f resident blocks per SM%s; %.3g %% of the GPU occupied", t->resident,
                  i->resident && k->registers ? "" : ", registers not counted", 100 * t->share);
  const struct model_architecture *a = gpu->architecture;
  if (a->major == 8 && a->minor == 0 && is_bound_by_shared_memory(k))
    inspect_wrapped(2,
                    "It is limited by shared memory. On an A100, such kernels took %.1f times their modeled time "
                    "(docs/dev/model_measured.md).",
                    SHARED_ON_GA100);
  if (t->filled < FULL)
    inspect_wrapped(
        2,
        "Its stores fill %.0f %% of the sectors that they touch. The cost of such stores differs between GPUs by more "
        "than the model includes: on an H100, such a kernel took 1.9 times its modeled time.",
        100 * t->filled);
}
