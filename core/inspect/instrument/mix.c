// SPDX-License-Identifier: MIT
// The instruction mix of each basic block, from the instrumented program's machine code. A block begins with a call
// to __sanitizer_cov_trace_pc, or with what pad_arrays.c has put in its place; at run time core/inspect counts how
// often warps execute it. Only for x86-64, whose scalar instructions correspond to those of a GPU; what a GPU encodes
// in an operand (a negation, a constant, an offset) does not count.
#include "inspect/instrument/instrument.h"
#include "inspect/instrument/listing.h"
#include "tool/compile/process.h"
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
enum { X86_64 = true };
#else
enum { X86_64 = false };
#endif
enum { HANDLER_STEPS = 16 }; // so many instructions after its first one, a bounds check's handler has made its call
enum { EVENT_STEPS = 10 };   // instructions of an inlined block event (pad_arrays.c)
// nvcc makes the instructions behind a branch conditional, instead of branching around them, if they are at most so many.
enum { CONDITIONAL = 7 };
// nvcc divides float32 as IEEE 754 demands: an approximate reciprocal, which is a special function, and so many float32 instructions.
enum { QUOTIENT = 8 };

// ---- one instruction -----------------------------------------------------------------------------------------------------

static bool is_one_of(const char *const *list, const char *name) {
  for (; *list; list++)
    if (**list == *name && strcmp(*list, name) == 0) // most differ in their first character
      return true;
  return false;
}

static Step floating(const char *name) {
  static const char *const adds[] = {"addss", "subss", NULL}, *const adds64[] = {"addsd", "subsd", NULL};
  static const char *const fp32[] = {"maxss", "minss", "comiss", "ucomiss", NULL};
  static const char *const fp64[] = {"maxsd", "minsd", "comisd", "ucomisd", NULL};
  static const char *const special[] = {"sqrtss", "divsd", "sqrtsd", NULL};
  if (is_one_of(adds, name))
    return STEP_ADD;
  if (strcmp(name, "mulss") == 0)
    return STEP_MULTIPLY;
  if (is_one_of(adds64, name))
    return STEP_ADD64;
  if (strcmp(name, "mulsd") == 0)
    return STEP_MULTIPLY64;
  if (strcmp(name, "divss") == 0)
    return STEP_QUOTIENT;
  if (is_one_of(fp32, name) || strncmp(name, "cmp", 3) == 0)
    return strcmp(name + strlen(name) - 2, "ss") == 0 || is_one_of(fp32, name) ? STEP_FP32
           : strcmp(name + strlen(name) - 2, "sd") == 0                        ? STEP_FP64
                                                                               : STEP_NOTHING;
  if (is_one_of(fp64, name))
    return STEP_FP64;
  return is_one_of(special, name) || strncmp(name, "cvt", 3) == 0 ? STEP_SPECIAL : STEP_NOTHING;
}

// "div", "idivl"
static bool divides(const char *name) {
  name += name[0] == 'i';
  return strncmp(name, "div", 3) == 0 && (name[3] == '\0' || (strchr("bwlq", name[3]) && name[4] == '\0'));
}

// A call of the math library: "call 1234 <expf@plt>".
static Step called(const char *operands) {
  static const char *const functions[] = {"exp", "exp2", "log", "log2", "sin", "cos",
                                          "tan", "tanh", "pow", "erf",  "sqrt"};
  const char *name = strchr(operands, '<');
  if (!name)
    return STEP_NOTHING;
  name++;
  if (strncmp(name, "fmaf@", 5) == 0 || strncmp(name, "fmaf>", 5) == 0)
    return STEP_FMA;
  if (strncmp(name, "fma@", 4) == 0 || strncmp(name, "fma>", 4) == 0)
    return STEP_FP64;
  if (strncmp(name, "fmaxf@", 6) == 0 || strncmp(name, "fminf@", 6) == 0)
    return STEP_FP32;
  if (strncmp(name, "__sanitizer_cov_trace_pc", 24) == 0)
    return STEP_BLOCK;
  if (strncmp(name, "__ubsan_handle_out_of_bounds", 28) == 0)
    return STEP_HANDLER;
  if (strncmp(name, "__tsan_func_", 12) == 0)
    return STEP_NOTHING;
  if (strncmp(name, "__tsan_", 7) == 0)
    return STEP_ACCESS;
  // a shuffle, in the name of its instance: one instruction; cudasim_warp.h keeps the inside uninstrumented
  if (strstr(name, "__shfl_"))
    return STEP_SHUFFLE;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    size_t length = strlen(functions[i]);
    if (strncmp(name, functions[i], length) == 0 && strchr("f@>", name[length]))
      return STEP_SPECIAL;
  }
  return STEP_SYNC;
}

