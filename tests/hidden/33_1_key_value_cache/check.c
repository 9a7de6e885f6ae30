// SPDX-License-Identifier: MIT
// Exercise 33.1: causal attention whose keys and values stay in a cache. Each call is computed in plain loops from the tokens so far.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LESSON "docs/33_gpt.md#the-keyvalue-cache"
#define MASK "docs/33_gpt.md#causal-attention"

static const Mistake NO_MASK = {"causal mask missing",
                                "A new token looked at new tokens after it. New token i may look at tokens 0 to used "
                                "+ i: set the scores of the others to -INFINITY.",
                                MASK};
static const Mistake SHIFTED = {"causal mask without the offset",
                                "New token i looked at tokens 0 to i of the cache. It is token used + i of the text, "
                                "so it may look at tokens 0 to used + i.",
                                LESSON};
static const Mistake NOT_ITSELF = {
    "token masked for itself",
    "A token did not look at itself. New token i may look at tokens 0 to used + i, including used + i.", MASK};
static const Mistake PAST_HIDDEN = {
    "causal mask reversed",
    "The tokens looked at later tokens instead of earlier ones. Hide token j from new token i if j > used + i.", MASK};
static const Mistake NEW_ONLY = {"cached tokens not used",
                                 "The new tokens looked only at each other. Multiply q by the keys of all used + n "
                                 "tokens, which are in the cache.",
                                 LESSON};
static const Mistake NEW_LEFT_OUT = {"new tokens not in the keys",
                                     "The new tokens looked only at the tokens that were in the cache before. Store "
                                     "the new keys and values first.",
                                     LESSON};
static const Mistake UNUSED = {"unused part of the cache read",
                               "Tokens after used + n - 1 have old values, but their scores are in the softmax. Use "
                               "only the first used + n tokens of the cache.",
                               LESSON};
static const Mistake AT_START = {"new tokens stored at the start of the cache",
                                 "The new keys and values replaced those of the first tokens. Store them from token "
                                 "`used` on: fy_narrow(keys, 2, used, n).",
                                 LESSON};
static const Mistake NOT_STORED = {"cache not updated",
                                   "The keys and values of the new tokens are not in the cache after the call, so the "
                                   "next call does not see them. Copy k and v into it with fy_copy_.",
                                   LESSON};
static const Mistake VALUES_NOT_STORED = {
    "values not cached", "Only the keys of the new tokens are in the cache. Store v in `values` as well.", LESSON};
static const Mistake KEYS_AS_VALUES = {"keys used as values",
                                       "The output is a weighted sum of the keys. Sum the rows of `values`.", MASK};
static const Mistake OTHERS_CHANGED = {"rest of the cache changed",
                                       "The call changed tokens that are not the n new ones. Write only to tokens "
                                       "used to used + n - 1.",
                                       LESSON};
static const Mistake NO_SCALE = {"scores not scaled", "Divide the scores by sqrt(D) before softmax.", MASK};
static const Mistake BY_D = {"scores divided by D", "Divide the scores by the square root of D, not by D.", MASK};
static const Mistake BY_WIDTH = {"scale of the whole width",
                                 "Each head has D numbers. Divide the scores by sqrt(D), not by sqrt(H * D).", MASK};
static const Mistake OVER_QUERIES = {
    "softmax over the wrong dimension",
    "The weights of each query must add up to 1. Compute softmax over the last dimension, the keys.", MASK};
static const Mistake MASK_SHAPE = {"mask of the wrong shape",
                                   "There are n new tokens and used + n keys, so the scores and the mask have the "
                                   "shape (n, used + n).",
                                   LESSON};
static const Mistake TOKENS_FIRST = {"heads and tokens swapped", "Return (B, H, n, D), not (B, n, H, D).", MASK};
static const Mistake NOT_CONTIGUOUS = {"view on a non-contiguous tensor",
                                       "q, k and v are transposed views. Use fy_reshape, which copies if it must.",
                                       "docs/07_pitfalls.md#view-and-reshape"};
