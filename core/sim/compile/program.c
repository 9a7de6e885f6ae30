// SPDX-License-Identifier: MIT
// A whole program, after the preprocessor: launches stand there as they will be compiled, whichever macro or header they come
// from, and every line knows its file by the lines `# 12 "file"`. With -DCUDASIM_PROGRAM, cudasim_abi.h leaves __shared__ and
// __global__ in the text as __cudasim_shared__ and __cudasim_global__. Rewritten are
//     k<<<config>>>(args)              a launch that finds k by its arguments, as a call would; and, never executed, the call
//                                      itself, so that the compiler's errors are about what the user wrote
//     extern __shared__ T name[];      T *name = (T *)cudasim_dynamic_shared();
//     __shared__                       thread_local, aligned; nothing among parameters
//     __global__                       nothing
//     __noinline__                     an attribute
//     asm("...")                       PTX of one instruction becomes a call, other PTX a refusal that names it
// Over 500 lines: one pass over the text, whose state its functions share.
#include "sim/compile/cu2cpp.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED "__cudasim_shared__"
#define GLOBAL "__cudasim_global__"

enum { MOST_LAUNCHES = 8 }; // each doubles the text of those within it

struct converter {
  const struct text *in;
  struct text *out;
  size_t statement;                                // where in `out` the current statement begins
  size_t marker;                                   // where in `in` the last line `# 12 "file"` begins
  int within_blocks, system_header, always_inline; // always_inline: kernels into their launches
  size_t launched;                                 // where in `out` the last launch ends
  int launches;                                    // that are being written, one within another's arguments
  struct text braces;  // one character for each open brace: n for a namespace's, b for others
  struct text kernels; // the names of functions with __global__, a line for each
};

static void convert(struct converter *c, size_t begin, size_t end);

// ---- launches ----

// Goes on, on a line of its own, as if the compiler were at position `at` of the text: what it says about what follows names the
// user's line and column. `file` in the place of the user's.
static void move_to(struct converter *c, size_t at, const char *file) {
  const struct text *in = c->in;
  size_t line = 0, begin = at;
  char marker[64];
  while (begin > 0 && in->bytes[begin - 1] != '\n')
    begin--;
  if (sscanf(in->bytes + c->marker, "# %zu", &line) != 1)
    return;
  for (size_t i = c->marker; i < begin; i++)
    line += in->bytes[i] == '\n';
  snprintf(marker, sizeof marker, "\n# %zu ", line - 1);
  append_string(c->out, marker);
  const char *name = strchr(in->bytes + c->marker, '"'), *end = strchr(name + 1, '"');
  if (file)
    append_quoted(c->out, file);
  else
    append(c->out, name, (size_t)(end - name) + 1);
  append_string(c->out, "\n");
  for (size_t i = begin; i < at && !file; i++)
    append_string(c->out, " ");
}

// The text between two positions as blanks: what comes after keeps its line and column.
static void append_blank(const struct text *in, size_t begin, size_t end, struct text *out) {
  for (size_t i = begin; i < end; i++)
    append(out, in->bytes[i] == '\n' ? "\n" : " ", 1);
}

static const char generated[] = "cudasim launch";

// Rewrites the launch whose <<< is at i; the position after its arguments. `(false ? (void)k(args) : launch(k, config)(args))`,
// everything that the user wrote at its own line and column.
static size_t rewrite_launch(struct converter *c, size_t i, size_t limit) {
  const struct text *in = c->in;
  struct text *out = c->out;
  struct launch l = parse_launch(in, i, limit, out, c->launched, true);
  const size_t open = skip_space(in, l.close + 3), length = l.written.length;
  if (in->bytes[open] != '(')
    expect_arguments(in, l.close + 3);
  if (++c->launches > MOST_LAUNCHES)
    fail_at(in, i, "too many launches, one within another's arguments");
  const size_t past = skip_group(in, open), first = length <= i && c->marker <= i - length ? i - length : i;
  out->length = l.begin;
  append_string(out, "(false ? (void)");
  move_to(c, first, NULL);
  append(out, l.written.bytes, length);
  append_blank(in, i, open, out);
  convert(c, open, past);
  move_to(c, i, generated);
  append_string(out, " : ");
  append_launcher(out, &l, BY_CALL, c->always_inline);
  move_to(c, i + 3, NULL);
  convert(c, i + 3, l.close);
  move_to(c, l.close, generated);
  append_string(out, ")");
  move_to(c, open, NULL);
  convert(c, open, past);
  append_string(out, ")");
  c->launched = out->length;
  c->launches--;
  launch_free(&l);
  return past;
}

// ---- inline PTX ----