static Step step_of(const char *name, const char *operands) {
  if (strncmp(name, "call", 4) == 0)
    return called(operands);
  if (strncmp(name, "ret", 3) == 0 || (strncmp(name, "jmp", 3) == 0 && strstr(operands, "<__tsan_func_exit")))
    return STEP_RETURN;
  if (strncmp(name, "jmp", 3) == 0 || strcmp(name, "ud2") == 0)
    return STEP_END;
  if (name[0] == 'j')
    return STEP_BRANCH;
  return divides(name) ? STEP_DIVISION : floating(name);
}

// ---- the whole program ---------------------------------------------------------------------------------------------------

// "lea 0x25(%rip),%rdi # 1234 <...>", "mov %rax,%fs:0x..."
static Step event_step(const char *name, const char *operands, uint64_t *to) {
  const char *target = strstr(operands, "# ");
  if (strcmp(name, "lea") == 0 && strstr(operands, "(%rip),%rdi") && target) {
    *to = strtoull(target + 2, NULL, 16);
    return STEP_ADDRESS;
  }
  return strcmp(name, "mov") == 0 && strncmp(operands, "%rax,%fs:", 9) == 0 ? STEP_STORED : STEP_NOTHING;
}

// Parses "    1234:\tmulss  %xmm2,%xmm0
// ", modifying it. Written by hand for speed: a program has a hundred thousand instructions.
static bool read_instruction(char *line, Instruction *i) {
  char *colon;
  const unsigned long at = strtoul(line, &colon, 16);
  if (colon != line && strncmp(colon, " <", 2) == 0) {
    *i = (Instruction){.at = at, .step = STEP_FUNCTION};
    return true;
  }
  if (colon == line || colon[0] != ':' || colon[1] != '\t')
    return false;
  char *name = colon + 2, *operands = name + strcspn(name, " \n");
  if (operands == name)
    return false;
  if (*operands)
    *operands++ = '\0';
  operands += strspn(operands, " ");
  operands[strcspn(operands, "\n")] = '\0';
  *i = (Instruction){.at = at, .to = strtoull(operands, NULL, 16), .step = step_of(name, operands)};
  snprintf(i->name, sizeof i->name, "%s", name);
  if (i->step == STEP_NOTHING)
    i->step = event_step(name, operands, &i->to);
  i->operands = operands;
  return true;
}

// If the last instructions are an inlined block event, replaces them by it.
static void merge_event(Listing *l, uint64_t behind) {
  const int begin = l->count - EVENT_STEPS;
  if (begin < 0 || l->list[begin].step != STEP_ADDRESS || l->list[begin].to != behind ||
      l->list[l->count - 1].step != STEP_STORED)
    return;
  for (int n = begin; n < l->count; n++) {
    free((char *)(uintptr_t)l->list[n].operands);
    l->list[n].operands = "";
  }
  l->list[begin].step = STEP_BLOCK;
  l->count = begin + 1;
}

static Listing read_listing(FILE *in) {
  Listing l = {0};
  char line[1024];
  Instruction i;
  while (fgets(line, sizeof line, in))
    if (read_instruction(line, &i)) {
      merge_event(&l, i.at);
      i.operands = i.operands ? strndup(i.operands, strcspn(i.operands, "<")) : NULL;
      l.list = inspect_grown(l.list, l.count, sizeof *l.list);
      l.list[l.count++] = i;
    }
  return l;
}