static const Mistake MASK_LATE = {"mask after softmax",
                                  "The weights of a token do not add up to 1, because softmax included hidden tokens. "
                                  "Set the scores to -INFINITY before softmax.",
                                  MASK};
static const Mistake LAST_ONLY = {"only the last new token computed",
                                  "The result has one token, but there are n new ones. Use all n queries.", LESSON};
static const Mistake ON_HOST = {"result on the wrong device", "Return the result on the device of q.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake NOTHING = {"no result returned", "Return the attention of the new tokens.", MASK};
static const Mistake COPIED = {"cache copied",
                               "The call needs memory as large as the cached keys. Write into the cache with fy_copy_, "
                               "and read it through fy_narrow, which is a view.",
                               LESSON};

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Sizes {
  int64_t B, H, D, context;
} Sizes;

// The new tokens of each call, and where its text begins.
typedef struct Call {
  int64_t first, n, begin;
} Call;
enum { MOST_CALLS = 16 };

static int calls_of(const char *text, Call calls[MOST_CALLS]) {
  int count = 0;
  int64_t first = 0, begin = 0;
  for (const char *at = text; *at;) {
    char *end;
    const int64_t n = strtol(at, &end, 10);
    if (n > 0) {
      calls[count++] = (Call){first, n, begin};
      first += n;
    } else if (*at == '|') {
      begin = first;
    }
    at = n > 0 ? end : at + 1;
  }
  return count;
}

static void ask_with(Case *c, const char *device, Sizes s, const char *calls) {
  Call all[MOST_CALLS];
  const Call last = all[calls_of(calls, all) - 1];
  const int64_t N = last.first + last.n;
  const Give give = {.device = device};
  give_text(c, "calls", calls);
  give_array(c, "q", draw_array(c, FY_FLOAT32, shape(s.B, N, s.H, s.D), -2, 2), give);
  give_array(c, "k", draw_array(c, FY_FLOAT32, shape(s.B, N, s.H, s.D), -2, 2), give);
  give_array(c, "v", draw_array(c, FY_FLOAT32, shape(s.B, N, s.H, s.D), -2, 2), give);
  give_array(c, "keys", draw_array(c, FY_FLOAT32, shape(s.B, s.H, s.context, s.D), -2, 2), give);
  give_array(c, "values", draw_array(c, FY_FLOAT32, shape(s.B, s.H, s.context, s.D), 3, 6), give);
}

// Sizes that differ from each other.
static Sizes some_sizes(Case *c) {
  return (Sizes){draw_int(c, 2, 3), draw_int(c, 4, 5), 2 * draw_int(c, 3, 6) + 1, draw_int(c, 21, 27)};
}

static const char *numbered(char text[64], const char *format, int64_t n) {
  snprintf(text, 64, format, (int)n);
  return text;
}

static void ask_one(Case *c) {
  ask_with(c, "cuda:0", (Sizes){1, 1, 3, 4}, "1");
}
static void ask_two_calls(Case *c) {
  ask_with(c, "cuda:0", (Sizes){1, 1, 2, 4}, "1 1");
}
static void ask_small_prompt(Case *c) {
  ask_with(c, "cuda:0", (Sizes){1, 1, 2, 4}, "2");
}
static void ask_prompt(Case *c) {
  char text[64];
  ask_with(c, "cuda:0", some_sizes(c), numbered(text, "%d", draw_int(c, 6, 9)));
}
static void ask_tokens(Case *c) {
  char text[64];
  ask_with(c, "cuda:0", some_sizes(c), numbered(text, "%d 1 1 1", draw_int(c, 6, 9)));
}
static void ask_several(Case *c) {
  char text[64];
  ask_with(c, "cuda:0", some_sizes(c), numbered(text, "%d 3 1 4", draw_int(c, 6, 9)));
}
static void ask_cpu(Case *c) {
  char text[64];
  ask_with(c, "cpu", some_sizes(c), numbered(text, "%d 3 1", draw_int(c, 6, 9)));
}
static void ask_second(Case *c) {
  char text[64];
  ask_with(c, "cuda:1", some_sizes(c), numbered(text, "%d 3 1", draw_int(c, 6, 9)));
}
static void ask_full(Case *c) {
  char text[64];
  Sizes s = some_sizes(c);
  ask_with(c, "cuda:0", s, numbered(text, "5 %d 1", s.context - 6));
}
static void ask_again(Case *c) {
  char text[64];
  ask_with(c, "cuda:0", some_sizes(c), numbered(text, "%d 2 1 | 4 1 1", draw_int(c, 6, 9)));
}
static void ask_long(Case *c) {
  ask_with(c, "cuda:0", (Sizes){2, 4, 64, 128}, "100 1");
}

// ---- attention in plain loops ------------------------------------------------------------------------------------------

typedef enum Visible { RIGHT, ALL, UP_TO_I, EARLIER, LATER, NEW, OLD, CONTEXT } Visible;
typedef struct How {
  Visible visible;
  bool at_start, keys_as_values, over_queries, keys_only, mask_late;
  double scale; // 0: 1 / sqrt(D)
} How;

static float token_of(const Array *a, int64_t b, int64_t token, int64_t h, int64_t d) { // of (B, N, H, D)
  const int64_t *size = a->shape.size;
  return a->f32[((b * size[1] + token) * size[2] + h) * size[3] + d];
}

// The cache after the first `calls` calls, as it should be; at_start: as if each call had stored its tokens from 0 on.
static Array *cache_after(Case *c, const char *cache, const char *name, const Call *calls, int count, bool at_start) {
  const Array *new = given(c, name), *before = given(c, cache);
  const int64_t *size = before->shape.size, B = size[0], H = size[1], context = size[2], D = size[3];
  Array *after = array_cast(c, before, FY_FLOAT32);
  for (int i = 0; i < count; i++)
    for (int64_t b = 0; b < B; b++)
      for (int64_t h = 0; h < H; h++)
        for (int64_t t = 0; t < calls[i].n; t++)
          for (int64_t d = 0; d < D; d++) {
            const int64_t at = at_start ? t : calls[i].first - calls[i].begin + t;
            after->f32[((b * H + h) * context + at) * D + d] = token_of(new, b, calls[i].first + t, h, d);
          }
  return after;
}

static bool sees(Visible visible, int64_t used, int64_t n, int64_t i, int64_t j) {
  switch (visible) {
  case RIGHT:
    return j <= used + i;
  case ALL:
    return j < used + n;
  case UP_TO_I:
    return j <= i;
  case EARLIER:
    return j < used + i;
  case LATER:
    return j >= used + i && j < used + n;
  case NEW:
    return j >= used && j <= used + i;
  case OLD:
    return j < used;
  default:
    return true;
  }
}

static Array *attended(Case *c, const Call *calls, int call, How how) {
  const Array *q = given(c, "q"), *keys = cache_after(c, "keys", "k", calls, call + 1, how.at_start);
  const Array *values = cache_after(c, "values", "v", calls, how.keys_only ? 0 : call + 1, how.at_start);
  const int64_t *size = keys->shape.size, B = size[0], H = size[1], context = size[2], D = size[3];
  const Call now = calls[call];
  const int64_t used = now.first - now.begin, n = now.n;
  const double scale = how.scale > 0 ? how.scale : 1 / sqrt((double)D);
  Array *out = new_array(c, FY_FLOAT32, shape(B, H, n, D));
  Array *weights = new_array(c, FY_FLOAT64, shape(n, context)), *of_key = new_array(c, FY_FLOAT64, shape(context));
  for (int64_t head = 0; head < B * H; head++) {
    const float *key = keys->f32 + head * context * D;
    const float *value = (how.keys_as_values ? keys : values)->f32 + head * context * D;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < context; j++) {
        double score = 0;
        for (int64_t d = 0; d < D; d++)
          score += (double)token_of(q, head / H, now.first + i, head % H, d) * key[j * D + d];
        weights->f64[i * context + j] = sees(how.visible, used, n, i, j) ? exp(score * scale) : 0;
        of_key->f64[j] = (i ? of_key->f64[j] : 0) + weights->f64[i * context + j];
      }
    for (int64_t i = 0; i < n; i++)
      for (int64_t d = 0; d < D; d++) {
        double sum = 0, total = 0;
        for (int64_t j = 0; j < context; j++)
          total += how.mask_late && j >= used + n ? 0 : weights->f64[i * context + j];
        for (int64_t j = 0; j < context; j++) {
          if (weights->f64[i * context + j] > 0 && (!how.mask_late || j <= used + i))
            sum += weights->f64[i * context + j] / (how.over_queries ? of_key->f64[j] : total) * value[j * D + d];
        }
        out->f32[(head * n + i) * D + d] = (float)(total > 0 ? sum : NAN);
      }
  }
  return out;
}

