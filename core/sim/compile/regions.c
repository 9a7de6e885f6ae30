// SPDX-License-Identifier: MIT
// Parallel-region formation (PoCL: Jääskeläinen, de La Lama, Schnetter, Raiskila, Takala and Berg, "pocl: A Performance-Portable OpenCL
// Implementation", IJPP 43, 2015): the code between two barriers is a parallel region, and each region becomes one loop over the
// block's threads, a work-item loop. The loops come before the original body, which stays for all other cases:
//     __global__ void k(float *x) {
//     if (::cudasim::whole_block(ORIGIN)) {
//       [](float *x) { for (all threads) { first region }  for (all threads) { second region } ... }(x);
//       ::cudasim::whole_done(); return; }
//     (as it was)
// The loops are a function of their own, since a thread that runs by itself has a small stack. Control flow that is the same for all
// threads, such as a loop around a barrier, is written once, around those loops. include/cudasim_split.h has the functions that the
// generated code calls.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compile/workitem_loops.h"

static void write_number(const struct writer *w, const char *format, int number) {
  char text[100];
  snprintf(text, sizeof text, format, number);
  append_string(w->out, text);
}

// ---- what all threads do together ----------------------------------------------------------------------------------------

static void write_uniform_declaration(const struct writer *w, const struct statement *s) {
  for (int i = 0; i < w->k->variable_count; i++) {
    const struct variable *v = &w->k->variables[i];
    if (v->in != s || v->class != V_UNIFORM || v->result || v->declared)
      continue;
    move_to(w, w->k->t->all[v->declarator.begin].p, false);
    declare_plainly(w, v);
  }
}

static void write_structural(struct writer *w, const struct statement *s, bool tail) {
  const struct tokens *t = w->k->t;
  move_to(w, t->all[s->at.begin].p, false);
  switch (s->kind) {
  case S_BARRIER:
    append_string(w->out, "::cudasim::passed(); ");
    return;
  case S_BLOCK_COLLECTIVE:
  case S_WARP_COLLECTIVE:
    write_collective(w, s);
    return;
  case S_RETURN:
    if (w->level == LEVEL_WARP)
      write_number(w, "goto cudasim_warp_%d; ", w->warps);
    else
      append_string(w->out, "return; ");
    return;
  case S_BREAK:
  case S_CONTINUE:
    write_range(w, s->at);
    return;
  case S_IF:
    append_string(w->out, "if (");
    write_condition(w, s);
    append_string(w->out, ") {");
    write_list(w, s->child, tail, s->child->at.end);
    append_string(w->out, "\n}");
    if (s->other) {
      append_string(w->out, " else {");
      write_list(w, s->other, tail, s->other->at.end);
      append_string(w->out, "\n}");
    }
    return;
  case S_FOR:
    append_string(w->out, "for (");
    write_range(w, s->init->at);
    write_range(w, s->condition);
    append_string(w->out, "; ");
    write_range(w, s->step);
    append_string(w->out, ") {");
    break;
  case S_WHILE:
    append_string(w->out, "while (");
    write_range(w, s->condition);
    append_string(w->out, ") {");
    break;
  default: // S_BLOCK and S_DO
    append_string(w->out, s->kind == S_DO ? "do {" : "{");
  }
  write_list(w, s->child, s->kind == S_BLOCK && tail, s->at.end);
  append_string(w->out, "\n}");
  if (s->kind == S_DO) {
    append_string(w->out, " while (");
    write_range(w, s->condition);
    append_string(w->out, ");");
  }
}

// A statement that is done once for all threads, between two loops over them.
static bool is_once(const struct writer *w, const struct statement *s, bool tail) {
  return s->uniform || statement_structural(s, list_tail(s, tail, w->level), w->level);
}

// Which of the variables declared from `first` to before `end` are needed by what comes after.
static void choose_context_arrays(struct writer *w, const struct statement *first, const struct statement *end,
                                  int list_end) {
  struct kernel *k = w->k;
  for (const struct statement *s = first; s != end && end; s = s->next)
    for (int i = 0; i < k->variable_count && s->kind == S_DECLARATION; i++) {
      struct variable *v = &k->variables[i];
      if (v->in == s && v->class == V_LOCAL &&
          (v->addressed || kernel_mentions(k, (struct range){end->at.begin, list_end}, v))) {
        v->class = w->level == LEVEL_WARP ? V_LANE_CONTEXT : V_CONTEXT;
        declare_context_array(w, v);
      }
    }
}