int listing_find(const Listing *l, uint64_t at) {
  int low = 0, high = l->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (l->list[middle].at < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool listing_is_handler(const Listing *l, uint64_t at) {
  const int low = listing_find(l, at);
  for (int n = low; n < l->count && n < low + HANDLER_STEPS && l->list[n].step != STEP_END; n++)
    if (l->list[n].step == STEP_HANDLER)
      return true;
  return false;
}

// A multiplication and an addition in one block count as one multiply-add, since nvcc contracts them.
static int pairs(int a, int b) {
  return a < b ? a : b;
}

// What it costs to execute an instruction conditionally.
static int cost(const Instruction *i, int integers) {
  switch (i->step) {
  case STEP_NOTHING:
  case STEP_BLOCK:
  case STEP_HANDLER:
  case STEP_END:
    return integers;
  case STEP_BRANCH:
    return integers;
  case STEP_SPECIAL:
    return integers + 4;
  case STEP_QUOTIENT:
    return integers + 1 + QUOTIENT;
  default:
    return integers + 1;
  }
}

// Does a GPU execute what is behind this branch conditionally? If it jumps forward over a few instructions, or to the second half of an
// if and else. The first instruction behind them; 0: no.
static int conditional_end(const Listing *l, const int *integers, int branch) {
  uint64_t to = l->list[branch].to;
  int sum = 0;
  int n = branch + 1;
  if (to <= l->list[branch].at)
    return 0;
  for (; n < l->count && l->list[n].at < to; n++) {
    const Instruction *i = &l->list[n];
    const bool jumps = i->step == STEP_END || (i->step == STEP_BRANCH && !listing_is_handler(l, i->to));
    if (i->step == STEP_RETURN || i->step == STEP_SYNC || i->step == STEP_FUNCTION || (jumps && i->to <= i->at))
      return 0;
    to = jumps && i->to > to ? i->to : to;
    sum += cost(i, integers[n]);
    if (sum > CONDITIONAL)
      return 0;
  }
  return n;
}

// Is there a branch that a GPU makes?
static bool is_branch(const Listing *l, const Instruction *i) {
  // "jp" belongs to the comparison of floats that the next one tests
  return i->step == STEP_BRANCH && !listing_is_handler(l, i->to) && strcmp(i->name, "jp") != 0;
}

// Marks the events of blocks whose instructions are executed with those before the branch, with the number of its block's event.
static void find_conditional(const Listing *l, const int *integers, int *with) {
  int event = -1;
  for (int n = 0; n < l->count; n++) {
    if (l->list[n].step == STEP_BLOCK)
      event = with[n] ? with[n] : n;
    const int end = is_branch(l, &l->list[n]) && event >= 0 ? conditional_end(l, integers, n) : 0;
    for (int i = n + 1; i < end; i++)
      if (l->list[i].step == STEP_BLOCK && !with[i])
        with[i] = event;
  }
}

// Adds the steps of the basic block that begins after `first`.
static void add_block(const Listing *l, const int *integers, int first, int of[STEPS], int *integer, int *branches) {
  for (int n = first + 1; n < l->count; n++) {
    const Instruction *i = &l->list[n];
    *branches += i->step == STEP_RETURN;
    *integer += integers[n];
    if (i->step == STEP_END || i->step == STEP_RETURN || i->step == STEP_BLOCK || i->step == STEP_FUNCTION)
      break;
    *branches += is_branch(l, i) && !conditional_end(l, integers, n);
    of[i->step]++;
  }
}

// Writes the mix of a basic block as core/inspect/mix.c reads it, with those that a GPU executes with it.
static void write_block(FILE *out, const Listing *l, const int *integers, const int *with, int first) {
  int of[STEPS] = {0}, integer = 0, branches = 0;
  if (first + 1 >= l->count || with[first])
    return;
  add_block(l, integers, first, of, &integer, &branches);
  for (int n = first + 1; n < l->count && l->list[n].step != STEP_FUNCTION; n++)
    if (with[n] == first && first)
      add_block(l, integers, n, of, &integer, &branches);
  int fma = pairs(of[STEP_ADD], of[STEP_MULTIPLY]), fma64 = pairs(of[STEP_ADD64], of[STEP_MULTIPLY64]);
  fprintf(out, "%lx %d %d %d %d %d %d %d\n", (unsigned long)l->list[first + 1].at, fma + of[STEP_FMA],
          of[STEP_ADD] + of[STEP_MULTIPLY] - fma + of[STEP_FMA] + of[STEP_FP32] + QUOTIENT * of[STEP_QUOTIENT],
          of[STEP_ADD64] + of[STEP_MULTIPLY64] - fma64 + of[STEP_FP64], integer + of[STEP_SHUFFLE],
          of[STEP_SPECIAL] + of[STEP_QUOTIENT], of[STEP_DIVISION], branches);
}

// Each function that has events.
static void count_integers(const Listing *l, int *integers) {
  for (int n = 0, end; n < l->count; n = end) {
    bool events = false;
    for (end = n + 1; end < l->count && l->list[end].step != STEP_FUNCTION; end++)
      events |= l->list[end].step == STEP_BLOCK;
    if (events && l->list[n].step == STEP_FUNCTION)
      integers_count(l, n + 1, end, integers);
  }
}

bool inspect_mix_of(FILE *listing, FILE *out) {
  Listing l = read_listing(listing);
  int *integers = calloc((size_t)l.count + 1, sizeof *integers);
  if (integers)
    count_integers(&l, integers);
  int *with = calloc((size_t)l.count + 1, sizeof *with);
  const bool good = integers && with;
  if (good)
    find_conditional(&l, integers, with);
  for (int n = 0; good && n < l.count; n++)
    if (l.list[n].step == STEP_BLOCK)
      write_block(out, &l, integers, with, n);
  free(integers);
  free(with);
  for (int n = 0; n < l.count; n++)
    if (l.list[n].step != STEP_BLOCK || *l.list[n].operands)
      free((char *)(uintptr_t)l.list[n].operands);
  free(l.list);
  return good;
}

bool inspect_write_mix(const InspectBuild *b, char *path, size_t bytes) {
  if (!X86_64)
    return false;
  char listing[300];
  const char *argv[] = {"objdump", "-d", "--no-show-raw-insn", b->program, NULL};
  snprintf(path, bytes, "%s/mix", b->folder);
  snprintf(listing, sizeof listing, "%s/listing", b->folder);
  if (run_tool(argv, b->folder, NULL, listing, "/dev/null") != 0)
    return false;
  FILE *in = fopen(listing, "r"), *out = fopen(path, "w");
  bool good = in && out && inspect_mix_of(in, out);
  if (in)
    fclose(in);
  return out && fclose(out) == 0 && good;
}
