// SPDX-License-Identifier: MIT
// Symbols, and polynomials over them with whole numbers as factors.
#include "prove.h"
#include <stdio.h>
#include <string.h>

Symbol symbols[MAX_SYMBOLS];
int symbol_count = 1; // 0: none

static int add_symbol(Scope scope) {
  if (symbol_count == MAX_SYMBOLS)
    not_tried("the kernel is too large");
  Symbol *s = &symbols[symbol_count];
  snprintf(s->name, sizeof s->name, "s%d%s", symbol_count, scope == PER_THREAD ? "@" : scope == PER_BLOCK ? "%" : "");
  s->scope = scope;
  return symbol_count++;
}

int new_symbol(Scope scope, wide low, wide high, const char *rule) {
  const int n = add_symbol(scope);
  symbols[n].low = low;
  symbols[n].high = high;
  symbols[n].rule = rule;
  return n;
}

int new_condition(Scope scope) {
  const int n = add_symbol(scope);
  symbols[n].is_condition = true;
  return n;
}

Poly poly_constant(long long value) {
  Poly p = {0};
  if (value)
    p.terms[p.count++].factor = value;
  return p;
}

Poly poly_symbol(int symbol) {
  Poly p = {.count = 1};
  p.terms[0] = (Term){1, {symbol}};
  return p;
}

static int compare(const Term *a, const Term *b) {
  for (int i = 0; i < DEGREE; i++)
    if (a->symbols[i] != b->symbols[i])
      return a->symbols[i] < b->symbols[i] ? -1 : 1;
  return 0;
}

static void add_term(Poly *p, Term t) {
  int at = 0;
  while (at < p->count && compare(&p->terms[at], &t) < 0)
    at++;
  if (at < p->count && compare(&p->terms[at], &t) == 0) {
    if (__builtin_add_overflow(p->terms[at].factor, t.factor, &p->terms[at].factor))
      not_tried("a number is too large");
    if (p->terms[at].factor == 0) {
      memmove(&p->terms[at], &p->terms[at + 1], sizeof(Term) * (size_t)(p->count - at - 1));
      p->count--;
    }
    return;
  }
  if (p->count == MAX_TERMS)
    not_tried("an index is too long");
  memmove(&p->terms[at + 1], &p->terms[at], sizeof(Term) * (size_t)(p->count - at));
  p->terms[at] = t;
  p->count++;
}

static long long product(long long a, long long b) {
  long long result;
  if (__builtin_mul_overflow(a, b, &result))
    not_tried("a number is too large");
  return result;
}

Poly poly_add(const Poly *a, const Poly *b, long long factor) {
  Poly sum = *a;
  for (int i = 0; factor && i < b->count; i++) {
    Term t = b->terms[i];
    t.factor = product(t.factor, factor);
    add_term(&sum, t);
  }
  poly_fold(&sum);
  return sum;
}

static Term multiply_terms(const Term *a, const Term *b) {
  Term t = *a;
  t.factor = product(a->factor, b->factor);
  for (int i = 0; i < DEGREE && b->symbols[i]; i++) {
    int at = 0;
    while (at < DEGREE && t.symbols[at] && t.symbols[at] <= b->symbols[i])
      at++;
    if (t.symbols[DEGREE - 1])
      not_tried("an index is a product of more than %d factors", DEGREE);
    memmove(&t.symbols[at + 1], &t.symbols[at], sizeof(int) * (size_t)(DEGREE - 1 - at));
    t.symbols[at] = b->symbols[i];
  }
  return t;
}

Poly poly_multiply(const Poly *a, const Poly *b) {
  Poly p = {0};
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++)
      add_term(&p, multiply_terms(&a->terms[i], &b->terms[j]));
  poly_fold(&p);
  return p;
}

bool poly_is_constant(const Poly *p, long long *value) {
  *value = p->count ? p->terms[0].factor : 0;
  return p->count == 0 || (p->count == 1 && !p->terms[0].symbols[0]);
}

bool poly_equal(const Poly *a, const Poly *b) {
  const Poly difference = poly_add(a, b, -1);
  return difference.count == 0;
}

bool poly_is_multiple(const Poly *p, long long of) {
  for (int i = 0; i < p->count; i++)
    if (p->terms[i].factor % of)
      return false;
  return true;
}

Poly poly_divide(const Poly *p, long long by) {
  Poly result = *p;
  for (int i = 0; i < p->count; i++)
    result.terms[i].factor /= by;
  return result;
}

// Saturated: far from what any number of 64 bits can be.
static wide bounded(wide value) {
  const wide limit = (wide)1 << 100;
  return value > limit ? limit : value < -limit ? -limit : value;
}

static wide bounded_product(wide a, wide b) {
  wide result;
  if (__builtin_mul_overflow(a, b, &result))
    return (a < 0) == (b < 0) ? bounded((wide)1 << 120) : bounded(-((wide)1 << 120));
  return bounded(result);
}

void poly_range(const Poly *p, wide *low, wide *high) {
  *low = *high = 0;
  for (int i = 0; i < p->count; i++) {
    wide from = p->terms[i].factor, to = from;
    for (int k = 0; k < DEGREE && p->terms[i].symbols[k]; k++) {
      const Symbol *s = &symbols[p->terms[i].symbols[k]];
      const wide ends[4] = {bounded_product(from, s->low), bounded_product(from, s->high), bounded_product(to, s->low),
                            bounded_product(to, s->high)};
      from = to = ends[0];
      for (int e = 1; e < 4; e++) {
        from = ends[e] < from ? ends[e] : from;
        to = ends[e] > to ? ends[e] : to;
      }
    }
    *low = bounded(*low + from);
    *high = bounded(*high + to);
  }
}

Scope poly_scope(const Poly *p) {
  Scope scope = PER_LAUNCH;
  for (int i = 0; i < p->count; i++)
    for (int k = 0; k < DEGREE && p->terms[i].symbols[k]; k++)
      if (symbols[p->terms[i].symbols[k]].scope > scope)
        scope = symbols[p->terms[i].symbols[k]].scope;
  return scope;
}

Scope text_scope(const char *text) {
  return strchr(text, '@') ? PER_THREAD : strchr(text, '%') ? PER_BLOCK : PER_LAUNCH;
}

const char *number_text(wide value) {
  char digits[50];
  int at = sizeof digits;
  digits[--at] = '\0';
  for (wide rest = value < 0 ? -value : value; rest || !digits[at]; rest /= 10)
    digits[--at] = (char)('0' + (int)(rest % 10));
  return value < 0 ? text_of("(- %s)", digits + at) : text_of("%s", digits + at);
}

// A product of symbols is a term of its own, "(* s1 s2@)": solver.c looks for it.
static const char *term_text(const Term *t) {
  char *product_text = (char *)"";
  int count = 0;
  for (; count < DEGREE && t->symbols[count]; count++)
    product_text = text_of("%s%s%s", product_text, count ? " " : "", symbols[t->symbols[count]].name);
  if (count == 0)
    return number_text(t->factor);
  if (count > 1)
    product_text = text_of("(* %s)", product_text);
  return t->factor == 1 ? product_text : text_of("(* %s %s)", number_text(t->factor), product_text);
}

const char *poly_text(const Poly *p) {
  if (p->count == 0)
    return "0";
  char *sum = (char *)"(+";
  for (int i = 0; i < p->count; i++)
    sum = text_of("%s %s", sum, term_text(&p->terms[i]));
  return p->count == 1 ? term_text(&p->terms[0]) : text_of("%s)", sum);
}