// What stands between two barriers, or two warp functions.
static void write_parallel_region(struct writer *w, const struct statement *s, const struct statement *end, bool tail,
                                  int list_end) {
  bool returned = false; // some threads: what comes after is not for all
  for (const struct statement *at = s; at != end; at = at->next) {
    for (int i = 0; i < w->k->variable_count && returned; i++)
      if (w->k->variables[i].in == at && at->kind == S_DECLARATION)
        w->k->variables[i].class = V_LOCAL;
    returned |= at->returns;
    if (at->kind == S_HOISTED) {
      move_to(w, w->k->t->all[at->at.begin].p, false);
      write_range(w, at->at);
    } else if (at->kind == S_DECLARATION) {
      write_uniform_declaration(w, at);
    }
  }
  choose_context_arrays(w, s, end, list_end);
  write_region_loop(w, s, end, end == NULL && tail);
}

void write_list(struct writer *w, const struct statement *s, bool tail, int list_end) {
  if (s && s->kind == S_BLOCK && s->next == NULL && is_once(w, s, tail)) { // the braces of a loop or an if
    write_list(w, s->child, tail, list_end);
    return;
  }
  while (s && w->failed == NOT_REFUSED) {
    if (s->uniform) {
      move_to(w, w->k->t->all[s->at.begin].p, false);
      write_range(w, s->at);
      s = s->next;
      continue;
    }
    if (is_once(w, s, tail)) {
      write_structural(w, s, list_tail(s, tail, w->level));
      s = s->next;
      continue;
    }
    const struct statement *end = s;
    bool warp = false;
    for (; end && !is_once(w, end, tail); end = end->next)
      warp |= end->warp;
    if (warp) {
      choose_context_arrays(w, s, end, list_end);
      write_warps(w, (struct statement *)s, end, end == NULL && tail, list_end);
    } else {
      write_parallel_region(w, s, end, tail, list_end);
    }
    s = end;
  }
}

// ---- a kernel ------------------------------------------------------------------------------------------------------------

// What stands beside the `*` at i, on its right or its left: a word, a number or what is in brackets; empty: something else.
static struct range factor_beside(const struct tokens *t, int i, bool right) {
  const int at = right ? i + 1 : i - 1;
  if (t->all[at].kind != TOKEN_SIGN && !token_is(t, at - 1, "."))
    return (struct range){at, at + 1};
  if (right && token_is(t, at, "(") && t->all[at].match > at)
    return (struct range){at, t->all[at].match + 1};
  if (!right && token_is(t, at, ")") && t->all[at].match >= 0 && t->all[t->all[at].match - 1].kind == TOKEN_SIGN)
    return (struct range){t->all[at].match, at + 1};
  return (struct range){0, 0};
}

// What a kernel multiplies blockIdx.x with: counted from there, its usual `blockIdx.x * N + threadIdx.x` is the loop's own counter.
struct range kernel_origin(const struct kernel *k) {
  const struct tokens *t = k->t;
  for (int i = k->body.begin; i + 4 < k->body.end; i++) {
    long value;
    if (!token_is(t, i, "blockIdx") || !token_is(t, i + 2, "x"))
      continue;
    const bool right = token_is(t, i + 3, "*");
    if (!right && !token_is(t, i - 1, "*"))
      continue;
    const struct range whole = factor_beside(t, right ? i + 3 : i - 1, right);
    const bool group = whole.end - whole.begin > 1;
    bool own = whole.begin >= whole.end; // a variable of the kernel's is not there yet
    for (int at = whole.begin; at < whole.end; at++)
      own |= kernel_variable(k, at) != NULL;
    if (own || (!group && t->all[whole.begin].kind != TOKEN_NUMBER && !kernel_template_parameter(k, whole.begin) &&
                !known_constant(t, whole.begin, &value)))
      continue;
    if (!group || kernel_pure(k, whole, false))
      return whole;
  }
  return (struct range){0, 0};
}

static void write_origin(const struct writer *w) {
  const struct range factor = kernel_origin(w->k);
  append_string(w->out,
                factor.begin < factor.end ? "(unsigned int)blockIdx.x * (unsigned int)" : "blockIdx.x * blockDim.x");
  write_range(w, factor);
}

// What has to be blockDim.x for blocks to lie side by side.
static void write_width(const struct writer *w) {
  const struct range factor = kernel_origin(w->k);
  append_string(w->out, factor.begin < factor.end ? ", (unsigned int)" : ", blockDim.x");
  write_range(w, factor);
}