// ---- judging -----------------------------------------------------------------------------------------------------------

static void suspect_call(Case *c, const char *name, const Call *calls, int call, How how, const Mistake *mistake) {
  suspect_array(c, name, attended(c, calls, call, how), mistake);
}

static void suspects(Case *c, const char *name, const Call *calls, int call) {
  const int64_t *size = given(c, "keys")->shape.size;
  const int64_t used = calls[call].first - calls[call].begin, n = calls[call].n;
  const double root = sqrt((double)size[3]);
  const Array *result = got(c, name);
  suspect_that(c, !*got_error(c) && (!result || result->count == 0), &NOTHING);
  suspect_that(c, result && result->shape.rank == 4 && size[1] != n && result->shape.size[1] == n, &TOKENS_FIRST);
  suspect_that(c, n > 1 && result && result->shape.rank == 4 && result->shape.size[2] == 1, &LAST_ONLY);
  suspect_error(c, "view size is not compatible", &NOT_CONTIGUOUS);
  if (used > 0)
    suspect_error(c, "must match the size of tensor", &MASK_SHAPE);
  if (n > 1) { // with a single token, or after a single one, these look alike
    suspect_call(c, name, calls, call, (How){.visible = ALL}, &NO_MASK);
    suspect_call(c, name, calls, call, (How){.visible = LATER}, &PAST_HIDDEN);
  }
  if (used != 1 && n > 1)
    suspect_call(c, name, calls, call, (How){.visible = EARLIER}, &NOT_ITSELF);
  if (used > 1)
    suspect_call(c, name, calls, call, (How){.visible = UP_TO_I}, &SHIFTED);
  if (used > 0)
    suspect_call(c, name, calls, call, (How){.visible = RIGHT, .at_start = true}, &AT_START);
  if (used > 0 && n > 1)
    suspect_call(c, name, calls, call, (How){.visible = NEW}, &NEW_ONLY);
  if (used > 1 && n > 1)
    suspect_call(c, name, calls, call, (How){.visible = OLD}, &NEW_LEFT_OUT);
  suspect_call(c, name, calls, call, (How){.visible = CONTEXT}, &UNUSED);
  suspect_call(c, name, calls, call, (How){.visible = ALL, .mask_late = true}, &MASK_LATE);
  suspect_call(c, name, calls, call, (How){.keys_as_values = true}, &KEYS_AS_VALUES);
  suspect_call(c, name, calls, call, (How){.keys_only = true}, &VALUES_NOT_STORED);
  suspect_call(c, name, calls, call, (How){.over_queries = true}, &OVER_QUERIES);
  suspect_call(c, name, calls, call, (How){.scale = 1}, &NO_SCALE);
  suspect_call(c, name, calls, call, (How){.scale = 1 / root / root}, &BY_D);
  suspect_call(c, name, calls, call, (How){.scale = 1 / root / sqrt((double)size[1])}, &BY_WIDTH);
}

