// SPDX-License-Identifier: MIT
// Exercise 2.1: the device for a wish, on machines that have it and on machines that have not.
#include "exercise.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Mistake NOT_ASKED = {
    "device availability not checked",
    "Before you return a device, use cuda_devices and mps_available to check that the machine has it.",
    "docs/02_device_check.md#errors-for-missing-devices"};
static const Mistake ONE_PAST = {
    "off-by-one device index",
    "If a machine has n devices, their indices are 0 to n - 1, so \"cuda:n\" does not exist.",
    "docs/02_device_check.md#errors-for-missing-devices"};
static const Mistake NUMBER_IGNORED = {"device index ignored",
                                       "\"cuda:1\" requests a particular GPU. Return this GPU if the machine has it.",
                                       "docs/02_device_check.md#choosing-a-gpu-by-index"};
static const Mistake ONE_DIGIT = {"only one digit parsed",
                                  "The index may have two digits. Parse both of them, as fy_device does.",
                                  "docs/02_device_check.md#choosing-a-gpu-by-index"};
static const Mistake STRAIGHT_TO_CPU = {"CPU instead of the best device",
                                        "If the requested GPU is missing, the machine may have a different GPU. Fall "
                                        "back to the best device, not to the CPU.",
                                        "docs/02_device_check.md#choosing-a-gpu-by-index"};
static const Mistake LAST_INSTEAD = {"last GPU instead of the first",
                                     "If the requested GPU is missing, return the same device as for \"auto\".",
                                     "docs/02_device_check.md#choosing-a-gpu-by-index"};
static const Mistake NO_MPS = {"MPS fallback missing",
                               "The order is cuda, mps, cpu. Check for mps before you return the CPU.",
                               "docs/02_device_check.md#device-agnostic-code"};
static const Mistake MPS_FIRST = {"MPS preferred to CUDA", "The order is cuda, mps, cpu. Check for CUDA first.",
                                  "docs/02_device_check.md#device-agnostic-code"};
static const Mistake CPU_REFUSED = {"CPU request overridden",
                                    "Return the CPU if it is requested, even on a machine with a GPU.",
                                    "docs/02_device_check.md#device-agnostic-code"};
static const Mistake CPU_ALWAYS = {
    "CPU for every request", "Your function returned the CPU for every request. Return a GPU if the machine has one.",
    "docs/02_device_check.md#device-agnostic-code"};
static const Mistake ASSUMED = {
    "hard-coded machine in device_here",
    "device_here assumes a fixed set of devices. Call fy_cuda_device_count() and fy_mps_is_available() instead.",
    "docs/02_device_check.md#detecting-a-gpu"};

static const Mistake TRIED = {
    "availability tested on this machine",
    "choose_device tests the devices of this machine. Use its arguments, which may describe a different machine.",
    "docs/02_device_check.md#device-agnostic-code"};

// ---- what right and wrong choices look like -----------------------------------------------------------------------

typedef struct Wish {
  const char *text;
  int kind; // 'a', 'p' (cpu), 'm' or 'c' (cuda)
  int number, cuda;
  bool mps, here;
} Wish;

typedef const char *Model(const Wish *w);

static const char *cuda_name(int number) {
  static char names[8][16];
  static int at;
  char *name = names[at++ % 8];
  snprintf(name, sizeof names[0], "cuda:%d", number < 0 ? 0 : number);
  return name;
}

static const char *best(const Wish *w) {
  return w->cuda > 0 ? "cuda:0" : w->mps ? "mps" : "cpu";
}

static const char *right(const Wish *w) {
  bool cuda = w->kind == 'c' && w->number < w->cuda && w->cuda > 0;
  return cuda ? cuda_name(w->number) : w->kind == 'p' ? "cpu" : w->kind == 'm' && w->mps ? "mps" : best(w);
}