// Parameters that each thread changes for itself.
static void write_own_parameters(struct writer *w) {
  struct kernel *k = w->k;
  bool any = false;
  for (int i = 0; i < k->variable_count; i++) {
    struct variable *v = &k->variables[i];
    if (!v->parameter || v->class == V_UNIFORM)
      continue;
    if (!kernel_plain_type(k, v))
      w->failed = REFUSED_PARAMETER_CONTEXT;
    append_string(w->out, "decltype(");
    write_name(w, v->name, ") ");
    write_name(w, v->name, "_cudasim[::cudasim::MOST_THREADS]; ");
    w->context_bytes += 16;
    any = true;
  }
  if (!any)
    return;
  open_loop(w, true);
  for (int i = 0; i < k->variable_count; i++) {
    struct variable *v = &k->variables[i];
    if (!v->parameter || v->class == V_UNIFORM)
      continue;
    v->class = V_CONTEXT;
    write_name(w, v->name, "_cudasim[cudasim_t] = ");
    write_name(w, v->name, "; ");
  }
  close_loop(w);
}

static const char *const ignored[] = {"-Wpragmas",
                                      "-Wunknown-warning-option",
                                      "-Wunused-variable",
                                      "-Wunused-but-set-variable",
                                      "-Wunused-local-typedefs",
                                      "-Wunused-value",
                                      "-Wdangling-pointer",
                                      "-Wmaybe-uninitialized",
                                      "-Wuninitialized",
                                      "-Wsign-compare",
                                      "-Wparentheses",
                                      "-Wmisleading-indentation",
                                      "-Wshadow",
                                      "-Wdangling-else",
                                      "-Wempty-body",
                                      "-Wconversion",
                                      "-Warray-bounds",
                                      "-Wstringop-overflow",
                                      "-Wdiv-by-zero",
                                      "-Wfloat-conversion",
                                      "-Wunused-parameter",
                                      "-Wunknown-pragmas"};

void write_silence(const struct writer *w) {
  append_string(w->out, "\n#pragma GCC diagnostic push\n");
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
    append_string(w->out, "#pragma GCC diagnostic ignored ");
    append_quoted(w->out, ignored[i]);
    append_string(w->out, "\n");
  }
}

void write_shape(const struct writer *w) {
  append_string(w->out, "const unsigned int cudasim_base = ");
  write_origin(w);
  append_string(w->out, ", cudasim_height = blockDim.y, cudasim_depth = blockDim.z; const int cudasim_width = (int)");
  append_string(w->out, w->coarsened ? "(blockDim.x * cudasim_coarsened.taken)" : "blockDim.x");
  append_string(w->out, ", cudasim_first = (int)cudasim_base, cudasim_end = cudasim_first + cudasim_width; ");
}

static void write_whole(struct writer *w) {
  struct kernel *k = w->k;
  const bool always = w->program || w->instrumented;
  append_string(w->out, always ? "\nif (::cudasim::whole_block(" : "\n#if CUDASIM_SPLIT\nif (::cudasim::whole_block(");
  write_origin(w);
  if (w->coarsened)
    write_width(w);
  append_string(w->out, ")");
  write_agreement(w);
  append_string(w->out, ") { [](");
  write_range(w, k->parameters);
  append_string(w->out, ") __attribute__((noinline)) -> void {");
  write_silence(w);
  write_shape(w);
  append_string(w->out, w->instrumented ? "const bool cudasim_backwards = ::cudasim::backwards(); " : "");
  if (k->reads_thread_index)
    append_string(w->out, "alignas(cudasim_index) char cudasim_room[sizeof(cudasim_index)]; "
                          "cudasim_thread = reinterpret_cast<cudasim_index *>(cudasim_room); ");
  append_string(w->out, "{ ");
  write_own_parameters(w);
  write_list(w, k->top->child, true, k->body.end);
  append_string(w->out, "\n}\n#pragma GCC diagnostic pop");
  move_to(w, k->t->all[k->body.begin - 1].p, false);
  append_string(w->out, "}(");
  const char *comma = "";
  for (int i = 0; i < k->variable_count; i++)
    if (k->variables[i].parameter) {
      append_string(w->out, comma);
      write_name(w, k->variables[i].name, "");
      comma = ", ";
    }
  append_string(w->out, "); ::cudasim::whole_done(); return; }");
  append_string(w->out, always ? "" : "\n#endif");
}

// The name, parameters and body of the kernel whose __global__ is at i; false: it is no definition.
static bool find_kernel(const struct tokens *t, int i, struct kernel *k) {
  static const char *const stops[] = {";", "{", "}", NULL};
  int at = function_parameters(t, i, stops);
  *k = (struct kernel){.t = t};
  if (at < 0)
    return false;
  k->name = token_before(t, at);
  k->parameters = (struct range){at + 1, t->all[at].match};
  const int brace = t->all[at].match > at ? token_next(t, t->all[at].match) : -1;
  if (brace < 0 || !token_is(t, brace, "{") || t->all[brace].match < brace)
    return false;
  k->body = (struct range){brace + 1, t->all[brace].match};
  for (at = token_before(t, i); at >= 0 && !token_is(t, at, ";") && !token_is(t, at, "}") && !token_is(t, at, "{");
       at = token_before(t, at))
    if (token_is(t, at, "template"))
      k->template_parameters = (struct range){at + 1, i};
  return true;
}

