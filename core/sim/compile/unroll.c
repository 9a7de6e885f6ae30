// SPDX-License-Identifier: MIT
// cu2cpp --unroll: nvcc unrolls a loop of constant length without a pragma if that stays short, and g++ does not where an inspector's
// calls are in the loop. Each loop that has no pragma of its own gets one here, with as many iterations as its body allows. g++ unrolls by
// it what it knows the length of, and leaves other loops as they are if its later pass for them is switched off (-fdisable-rtl-loop2_unroll).
#include "sim/compile/cu2cpp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Operators in all iterations together, and what an inner loop may multiply those of its own by.
enum { MOST_OPERATORS = 640, INNER = 8, MOST_ITERATIONS = 64 };

bool unrolls;

// The lines of directives right before the end of the output.
typedef struct Directives {
  size_t begin, last; // where they and the last one of them begin
  int count;
  bool pragma;
} Directives;

static size_t line_begin(const struct text *out, size_t at) {
  while (at > 0 && out->bytes[at - 1] != '\n')
    at--;
  return at;
}

static Directives directives_before(const struct text *out) {
  Directives d = {.begin = line_begin(out, out->length)};
  if (out->bytes[d.begin + strspn(out->bytes + d.begin, " \t")]) // something else on this line
    return d;
  for (size_t line = d.begin; line > 0; d.begin = line) {
    line = line_begin(out, line - 1);
    const char *p = out->bytes + line + strspn(out->bytes + line, " \t\r");
    if (*p == '#' && d.count++ == 0)
      d.last = line;
    d.pragma |= strncmp(p, "#pragma", 7) == 0;
    if (*p != '#' && *p != '\n')
      break;
  }
  return d;
}

// Whether a statement may begin here: after another one.
static bool begins_statement(const struct text *out, size_t end) {
  while (end > 0 && is_space(out->bytes[end - 1]))
    end--;
  return end > 0 && strchr(";{}", out->bytes[end - 1]) != NULL;
}

// Roughly the instructions of an iteration.
static int operators(const struct text *in, size_t begin, size_t end) {
  int count = 1, times = 1;
  for (size_t i = begin; i < end;) {
    const size_t after = skip_opaque(in, i);
    if (after == i && word_at(in, i, "for"))
      times *= INNER;
    count += after == i && strchr("+-*/%&|^<>=?[(", in->bytes[i]) ? times : 0;
    i = after == i ? i + 1 : after;
  }
  return count;
}

static bool is_directive(const struct text *out, size_t line, const char *name) {
  const char *p = out->bytes + line + strspn(out->bytes + line, " \t");
  return strncmp(p, name, strlen(name)) == 0;
}

// Of `#if`, `#pragma unroll`, `#endif`: puts an #else there.
static void append_else(const struct text *in, size_t i, const Directives *d, int most, struct text *out) {
  const size_t pragma = d->count >= 3 ? line_begin(out, d->last - 1) : 0,
               first = pragma ? line_begin(out, pragma - 1) : 0;
  if (!pragma || !is_directive(out, first, "#if") || !is_directive(out, pragma, "#pragma") ||
      !is_directive(out, d->last, "#endif"))
    return;
  struct text end = {0};
  char text[96];
  size_t line = 1;
  for (size_t at = 0; at < i; at++)
    line += in->bytes[at] == '\n';
  append(&end, out->bytes + line_begin(out, out->length), out->length - line_begin(out, out->length));
  out->length = d->last;
  snprintf(text, sizeof text, "#else\n#pragma GCC unroll %d\n#endif\n#line %zu\n", most, line);
  append_string(out, text);
  append(out, end.bytes, end.length);
  free(end.bytes);
}

// Before the `for` at i: its pragma. The text is not advanced.
void append_unroll(const struct text *in, size_t i, struct text *out) {
  const size_t open = unrolls && word_at(in, i, "for") ? skip_space(in, i + 3) : i;
  if (open == i || in->bytes[open] != '(')
    return;
  const Directives d = directives_before(out);
  if (!begins_statement(out, d.count ? d.begin : out->length))
    return;
  const size_t body = skip_space(in, skip_group(in, open));
  const size_t end = in->bytes[body] == '{' ? skip_group(in, body) : body + strcspn(in->bytes + body, ";");
  int most = MOST_OPERATORS / operators(in, body, end);
  most = most > MOST_ITERATIONS ? MOST_ITERATIONS : most;
  if (most < 2)
    return;
  if (d.pragma) {
    append_else(in, i, &d, most, out);
    return;
  }
  char pragma[64];
  snprintf(pragma, sizeof pragma, "_Pragma(\"GCC unroll %d\") ", most);
  append_string(out, pragma);
}
