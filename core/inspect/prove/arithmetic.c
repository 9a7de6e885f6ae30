// SPDX-License-Identifier: MIT
// Arithmetic on numbers of N bits, as whole numbers.
//
// A polynomial stands for a number modulo 2^N: additions and products never wrap by themselves. Only where it matters whether they did
// (a comparison, a division, an index, a wider type) is the number normalized, as signed or as unsigned.
#include "prove.h"
#include <string.h>

static wide power(int n) {
  return (wide)1 << n;
}

// The smallest scope in which both are known.
static Scope wider(Scope a, Scope b) {
  return a > b ? a : b;
}

static bool is_plain(const Poly *p) {
  return p->count == 1 && p->terms[0].symbols[0] && !p->terms[0].symbols[1] &&
         !symbols[p->terms[0].symbols[0]].counts && (p->terms[0].factor == 1 || p->terms[0].factor == -1);
}

static bool has_large_factor(const Poly *p) {
  for (int i = 0; i < p->count; i++)
    if (p->terms[i].symbols[0] && (p->terms[i].factor > 65536 || p->terms[i].factor < -65536))
      return true;
  return false;
}

typedef struct Known {
  Poly of, other, first, second;
  int kind;
  struct Known *next;
} Known;
static Known *known;

// What has been computed of the same operands is the same symbol.
static Known *recall(int kind, const Poly *of, const Poly *other, bool *is_new) {
  for (Known *k = known; k; k = k->next)
    if (k->kind == kind && poly_equal(&k->of, of) && poly_equal(&k->other, other)) {
      *is_new = false;
      return k;
    }
  Known *k = allocate(sizeof *k);
  *k = (Known){.of = *of, .other = *other, .kind = kind, .next = known};
  *is_new = true;
  return known = k;
}

// The number as a whole number. Assumed: sums and products do not overflow upwards, unless a factor is large, as those of hash functions
// are. A conversion, and what is below 0 as an unsigned number, wrap as they do.
Poly normalize(const Poly *p, int width, bool is_signed) {
  const wide low = is_signed ? -power(width - 1) : 0, high = is_signed ? power(width - 1) - 1 : power(width) - 1;
  wide from, to;
  poly_range(p, &from, &to);
  if (from >= low && to <= high)
    return *p;
  const bool wraps = is_plain(p) || has_large_factor(p) || width < 32;
  if (!wraps && (is_signed || from >= 0))
    return *p;
  bool is_new;
  const Poly none = {0};
  Known *k = recall(2 * width + is_signed, p, &none, &is_new);
  if (is_new) {
    const Scope scope = poly_scope(p);
    const int turns = new_symbol(scope, wraps ? -power(70) : 0, power(70), NULL);
    const int value = new_symbol(scope, low, high, NULL);
    symbols[value].rule = text_of("(= %s (+ %s (* %s %s)))", symbols[value].name, poly_text(p),
                                  number_text(power(width)), symbols[turns].name);
    k->first = poly_symbol(value);
  }
  return k->first;
}

// a = b q + r, rounded down if `floors` (b > 0), or towards 0.
static Known *divide(const Poly *a, const Poly *b, bool is_signed, bool floors, int width) {
  bool is_new;
  Known *k = recall(floors ? 1000 : is_signed ? 1001 : 1002, a, b, &is_new);
  if (!is_new)
    return k;
  wide a_low, a_high, b_low, b_high;
  poly_range(a, &a_low, &a_high);
  poly_range(b, &b_low, &b_high);
  const Scope scope = wider(poly_scope(a), poly_scope(b));
  const bool simple = floors || (a_low >= 0 && b_low >= 0);
  const wide limit = power(width);
  const int q = new_symbol(scope, a_low >= 0 && simple ? 0 : -limit,
                           simple && a_high < limit && a_high >= 0 ? a_high : limit, NULL),
            r = new_symbol(scope, simple ? 0 : -limit, b_high > 0 && simple ? b_high - 1 : limit, NULL);
  const Poly quotient = poly_symbol(q), rest = poly_symbol(r), product = poly_multiply(b, &quotient),
             sum = poly_add(&product, &rest, 1);
  const char *name = symbols[r].name, *divisor = poly_text(b), *dividend = poly_text(a);
  symbols[q].rule = text_of("(= %s %s)", dividend, poly_text(&sum));
  symbols[r].rule =
      simple ? text_of("(and (< %s %s) (= %s %s))", name, divisor, dividend, poly_text(&sum))
             : text_of(
                   "(and (not (= %s 0)) (< (ite (< %s 0) (- %s) %s) (ite (< %s 0) (- %s) %s)) (=> (>= %s 0) (>= %s 0)) "
                   "(=> (<= %s 0) (<= %s 0)))",
                   divisor, name, name, name, divisor, divisor, divisor, dividend, name, dividend, name);
  k->first = quotient;
  k->second = rest;
  return k;
}