static const char *not_asked(const Wish *w) {
  return w->kind == 'c' ? cuda_name(w->number) : w->kind == 'm' ? "mps" : right(w);
}
static const char *number_not_asked(const Wish *w) {
  return w->kind == 'c' && w->cuda > 0 ? cuda_name(w->number) : right(w);
}
static const char *auto_not_asked(const Wish *w) {
  return w->kind == 'a' ? "cuda:0" : not_asked(w);
}
static const char *always_cuda(const Wish *w) {
  (void)w;
  return "cuda:0";
}
static const char *one_past(const Wish *w) {
  return w->kind == 'c' && w->number == w->cuda && w->cuda > 0 ? cuda_name(w->number) : right(w);
}
static const char *one_past_even_of_none(const Wish *w) {
  return w->kind == 'c' && w->number <= w->cuda ? cuda_name(w->number) : right(w);
}
static const char *number_ignored(const Wish *w) {
  return w->kind == 'c' ? best(w) : right(w);
}
// The requested device if this machine has it.
static int devices_here;
static const char *tried_here(const Wish *w) {
  bool there = w->kind == 'p' || (w->kind == 'c' && w->number < devices_here && devices_here > 0);
  return there ? right(w) : best(w);
}
static const char *one_digit(const Wish *w) {
  Wish read = *w;
  read.number = w->number > 9 ? w->number / 10 : w->number;
  return right(&read);
}
static const char *straight_to_cpu(const Wish *w) {
  return w->kind == 'c' && (w->number >= w->cuda || w->cuda == 0) ? "cpu" : right(w);
}
static const char *only_numbers_to_cpu(const Wish *w) {
  return w->kind == 'c' && w->cuda > 0 && w->number >= w->cuda ? "cpu" : right(w);
}
static const char *all_refused_to_cpu(const Wish *w) {
  return w->kind == 'm' && !w->mps ? "cpu" : straight_to_cpu(w);
}
static const char *last_instead(const Wish *w) {
  return w->kind == 'c' && w->cuda > 0 && w->number >= w->cuda ? cuda_name(w->cuda - 1) : right(w);
}
static const char *no_cuda_to_cpu(const Wish *w) {
  return w->kind == 'c' && w->cuda == 0 ? "cpu" : right(w);
}
static const char *no_mps(const Wish *w) {
  Wish without = *w;
  without.mps = false;
  return w->kind == 'm' && w->mps ? "mps" : right(&without);
}
static const char *no_mps_at_all(const Wish *w) {
  Wish without = *w;
  without.mps = false;
  return right(&without);
}
static const char *mps_first(const Wish *w) {
  bool fallen = w->kind == 'a' || strcmp(right(w), best(w)) == 0;
  bool granted = w->kind == 'c' && w->number < w->cuda;
  return w->mps && fallen && !granted && w->kind != 'p' ? "mps" : right(w);
}
static const char *cpu_refused(const Wish *w) {
  return w->kind == 'p' ? best(w) : right(w);
}
static const char *cpu_always(const Wish *w) {
  (void)w;
  return "cpu";
}

// device_here as on a machine with `devices` of them.
static const char *assumed(const Wish *w, int devices) {
  Wish other = *w;
  if (w->here) {
    other.cuda = devices;
    other.mps = false;
  }
  return right(&other);
}
static const char *assumed_none(const Wish *w) {
  return assumed(w, 0);
}
static const char *assumed_one(const Wish *w) {
  return assumed(w, 1);
}
static const char *assumed_many(const Wish *w) {
  return assumed(w, 16);
}

static const struct {
  Model *model;
  const Mistake *mistake;
} wrong_ways[] = {
    // The specific ones first: on a machine with few devices the general ones look like them.
    {cpu_always, &CPU_ALWAYS},
    {one_past, &ONE_PAST},
    {one_past_even_of_none, &ONE_PAST},
    {one_digit, &ONE_DIGIT},
    {number_ignored, &NUMBER_IGNORED},
    {straight_to_cpu, &STRAIGHT_TO_CPU},
    {only_numbers_to_cpu, &STRAIGHT_TO_CPU},
    {all_refused_to_cpu, &STRAIGHT_TO_CPU},
    {last_instead, &LAST_INSTEAD},
    {no_mps, &NO_MPS},
    {no_cuda_to_cpu, &NO_MPS},
    {no_mps_at_all, &NO_MPS},
    {mps_first, &MPS_FIRST},
    {cpu_refused, &CPU_REFUSED},
    {assumed_none, &ASSUMED},
    {assumed_one, &ASSUMED},
    {assumed_many, &ASSUMED},
    {not_asked, &NOT_ASKED},
    {number_not_asked, &NOT_ASKED},
    {auto_not_asked, &NOT_ASKED},
    {always_cuda, &NOT_ASKED},
};