// A statement asm("...") of the program's own at i: PTX is refused when a kernel comes to it. The position after it; i when it is
// something else.
static size_t rewrite_assembly(struct converter *c, size_t i, size_t word_length) {
  const struct text *in = c->in;
  size_t open = skip_space(in, i + word_length);
  while (word_at(in, open, "volatile") || word_at(in, open, "__volatile__"))
    open = skip_space(in, open + (in->bytes[open] == 'v' ? 8 : 12));
  if (c->system_header || c->within_blocks == 0 || in->bytes[open] != '(')
    return i;
  size_t close = skip_group(in, open);
  struct text flat = {0};
  append_flat(&flat, in->bytes + open + 1, close - open - 2);
  static const char *const signs[] = {".u32",    ".s32",   ".b32",           ".f32",  ".u64",   ".s64",  ".b64",
                                      ".f64",    ".u16",   ".b16",           ".f16",  ".u8",    ".sync", ".pred",
                                      "%%clock", "%%lane", "trap;",          "exit;", "membar", "fence", ".v2",
                                      ".v4",     "brkpt",  "griddepcontrol", ".bf16"};
  int ptx = 0;
  for (size_t s = 0; s < sizeof signs / sizeof *signs; s++)
    ptx |= strstr(flat.bytes, signs[s]) != NULL;
  const int known = append_register(flat.bytes, c->out) || append_ptx(flat.bytes, c->out);
  ptx |= known;
  if (ptx && !known) {
    append_string(c->out, "::cudasim::ptx(");
    append_quoted(c->out, flat.bytes);
    append_string(c->out, ")");
  }
  if (ptx)
    for (size_t at = i; at < close; at++)
      if (in->bytes[at] == '\n')
        append_string(c->out, "\n");
  free(flat.bytes);
  return ptx ? close : i;
}

// ---- small things ----

// clock() is the device's in a kernel and the C library's elsewhere.
static size_t rewrite_clock(struct converter *c, size_t i) {
  const struct text *in = c->in;
  size_t open = skip_space(in, i + 5), close = in->bytes[open] == '(' ? skip_space(in, open + 1) : open;
  size_t before = back_over_space(c->out, c->out->length);
  char last = before > 0 ? c->out->bytes[before - 1] : ';';
  if (in->bytes[open] != '(' || in->bytes[close] != ')' || last == ':' || last == '.' || is_word(last) ||
      (last == '>' && before > 1 && c->out->bytes[before - 2] == '-'))
    return ends_with_word(c->out, before, "return") && in->bytes[close] == ')' && in->bytes[open] == '('
               ? (append_string(c->out, "cudasim_clock"), i + 5)
               : i;
  append_string(c->out, "cudasim_clock");
  return i + 5;
}

// cudaLaunchKernel((void *)kernel, ...): without the cast, by which the kernel's parameters would be forgotten.
static size_t rewrite_launch_call(struct converter *c, size_t i, size_t end) {
  const struct text *in = c->in;
  size_t open = skip_space(in, end), cast = in->bytes[open] == '(' ? skip_space(in, open + 1) : open;
  if (in->bytes[open] != '(')
    return i;
  if (in->bytes[cast] != '(') {
    const size_t written = c->out->length;
    append(c->out, in->bytes + i, cast - i);
    const size_t past = rewrite_kernel_argument(in, cast, &c->kernels, c->out);
    c->out->length = past != cast ? c->out->length : written;
    return past != cast ? past : i;
  }
  struct text inside = {0};
  size_t past = skip_group(in, cast);
  for (size_t at = cast + 1; at < past - 1; at++)
    if (!is_space(in->bytes[at]))
      append(&inside, in->bytes + at, 1);
  append(&inside, "", 0);
  int forgets = strcmp(inside.bytes, "void*") == 0 || strcmp(inside.bytes, "constvoid*") == 0;
  free(inside.bytes);
  if (!forgets)
    return i;
  append(c->out, in->bytes + i, cast - i);
  append_blank(in, cast, past, c->out);
  const size_t name = skip_space(in, past);
  const size_t behind = rewrite_kernel_argument(in, name, &c->kernels, c->out);
  return behind != name ? behind : past;
}

// ---- all of it ----

static void open_brace(struct converter *c) {
  size_t i = skip_space(c->out, c->statement);
  if (word_at(c->out, i, "inline"))
    i = skip_space(c->out, i + 6);
  int transparent = word_at(c->out, i, "namespace");
  if (word_at(c->out, i, "extern"))
    transparent = c->out->bytes[skip_space(c->out, i + 6)] == '"' && c->out->bytes[c->out->length - 1] != ')' &&
                  strchr(c->out->bytes + i, '(') == NULL;
  append(&c->braces, transparent ? "n" : "b", 1);
  c->within_blocks += !transparent;
}

