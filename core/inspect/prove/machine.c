// SPDX-License-Identifier: MIT
// The symbols of a launch: threadIdx, blockIdx, blockDim, gridDim, and two numbers that are made of them, a thread's number in the grid
// ("gid") and the number of threads ("threads") along an axis. A product of two symbols is hard for a solver, one symbol is not.
#include "prove.h"
#include <string.h>

enum { TID, BID, BDIM, GDIM, GID, THREADS, KINDS };
static const char *const names[KINDS] = {"tid", "bid", "bdim", "gdim", "gid", "threads"};
static const char *const shown[KINDS] = {"threadIdx", "blockIdx", "blockDim", "gridDim", NULL, NULL};
static int numbers[KINDS][3]; // 0: fixed

static int fixed_size(int kind, int axis) {
  const int given = kind == BDIM ? options.block[axis] : options.grid[axis];
  return given ? given : axis < (kind == BDIM ? options.block_axes : options.grid_axes) ? 0 : 1;
}

static void make(int kind, int axis, Scope scope, wide low, wide high) {
  const int n = numbers[kind][axis] = new_symbol(scope, low, high, NULL);
  if (shown[kind])
    symbols[n].shown = text_of("%s.%c", shown[kind], "xyz"[axis]);
}

static const char *name_of(int kind, int axis) {
  const Poly p = launch_value(names[kind], axis);
  return poly_text(&p);
}

void make_launch_symbols(void) {
  static const wide most_threads[3] = {1024, 1024, 64};
  for (int a = 0; a < 3; a++) {
    const wide most_blocks = a == 0 ? 0x7fffffff : 65535, whole = ((wide)1 << 31) - 1;
    const int b = fixed_size(BDIM, a), g = fixed_size(GDIM, a);
    const wide bdim = b ? b : most_threads[a], gdim = g ? g : b && most_blocks > whole / b ? whole / b : most_blocks;
    if (!b)
      make(BDIM, a, PER_LAUNCH, 1, bdim);
    if (!g)
      make(GDIM, a, PER_LAUNCH, 1, gdim);
    if (bdim > 1)
      make(TID, a, PER_THREAD, 0, bdim - 1);
    if (gdim > 1)
      make(BID, a, PER_BLOCK, 0, gdim - 1);
    if (b || g || bdim == 1 || gdim == 1)
      ;
    else {
      make(THREADS, a, PER_LAUNCH, 1, bdim * gdim < whole ? bdim * gdim : whole);
      make(GID, a, PER_THREAD, 0, symbols[numbers[THREADS][a]].high - 1);
    }
  }
  for (int a = 0; a < 3; a++) {
    if (numbers[TID][a])
      symbols[numbers[TID][a]].rule = text_of("(< %s %s)", name_of(TID, a), name_of(BDIM, a));
    if (numbers[BID][a])
      symbols[numbers[BID][a]].rule = text_of("(< %s %s)", name_of(BID, a), name_of(GDIM, a));
    if (!numbers[GID][a])
      continue;
    const char *bdim = name_of(BDIM, a), *gdim = name_of(GDIM, a), *bid = name_of(BID, a), *gid = name_of(GID, a),
               *threads = name_of(THREADS, a);
    symbols[numbers[THREADS][a]].rule = text_of("(= %s (* %s %s))", threads, bdim, gdim);
    symbols[numbers[GID][a]].rule = text_of("(and (= %s (+ (* %s %s) %s)) (< %s %s) (<= (+ (* %s %s) %s) %s))", gid,
                                            bdim, bid, name_of(TID, a), gid, threads, bdim, bid, bdim, threads);
  }
  // At most 1024 threads per block.
  if (numbers[BDIM][0] && numbers[BDIM][1])
    symbols[numbers[BDIM][0]].rule = text_of("(<= (* %s %s%s%s) 1024)", name_of(BDIM, 0), name_of(BDIM, 1),
                                             numbers[BDIM][2] ? " " : "", numbers[BDIM][2] ? name_of(BDIM, 2) : "");
}

static int kind_of(const char *what) {
  int kind = 0;
  while (kind < KINDS && strcmp(names[kind], what) != 0)
    kind++;
  return kind;
}

int launch_symbol(const char *what, int axis) {
  return numbers[kind_of(what)][axis];
}

Poly launch_value(const char *what, int axis) {
  const int kind = kind_of(what), n = numbers[kind][axis];
  return n ? poly_symbol(n) : poly_constant(kind == BDIM || kind == GDIM ? fixed_size(kind, axis) : 0);
}

static int position(const Term *t, int symbol) {
  for (int i = 0; i < DEGREE; i++)
    if (symbol && t->symbols[i] == symbol)
      return i;
  return -1;
}

// t without two of its symbols, and with another one.
static Poly replaced(const Term *t, int drop, int also, int with) {
  Poly p = {.count = 1}, added = poly_symbol(with);
  Term rest = {.factor = t->factor};
  int count = 0;
  for (int i = 0; i < DEGREE && t->symbols[i]; i++) {
    if (t->symbols[i] == drop)
      drop = 0;
    else if (t->symbols[i] == also)
      also = 0;
    else
      rest.symbols[count++] = t->symbols[i];
  }
  p.terms[0] = rest;
  return poly_multiply(&p, &added);
}

static Poly without(const Poly *p, int term) {
  Poly rest = *p;
  memmove(&rest.terms[term], &rest.terms[term + 1], sizeof(Term) * (size_t)(p->count - term - 1));
  rest.count--;
  return rest;
}

// One replacement. Returns false where there is none.
static bool fold_once(Poly *p, int a) {
  const int bid = numbers[BID][a], bdim = numbers[BDIM][a], gdim = numbers[GDIM][a], tid = numbers[TID][a];
  for (int i = 0; i < p->count; i++) {
    const Term *t = &p->terms[i];
    if (position(t, bdim) < 0)
      continue;
    if (position(t, gdim) >= 0) {
      const Poly rest = without(p, i), product = replaced(t, bdim, gdim, numbers[THREADS][a]);
      *p = poly_add(&rest, &product, 1);
      return true;
    }
    if (position(t, bid) < 0)
      continue;
    const Poly thread = replaced(t, bdim, bid, tid), whole = replaced(t, bdim, bid, numbers[GID][a]);
    for (int j = 0; j < p->count; j++) {
      Poly other = {.count = 1};
      other.terms[0] = p->terms[j];
      if (j == i || !poly_equal(&other, &thread))
        continue;
      Poly rest = without(p, i > j ? i : j);
      rest = without(&rest, i > j ? j : i);
      *p = poly_add(&rest, &whole, 1);
      return true;
    }
  }
  return false;
}

void poly_fold(Poly *p) {
  for (int a = 0; a < 3; a++)
    while (numbers[GID][a] && fold_once(p, a))
      ;
}