// ---- asking ------------------------------------------------------------------------------------------------------

static void numbered(char name[32], const char *what, int i) {
  snprintf(name, 32, "%s %d", what, i);
}

// `cuda` negative: on this machine.
static void wish(Case *c, int *count, const char *text, int cuda, bool mps) {
  char name[32];
  numbered(name, "request", *count);
  give_text(c, name, text);
  numbered(name, "cuda devices", *count);
  if (cuda >= 0) {
    give_number(c, name, cuda);
    numbered(name, "mps", *count);
    give_number(c, name, mps);
  }
  ++*count;
}

static void wish_number(Case *c, int *count, int number, int cuda, bool mps) {
  char text[32];
  snprintf(text, sizeof text, "cuda:%d", number);
  wish(c, count, text, cuda, mps);
}

static void ask_gpus(Case *c) {
  int n = 0, cuda = (int)draw_int(c, 3, 9);
  wish(c, &n, "auto", cuda, false);
  wish(c, &n, "cpu", cuda, false);
  wish(c, &n, "cuda", cuda, false);
  wish(c, &n, "mps", cuda, false);
  wish_number(c, &n, (int)draw_int(c, 1, cuda - 1), cuda, false);
  wish_number(c, &n, cuda - 1, cuda, false);
  wish_number(c, &n, 0, 1, false);
  wish_number(c, &n, (int)draw_int(c, 12, 15), 16, false);
  give_number(c, "requests", n);
}

static void ask_absent(Case *c) {
  int n = 0, cuda = (int)draw_int(c, 2, 8);
  wish_number(c, &n, cuda, cuda, false);
  wish_number(c, &n, cuda + (int)draw_int(c, 1, 50), cuda, false);
  wish_number(c, &n, 1, 1, false);
  wish_number(c, &n, 1, cuda, false);                     // present
  wish_number(c, &n, (int)draw_int(c, 20, 29), 3, false); // reads as 2 if only one digit is parsed
  wish_number(c, &n, 0, 0, false);
  wish(c, &n, "cuda", 0, false);
  wish(c, &n, "auto", 0, false);
  wish(c, &n, "mps", 0, false);
  give_number(c, "requests", n);
}

static void ask_apple(Case *c) {
  int n = 0, cuda = (int)draw_int(c, 2, 5);
  wish(c, &n, "auto", 0, true);
  wish(c, &n, "mps", 0, true);
  wish(c, &n, "cpu", 0, true);
  wish(c, &n, "cuda", 0, true);
  wish_number(c, &n, (int)draw_int(c, 0, 3), 0, true);
  wish(c, &n, "auto", cuda, true);
  wish(c, &n, "mps", cuda, true);
  wish_number(c, &n, cuda, cuda, true);
  wish_number(c, &n, cuda - 1, cuda, true);
  give_number(c, "requests", n);
}

static void wish_here(Case *c, int *n) {
  wish(c, n, "auto", -1, false);
  wish(c, n, "cuda", -1, false);
  wish(c, n, "mps", -1, false);
  wish_number(c, n, 0, -1, false);
  wish_number(c, n, (int)draw_int(c, 20, 60), -1, false);
  wish_number(c, n, case_devices(c), -1, false);
  wish(c, n, "cpu", -1, false);
}

// After the requests to this machine come DESCRIBED ones, which tell a wrong choose_device from a wrong device_here.
enum { DESCRIBED = 3 };

static void wish_described(Case *c, int *n) {
  wish_number(c, n, 1, 2, false);
  wish(c, n, "auto", 0, true);
  wish_number(c, n, 2, 2, false);
}

static void ask_here(Case *c) {
  int n = 0;
  wish_here(c, &n);
  wish_described(c, &n);
  give_number(c, "requests", n);
}

static void ask_several_here(Case *c) {
  int n = 0;
  wish_number(c, &n, case_devices(c) - 1, -1, false);
  wish_number(c, &n, 1, -1, false);
  wish_here(c, &n);
  wish_described(c, &n);
  give_number(c, "requests", n);
}