// A number between two others, of which nothing else is known.
static Poly between(Scope scope, wide low, wide high) {
  return poly_symbol(new_symbol(scope, low, high, NULL));
}

static int exponent_of(long long value) {
  return value > 0 && (value & (value - 1)) == 0 ? __builtin_ctzll((unsigned long long)value) : -1;
}

static Poly low_bits(const Poly *a, int bits) {
  const Poly divisor = poly_constant(1LL << bits);
  wide low, high;
  poly_range(a, &low, &high);
  if (low >= 0 && high < power(bits))
    return *a;
  return divide(a, &divisor, false, true, 64)->second;
}

static Poly bitwise_and(const Poly *a, const Poly *b, int width) {
  long long mask;
  Poly x = *a;
  if (!poly_is_constant(b, &mask)) {
    x = *b;
    if (!poly_is_constant(a, &mask)) {
      const Poly u = normalize(a, width, false), v = normalize(b, width, false);
      const Scope scope = wider(poly_scope(&u), poly_scope(&v));
      const int n = new_symbol(scope, 0, power(width) - 1, NULL);
      symbols[n].rule =
          text_of("(and (<= %s %s) (<= %s %s))", symbols[n].name, poly_text(&u), symbols[n].name, poly_text(&v));
      return poly_symbol(n);
    }
  }
  if (mask >= 0 && mask < INT64_MAX && exponent_of(mask + 1) >= 0)
    return low_bits(&x, exponent_of(mask + 1));
  if (mask < 0 && exponent_of(-mask) >= 0) {
    const Poly low = low_bits(&x, exponent_of(-mask));
    return poly_add(&x, &low, -1);
  }
  return between(poly_scope(&x), mask < 0 ? -power(width - 1) : 0, mask < 0 ? power(width - 1) - 1 : mask);
}

// x | c where c is below the lowest bit that x can have: a sum.
static bool or_is_sum(const Poly *x, long long c) {
  int bits = 0;
  while (bits < 62 && c >> bits)
    bits++;
  return c >= 0 && poly_is_multiple(x, 1LL << bits);
}

static Poly bitwise_or(const Poly *a, const Poly *b, int width) {
  long long constant;
  if ((poly_is_constant(b, &constant) && or_is_sum(a, constant)) ||
      (poly_is_constant(a, &constant) && or_is_sum(b, constant)))
    return poly_add(a, b, 1);
  return between(wider(poly_scope(a), poly_scope(b)), -power(width - 1), power(width - 1) - 1);
}

static Poly shift_left(const Poly *a, const Poly *b, int width) {
  long long by;
  if (poly_is_constant(b, &by)) {
    const Poly factor = poly_constant(by >= 0 && by < 62 ? 1LL << by : 0);
    return by >= 0 && by < 62 ? poly_multiply(a, &factor)
                              : between(poly_scope(a), -power(width - 1), power(width - 1) - 1);
  }
  bool is_new;
  const Poly none = {0}, amount = normalize(b, width, false);
  Known *k = recall(1003, &amount, &none, &is_new);
  if (is_new)
    k->first = between(poly_scope(&amount), 1, power(width - 1));
  return poly_multiply(a, &k->first);
}