// The kernel as one whose warp functions and calls of functions that wait are statements of their own. `text` is the other one's.
static bool normalize(struct tokens *t, struct kernel *k, const struct text *in, bool program, struct text *text) {
  if (!kernel_normalize(t, k, in, program, text))
    return false;
  const int name = k->name, from = tokens_add(t, text), open = from + 2;
  const struct range template_parameters = k->template_parameters;
  kernel_free(k);
  *k = (struct kernel){.t = t, .name = name, .template_parameters = template_parameters};
  k->parameters = (struct range){open + 1, t->all[open].match};
  k->body = (struct range){t->all[open].match + 2, t->all[t->all[open].match + 1].match};
  return kernel_parse(k);
}

const char *refusal_text(enum refusal why) {
#define REFUSAL_TEXT(name, text) [name] = text,
  static const char *const texts[] = {[NOT_REFUSED] = "", REFUSALS(REFUSAL_TEXT)};
#undef REFUSAL_TEXT
  return texts[why];
}

// The kernel's loops, to `version`.
static bool form_regions(struct tokens *t, struct kernel *k, struct writer *w) {
  struct text flat = {0}; // stays: tokens point into it
  bool good = kernel_parse(k);
  if (good && !kernel_is_normal(k)) {
    good = normalize(t, k, w->in, w->program, &flat);
    w->in = &flat;
    w->marked = true;
    w->spot = (struct spot){.line = 1};
  }
  if (!good || !kernel_classify(k))
    return false;
  w->coarsened = kernel_can_coarsen(k);
  write_whole(w);
  k->why_not = w->instrumented && k->reads_thread_index ? REFUSED_THREAD_QUERY : w->failed;
  if (w->coarsened && w->context_bytes > 0) // there is room for a block's threads
    k->why_not = REFUSED_COARSENED_CONTEXT;
  if (!k->top->barrier && !k->top->warp && !w->range_split &&
      !w->coarsened) // the loop of cudasim_launch.h does as well
    k->why_not = REFUSED_NOTHING_GAINED;
  return k->why_not == NOT_REFUSED;
}

// Of a program after the preprocessor the second stands in files to be inspected (include/cudasim_abi.h).
static bool is_kernels_word(const struct tokens *t, int i, bool program) {
  return program ? token_is(t, i, "__cudasim_global__") || token_is(t, i, "__cudasim_kernel__")
                 : token_is(t, i, "__global__");
}

void write_work_item_loops(const struct text *in, struct text *out, bool program, bool instrumented) {
  struct tokens t = {0};
  size_t written = 0;
  struct spot spot = {.line = 1};
  const bool tell = getenv("CU2CPP_TELL") != NULL;
  tokens_read(&t, in, !program);
  for (int i = 0; i < t.main_count; i++) {
    struct kernel k;
    if (t.all[i].kind != TOKEN_WORD || !is_kernels_word(&t, i, program) || !find_kernel(&t, i, &k))
      continue;
    struct text version = {0};
    const struct writer before = {.k = &k,
                                  .out = &version,
                                  .in = in,
                                  .program = program,
                                  .instrumented = instrumented,
                                  .marked = program,
                                  .spot = spot};
    struct writer w = before;
    const size_t body = (size_t)(t.all[k.body.begin - 1].p + 1 - in->bytes);
    append(&version, "", 0);
    spot = w.spot = spot_of(&before, (size_t)(t.all[i].p - in->bytes));
    if (form_regions(&t, &k, &w)) {
      w.in = in;
      w.marked = program;
      w.spot = spot;
      move_to(&w, in->bytes + body, true);
      append(out, in->bytes + written, body - written);
      append(out, version.bytes, version.length);
      written = body;
    }
    if (tell) {
      const struct token *at = k.why_token > 0 && k.why_token < t.main_count ? &t.all[k.why_token] : &t.all[k.name];
      const int line = (int)spot_of(&before, (size_t)(at->p - in->bytes)).line;
      fprintf(stderr, "%d: %.*s: %s", line, t.all[k.name].length, t.all[k.name].p,
              k.why_not     ? refusal_text(k.why_not)
              : w.coarsened ? "joined"
                            : "split");
      fprintf(stderr, k.why_token > 0 ? ": %.*s\n" : "\n", t.all[k.why_token].length, t.all[k.why_token].p);
    }
    free(version.bytes);
    kernel_free(&k);
  }
  append(out, in->bytes + written, in->length - written);
  tokens_free(&t);
}