static bool expect_cache(Case *c, const char *cache, const char *name, const Call *calls, int count, bool other_right) {
  const Array *want = cache_after(c, cache, name, calls, count, false), *before = given(c, cache);
  const Array *after = got_shaped(c, cache, want->shape);
  const int64_t *size = want->shape.size;
  for (int64_t i = 0; after && i < want->count; i++) {
    if (after->f32[i] == want->f32[i])
      continue;
    const int64_t token = i / size[3] % size[2];
    const Mistake *why = after->f32[i] != before->f32[i] ? &OTHERS_CHANGED
                         : other_right                   ? &VALUES_NOT_STORED
                                                         : &NOT_STORED;
    return expect_that(c, false, why, "%s[%lld, %lld, %lld, %lld]: expected %g, got %g after the last call", cache,
                       (long long)(i / size[3] / size[2] / size[1]), (long long)(i / size[3] / size[2] % size[1]),
                       (long long)token, (long long)(i % size[3]), want->f32[i], after->f32[i]);
  }
  return true;
}

static void judge(Case *c) {
  Call calls[MOST_CALLS];
  char name[32];
  const int count = calls_of(given_text(c, "calls"), calls);
  const int device = given(c, "q")->device;
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "call %d", i + 1);
    if (!expect_array(c, name, attended(c, calls, i, (How){.visible = RIGHT}), 1e-4)) {
      suspects(c, name, calls, i);
      return;
    }
    if (!expect_device(c, name, device < 0 ? "cpu" : device == 0 ? "cuda:0" : "cuda:1", &ON_HOST))
      return;
  }
  if (expect_cache(c, "keys", "k", calls, count, false))
    expect_cache(c, "values", "v", calls, count, true);
}