// ---- judging -----------------------------------------------------------------------------------------------------

static Wish wish_at(const Case *c, int i, bool here) {
  char name[32];
  numbered(name, "request", i);
  Wish w = {.text = given_text(c, name), .number = -1, .cuda = case_devices(c), .here = here};
  w.kind = strcmp(w.text, "cpu") == 0 ? 'p' : w.text[0];
  if (w.kind == 'c' && w.text[4] == ':')
    w.number = atoi(w.text + 5);
  if (!here) {
    numbered(name, "cuda devices", i);
    w.cuda = (int)given_number(c, name);
    numbered(name, "mps", i);
    w.mps = given_number(c, name) != 0;
  }
  return w;
}

static const char *chosen(const Case *c, int i) {
  char name[32];
  numbered(name, "device", i);
  const char *device = got_text(c, name);
  return strcmp(device, "cuda") == 0 ? "cuda:0" : device;
}

// Did the answer choose as `model` does? After an error: as far as it ran, that choice included.
static bool behaves(const Case *c, Model *model, int from, int to) {
  int count = (int)given_number(c, "requests");
  bool different = false;
  for (int i = 0; i < count; i++) {
    Wish w = wish_at(c, i, i >= from && i < to);
    if (!*chosen(c, i))
      break;
    if (strcmp(chosen(c, i), model(&w)) != 0)
      return false;
    different |= strcmp(model(&w), right(&w)) != 0;
  }
  return different;
}

// Requests `from` to `to` were made to this machine.
static void judge_all(Case *c, int from, int to) {
  devices_here = case_devices(c);
  const bool tried = got_number(c, "tried") == 1 && behaves(c, tried_here, from, to);
  suspect_that(c, tried, &TRIED);
  for (size_t k = 0; k < sizeof wrong_ways / sizeof wrong_ways[0]; k++)
    suspect_that(c, behaves(c, wrong_ways[k].model, from, to), wrong_ways[k].mistake);
  for (int i = 0; i < (int)given_number(c, "requests"); i++) {
    bool here = i >= from && i < to;
    Wish w = wish_at(c, i, here);
    const char *want = right(&w);
    char name[32];
    if (!expect_that(c, strcmp(chosen(c, i), want) == 0, NULL,
                     "\"%s\" with %d CUDA devices and %s%s: expected %s, got %.40s", w.text, w.cuda,
                     w.mps ? "mps" : "no mps", here ? " (this machine)" : "", want, chosen(c, i)))
      return;
    numbered(name, "tensor", i);
    if (here && !expect_device(c, name, want, NULL))
      return;
  }
}

static void judge(Case *c) {
  judge_all(c, 0, 0);
}
static void judge_here(Case *c) {
  judge_all(c, 0, (int)given_number(c, "requests") - DESCRIBED);
}

EXERCISE = {
    .id = "02_1_choose_a_device",
    .title = "Choose a device",
    .after_pass = "The program chooses its device once, at the start. The rest of the code is device-agnostic.",
    .kind = "write",
    .chapter = 2,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/02_device_check.md#device-agnostic-code",
    .hints = {"First determine the best device from cuda_devices and mps_available: cuda, otherwise mps, otherwise "
              "cpu. Return it for \"auto\".",
              "fy_device(requested) parses every other request. Its result has the fields .type and .index. For plain "
              "\"cuda\", .index is -1.",
              "Return the requested device if it is the CPU, if it is mps and mps is available, or if it is cuda with "
              "cuda_devices > 0 and .index < cuda_devices. Otherwise, return the best device.",
              "device_here returns choose_device(requested, fy_cuda_device_count(), fy_mps_is_available())."},
    .functions = {"choose_device", "device_here"},
    .tests = {{"machines with GPUs", ask_gpus, .judge = judge},
              {"a missing device", ask_absent, .judge = judge},
              {"machines with mps", ask_apple, .judge = judge},
              {"this machine", ask_here, .judge = judge_here},
              {"this machine with several GPUs", ask_several_here, judge_here, .devices = 2},
              {"this machine without CUDA", ask_here, .judge = judge_here, .no_cuda = true}},
};