static void close_brace(struct converter *c) {
  if (c->braces.length > 0 && c->braces.bytes[--c->braces.length] == 'b')
    c->within_blocks--;
}

static size_t convert_line(struct converter *c, size_t i) {
  const struct text *in = c->in;
  size_t end = i;
  while (end < in->length && in->bytes[end] != '\n')
    end++;
  size_t after = rewrite_unroll(in, i, c->out);
  append(c->out, in->bytes + after, end - after);
  if (end > i + 2 && in->bytes[i + 1] == ' ' && isdigit((unsigned char)in->bytes[i + 2])) {
    c->marker = i;
    c->system_header = in->bytes[end - 1] == '3' || strncmp(in->bytes + end - 3, "3 4", 3) == 0;
  }
  return end;
}

// `alignas(n)` at `at`, after white space from `space`, as an attribute; the position after it.
static size_t rewrite_alignment(struct converter *c, size_t space, size_t at) {
  const size_t open = skip_space(c->in, at + 7), past = skip_group(c->in, open);
  append(c->out, c->in->bytes + space, at - space);
  append_string(c->out, "__attribute__((aligned");
  convert(c, open, past);
  append_string(c->out, "))");
  return past;
}

static size_t convert_word(struct converter *c, size_t i) {
  const struct text *in = c->in;
  size_t end = i;
  while (is_word(in->bytes[end]))
    end++;
  size_t after = i;
  if (word_at(in, i, SHARED) && ends_in_parameter(c->out))
    return end;
  if (word_at(in, i, GLOBAL) || word_at(in, i, "__cudasim_kernel__")) { // the other: in a file to be inspected
    note_kernel(in, end, &c->kernels);
    append_blank(in, i, end, c->out);
    return end;
  }
  if (word_at(in, i, "extern") || word_at(in, i, SHARED))
    after = rewrite_dynamic_shared(in, i, SHARED, c->within_blocks == 0, c->out);
  else if (word_at(in, i, "asm") || word_at(in, i, "__asm__") || word_at(in, i, "__asm"))
    after = rewrite_assembly(c, i, end - i);
  else if (!c->system_header && word_at(in, i, "threadIdx"))
    after = rewrite_coordinate(in, i, c->out);
  else if (!c->system_header && word_at(in, i, "clock"))
    after = rewrite_clock(c, i);
  else if (word_at(in, i, "cudaLaunchKernel") || word_at(in, i, "cudaLaunchCooperativeKernel"))
    after = rewrite_launch_call(c, i, end);
  if (after != i)
    return after;
  size_t before = back_over_space(c->out, c->out->length);
  if (word_at(in, i, SHARED)) {
    append_string(c->out, "thread_local __attribute__((aligned(128)))"); // kernels read float4s there, too
    const size_t next = skip_space(in, end);
    if (word_at(in, next, "alignas")) // which may not stand in the middle of a declaration
      return rewrite_alignment(c, end, next);
  } else if (word_at(in, i, "__noinline__") && before > 0 && !strchr("(,", c->out->bytes[before - 1]))
    append_string(c->out, "__attribute__((noinline))");
  else
    append(c->out, in->bytes + i, end - i);
  return end;
}

static void convert(struct converter *c, size_t begin, size_t end) {
  const struct text *in = c->in;
  for (size_t i = begin; i < end;) {
    char at = in->bytes[i];
    size_t after = skip_opaque(in, i);
    if (after != i) {
      append(c->out, in->bytes + i, after - i);
      i = after;
    } else if (at == '#' && (i == 0 || in->bytes[i - 1] == '\n')) {
      i = convert_line(c, i);
    } else if (is_word(at)) {
      i = convert_word(c, i);
    } else if (strncmp(in->bytes + i, "<<<", 3) == 0) {
      i = rewrite_launch(c, i, end);
    } else if (at == '(' && (after = rewrite_kernel_pointer(in, i, &c->kernels, c->out)) != i) {
      i = after;
    } else {
      if (at == '{')
        open_brace(c);
      else if (at == '}')
        close_brace(c);
      append(c->out, in->bytes + i++, 1);
      if (at == '{' || at == '}' || at == ';')
        c->statement = c->out->length;
    }
  }
}

void convert_program(const struct text *in, struct text *out, int always_inline) {
  struct converter c = {.in = in, .out = out, .always_inline = always_inline};
  append(&c.braces, "", 0);
  append(out, "", 0); // what looks back finds a text, if an empty one
  convert(&c, 0, in->length);
  free(c.braces.bytes);
  free(c.kernels.bytes);
}