static void judge_memory(Case *c) {
  judge(c);
  const int64_t *size = given(c, "q")->shape.size;
  const int64_t keys = size[0] * size[1] * size[2] * size[3] * (int64_t)sizeof(float);
  expect_at_most(c, "bytes of device memory for one token", counts(c)->cuda_peak_bytes, keys, &COPIED);
}

EXERCISE = {
    .id = "33_1_key_value_cache",
    .title = "Attention with a key/value cache",
    .after_pass =
        "With a key/value cache, each new token costs one row of scores instead of the attention of the whole "
        "text.",
    .kind = "write",
    .chapter = 33,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .lesson = LESSON,
    .stars = {{"no copy of the cached keys or values", {&COPIED}}},
    .hints = {"Begin with attention_forward of the lesson. What changes: the keys and values are those of used + n "
              "tokens, and there are only n queries.",
              "fy_narrow(keys, 2, used, n) is a view of the new tokens' part of the cache. fy_copy_ writes k into it.",
              "The scores have the shape (B, H, n, used + n). Score [i][j] is hidden if j > used + i. For n = 1, "
              "nothing is hidden."},
    .functions = {"attend"},
    .tests = {{.name = "first token", .ask = ask_one, .judge = judge},
              {.name = "two tokens, one after the other", .ask = ask_two_calls, .judge = judge},
              {.name = "prompt of two tokens", .ask = ask_small_prompt, .judge = judge},
              {.name = "longer prompt", .ask = ask_prompt, .judge = judge},
              {.name = "prompt, then single tokens", .ask = ask_tokens, .judge = judge},
              {.name = "several new tokens after a prompt", .ask = ask_several, .judge = judge},
              {.name = "CPU", .ask = ask_cpu, .judge = judge},
              {.name = "full cache", .ask = ask_full, .judge = judge},
              {.name = "another text in the same cache", .ask = ask_again, .judge = judge},
              {.name = "memory for one token", .ask = ask_long, .judge = judge_memory},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
