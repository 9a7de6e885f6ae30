// What the two converters share of launches: where the signs of a launch stand, and what nvcc refuses.
#include "sim/compile/cu2cpp.h"

#include <stdlib.h>
#include <string.h>

// ---- << < ... >> > -------------------------------------------------------------------------------------------------------

// Where the third sign of `<< <` or `>> >` at i stands, with white space between; 0: it is something else.
static size_t third_sign(const struct text *in, size_t i, char sign) {
  size_t at = i + 2;
  if (in->bytes[i] != sign || in->bytes[i + 1] != sign || !is_space(in->bytes[at]))
    return 0;
  while (is_space(in->bytes[at]))
    at++;
  return in->bytes[at] == sign && in->bytes[at + 1] != sign && in->bytes[at + 1] != '=' ? at : 0;
}

// operator<< <char>(...)
static int names_operator(const struct text *in, size_t i) {
  static const char word[] = "operator";
  const size_t length = sizeof word - 1;
  while (i > 0 && is_space(in->bytes[i - 1]))
    i--;
  return i >= length && strncmp(in->bytes + i - length, word, length) == 0 &&
         (i == length || !is_word(in->bytes[i - length - 1]));
}

static int precedes_arguments(const struct text *in, size_t i) {
  while (is_space(in->bytes[i]))
    i++;
  return in->bytes[i] == '(';
}

static void swap(char *a, char *b) {
  const char c = *a;
  *a = *b;
  *b = c;
}

enum opened { NONE, TOGETHER, APART };

// A configuration whose end has not been found yet, outside of brackets that stand in it.
struct configuration {
  enum opened opened;
  size_t end, third; // `>> >` with arguments behind it; 0: none so far
};

// Where the first signs stand together, `>>>` ends the configuration if there is one.
static void end_configuration(struct text *in, struct configuration *c) {
  if (c->opened && c->end)
    swap(&in->bytes[c->end + 2], &in->bytes[c->third]);
  *c = (struct configuration){0};
}

// Past the signs of a launch at i; i itself where there are none.
static size_t join_signs(struct text *in, size_t i, struct configuration *c) {
  const size_t first = third_sign(in, i, '<'), last = c->opened && c->end == 0 ? third_sign(in, i, '>') : 0;
  if (first && !names_operator(in, i)) {
    swap(&in->bytes[i + 2], &in->bytes[first]);
    *c = (struct configuration){.opened = APART};
    return first + 1;
  }
  if (strncmp(in->bytes + i, "<<<", 3) == 0) {
    *c = (struct configuration){.opened = TOGETHER};
    return i + 3;
  }
  if (strncmp(in->bytes + i, ">>>", 3) == 0) {
    *c = (struct configuration){0};
    return i + 3;
  }
  if (last && precedes_arguments(in, last + 1)) {
    c->end = i;
    c->third = last;
    if (c->opened == APART)
      end_configuration(in, c);
    return last + 1;
  }
  return i;
}

void join_launch_signs(struct text *in) {
  struct text levels = {0}; // a configuration for each bracket that is open, and one more
  struct configuration none = {0};
  append(&levels, (const char *)&none, sizeof none);
  for (size_t i = 0; i < in->length;) {
    struct configuration *now = (struct configuration *)(void *)(levels.bytes + levels.length) - 1;
    size_t after = skip_opaque(in, i);
    after = after == i ? join_signs(in, i, now) : after;
    const char c = in->bytes[i];
    if (after != i) {
      i = after;
      continue;
    }
    if (c == ';' || c == ')' || c == ']' || c == '}')
      end_configuration(in, now);
    if (c == '(' || c == '[' || c == '{')
      append(&levels, (const char *)&none, sizeof none);
    else if ((c == ')' || c == ']' || c == '}') && levels.length > sizeof none)
      levels.length -= sizeof none;
    i++;
  }
  end_configuration(in, (struct configuration *)(void *)(levels.bytes + levels.length) - 1);
  free(levels.bytes);
}

// ---- what is refused -----------------------------------------------------------------------------------------------------

size_t config_end(const struct text *in, size_t begin, size_t end) {
  for (size_t i = begin; i < end && !strchr(";)]}", in->bytes[i]);) {
    const size_t after = skip_opaque(in, i);
    if (after != i)
      i = after;
    else if (strncmp(in->bytes + i, ">>>", 3) == 0)
      return i;
    else if (strchr("([{", in->bytes[i]))
      i = skip_group(in, i);
    else
      i++;
  }
  fail_at(in, begin, "<<< without its >>>");
}

void expect_kernel(const struct text *in, size_t at, const struct text *out, size_t begin, size_t end,
                   size_t launched) {
  const size_t first = skip_space(out, begin);
  if (first >= end || out->bytes[first] == '<')
    fail_at(in, at, "error: expected an expression: <<< needs a kernel's name before it");
  if (begin < launched)
    fail_at(in, at, "error: expected a \"(\": a launch is no kernel that could be launched");
}

static int is_in_directive(const struct text *in, size_t i) {
  size_t begin = i;
  while (begin > 0 && (in->bytes[begin - 1] != '\n' || (begin > 1 && in->bytes[begin - 2] == '\\')))
    begin--;
  return *skip_spaces(in->bytes + begin) == '#';
}

void expect_arguments(const struct text *in, size_t at) {
  const char next = *skip_spaces(in->bytes + at);
  if (next != '(' && !is_word(next) &&
      !is_in_directive(in, at)) // a word may be a macro, or come after a macro's launch
    fail_at(in, at, "error: expected a \"(\": a launch needs its arguments, as in kernel<<<blocks, threads>>>(x, n)");
}
