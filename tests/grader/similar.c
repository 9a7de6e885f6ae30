// SPDX-License-Identifier: MIT
// Winnowing (Schleimer, Wilkerson and Aiken, SIGMOD 2003; the method of MOSS). Every GRAM tokens in a row are hashed, and of every
// WINDOW hashes in a row the smallest is a fingerprint, so a common passage of GRAM + WINDOW - 1 tokens has a common fingerprint. Names
// and numbers do not matter. What is in the stub is left out, and so is what many learners have.
#include "similar.h"
#include "case.h"
#include "sim/compile/c_tokens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GRAM = 12, WINDOW = 6, MOST_BYTES = 1 << 18, LEAST_SHARED = 6 };
#define LEAST_SHARE 0.5

typedef struct Prints {
  uint64_t *at; // ascending, each once
  int count, room;
} Prints;

static int by_value(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void add(Prints *p, uint64_t value) {
  if (p->count == p->room) {
    p->room = 2 * p->room + 256;
    p->at = realloc(p->at, (size_t)p->room * sizeof *p->at);
    if (!p->at)
      fatal_error("no memory");
  }
  p->at[p->count++] = value;
}

static void sort(Prints *p) {
  int kept = 0;
  if (p->count > 0)
    qsort(p->at, (size_t)p->count, sizeof *p->at, by_value);
  for (int i = 0; i < p->count; i++)
    if (i == 0 || p->at[i] != p->at[i - 1])
      p->at[kept++] = p->at[i];
  p->count = kept;
}

static bool has(const Prints *p, uint64_t value) {
  return p->count > 0 && bsearch(&value, p->at, (size_t)p->count, sizeof *p->at, by_value);
}

// ---- fingerprints --------------------------------------------------------------------------------------------------------------

static bool is_kept(const struct c_token *t) {
  static const char *const words[] = {
      "if",     "else",      "for",        "while",      "do",       "return",        "switch",
      "break",  "continue",  "int",        "float",      "double",   "struct",        "sizeof",
      "static", "threadIdx", "blockIdx",   "blockDim",   "gridDim",  "__syncthreads", "__shared__",
      "const",  "template",  "__global__", "__device__", "atomicAdd"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strlen(words[i]) == t->length && memcmp(words[i], t->at, t->length) == 0)
      return true;
  return false;
}

// The grams of a text, in its order.
static Prints grams_of(const char *text, size_t bytes) {
  Prints tokens = {0}, grams = {0};
  struct c_lexer lexer = c_lexer_of(text, bytes);
  for (struct c_token t; c_next(&lexer, &t);) {
    if (t.kind == C_SIGN && t.first && *t.at == '#') {
      c_skip_directive(&lexer);
      continue;
    }
    char word[32] = "";
    if (t.kind == C_SIGN || (t.kind == C_WORD && is_kept(&t)))
      snprintf(word, sizeof word, "%.*s", (int)(t.length < 31 ? t.length : 31), t.at);
    if (t.kind != C_COMMENT)
      add(&tokens, hash_text((uint64_t)t.kind + 1, word));
  }
  for (int i = 0; i + GRAM <= tokens.count; i++) {
    uint64_t hash = 0;
    for (int j = 0; j < GRAM; j++)
      hash = (hash ^ tokens.at[i + j]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    add(&grams, hash);
  }
  free(tokens.at);
  return grams;
}

static Prints winnow(const Prints *grams) {
  Prints prints = {0};
  for (int i = 0; i + WINDOW <= grams->count; i++) {
    uint64_t least = grams->at[i];
    for (int j = 1; j < WINDOW; j++)
      least = grams->at[i + j] < least ? grams->at[i + j] : least;
    add(&prints, least);
  }
  sort(&prints);
  return prints;
}

static Prints read_grams(const char *folder, const Exercise *e) {
  char path[4096];
  struct stat about;
  size_t bytes;
  snprintf(path, sizeof path, "%s/%s.%s", folder, e->id, exercise_extension(e));
  if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
    return (Prints){0};
  char *text = file_read(path, &bytes);
  const Prints grams = text ? grams_of(text, bytes) : (Prints){0};
  free(text);
  return grams;
}

// ---- one exercise ----------------------------------------------------------------------------------------------------------------

static void leave_out(Prints *p, const Prints *known) {
  int kept = 0;
  for (int i = 0; i < p->count; i++)
    if (!has(known, p->at[i]))
      p->at[kept++] = p->at[i];
  p->count = kept;
}

// What more than a few learners have is how one writes this.
static void leave_out_common(Prints *prints, int count) {
  Prints all = {0}, common = {0};
  const int most = 3 + count / 25;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < prints[i].count; j++)
      add(&all, prints[i].at[j]);
  if (all.count > 0)
    qsort(all.at, (size_t)all.count, sizeof *all.at, by_value);
  for (int i = most; i < all.count; i++)
    if (all.at[i] == all.at[i - most])
      add(&common, all.at[i]);
  sort(&common);
  for (int i = 0; i < count; i++)
    leave_out(&prints[i], &common);
  free(all.at);
  free(common.at);
}

static int shared(const Prints *a, const Prints *b) {
  int count = 0;
  for (int i = 0, j = 0; i < a->count && j < b->count;) {
    count += a->at[i] == b->at[j];
    const bool on_a = a->at[i] <= b->at[j], on_b = b->at[j] <= a->at[i];
    i += on_a;
    j += on_b;
  }
  return count;
}

static int by_share(const void *a, const void *b) {
  const Similar *x = a, *y = b;
  const double p = (double)x->shared * x->shared / x->of, q = (double)y->shared * y->shared / y->of;
  return p != q                       ? (p < q) - (p > q)
         : x->exercise != y->exercise ? x->exercise - y->exercise
         : x->a != y->a               ? x->a - y->a
                                      : x->b - y->b;
}

static int compare(const Prints *prints, int exercise, int learners, Similar *found, int count, int most) {
  for (int a = 0; a < learners; a++)
    for (int b = a + 1; b < learners; b++) {
      const int n = shared(&prints[a], &prints[b]);
      const int of = prints[a].count < prints[b].count ? prints[a].count : prints[b].count;
      if (n < LEAST_SHARED || n < LEAST_SHARE * of)
        continue;
      if (count == most) { // room for one more, in place of the least similar
        qsort(found, (size_t)count, sizeof *found, by_share);
        count--;
      }
      found[count++] = (Similar){exercise, a, b, n, of};
    }
  return count;
}

int similar_answers(const Grading *g, Similar *found, int most) {
  Prints *prints = calloc((size_t)g->learner_count + 1, sizeof *prints);
  int count = 0;
  if (!prints)
    fatal_error("no memory");
  for (int e = 0; e < g->exercise_count; e++) {
    char stubs[4096];
    in_root(stubs, sizeof stubs, "exercises");
    Prints stub = read_grams(stubs, g->exercises[e]);
    sort(&stub);
    for (int i = 0; i < g->learner_count; i++) {
      Prints grams = g->learners[i].folder ? read_grams(g->learners[i].folder, g->exercises[e]) : (Prints){0};
      prints[i] = winnow(&grams);
      leave_out(&prints[i], &stub);
      free(grams.at);
    }
    leave_out_common(prints, g->learner_count);
    count = compare(prints, e, g->learner_count, found, count, most);
    for (int i = 0; i < g->learner_count; i++)
      free(prints[i].at);
    free(stub.at);
  }
  free(prints);
  if (count > 0)
    qsort(found, (size_t)count, sizeof *found, by_share);
  return count;
}