static Poly shift_right(const Poly *a, const Poly *b, int width, bool is_signed) {
  long long by;
  const Poly x = normalize(a, width, is_signed);
  if (!poly_is_constant(b, &by) || by < 0 || by > 61)
    return between(wider(poly_scope(a), poly_scope(b)), is_signed ? -power(width - 1) : 0,
                   power(width - is_signed) - 1);
  const Poly divisor = poly_constant(1LL << by);
  return divide(&x, &divisor, is_signed, true, width)->first;
}

static Poly compute(LLVMOpcode opcode, const Poly *a, const Poly *b, int width) {
  const bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem;
  Poly x, y;
  long long constant;
  switch (opcode) {
  case LLVMAdd:
    return poly_add(a, b, 1);
  case LLVMSub:
    return poly_add(a, b, -1);
  case LLVMMul:
    return poly_multiply(a, b);
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem:
    x = normalize(a, width, is_signed);
    y = normalize(b, width, is_signed);
    if (poly_is_constant(&y, &constant) && constant == 0)
      return between(poly_scope(a), -power(width - 1), power(width - 1) - 1);
    return opcode == LLVMUDiv || opcode == LLVMSDiv ? divide(&x, &y, is_signed, false, width)->first
                                                    : divide(&x, &y, is_signed, false, width)->second;
  case LLVMAnd:
    return bitwise_and(a, b, width);
  case LLVMOr:
    return bitwise_or(a, b, width);
  case LLVMShl:
    return shift_left(a, b, width);
  case LLVMLShr:
  case LLVMAShr:
    return shift_right(a, b, width, opcode == LLVMAShr);
  case LLVMXor:
    if (poly_is_constant(b, &constant) && constant == -1) {
      const Poly all = poly_constant(-1);
      return poly_add(&all, a, -1);
    }
    return between(wider(poly_scope(a), poly_scope(b)), -power(width - 1), power(width - 1) - 1);
  default:
    return between(PER_THREAD, -power(width - 1), power(width - 1) - 1);
  }
}

static const char *logic(LLVMOpcode opcode, const char *a, const char *b) {
  return opcode == LLVMAnd   ? text_of("(and %s %s)", a, b)
         : opcode == LLVMOr  ? text_of("(or %s %s)", a, b)
         : opcode == LLVMXor ? text_of("(xor %s %s)", a, b)
                             : NULL;
}

Value arithmetic(LLVMOpcode opcode, const Value *a, const Value *b, int width) {
  if (a->kind == CONDITION && b->kind == CONDITION) {
    const char *text = logic(opcode, a->text, b->text);
    return text ? condition_value(text) : condition_value(symbols[new_condition(PER_THREAD)].name);
  }
  if (a->kind != NUMBER || b->kind != NUMBER)
    return (Value){.kind = OTHER};
  return number_value(compute(opcode, &a->number, &b->number, width));
}

const char *comparison(LLVMIntPredicate predicate, const Value *a, const Value *b, int width) {
  static const struct {
    LLVMIntPredicate predicate;
    const char *name;
    bool is_signed;
  } names[] = {{LLVMIntEQ, "=", true},   {LLVMIntUGT, ">", false},  {LLVMIntUGE, ">=", false},
               {LLVMIntULT, "<", false}, {LLVMIntULE, "<=", false}, {LLVMIntSGT, ">", true},
               {LLVMIntSGE, ">=", true}, {LLVMIntSLT, "<", true},   {LLVMIntSLE, "<=", true}};
  if (predicate == LLVMIntNE)
    return text_of("(not %s)", comparison(LLVMIntEQ, a, b, width));
  size_t n = 0;
  while (names[n].predicate != predicate)
    n++;
  const Poly x = normalize(&a->number, width, names[n].is_signed), y = normalize(&b->number, width, names[n].is_signed);
  return text_of("(%s %s %s)", names[n].name, poly_text(&x), poly_text(&y));
}
