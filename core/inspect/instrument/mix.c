// SPDX-License-Identifier: MIT
// The instruction mix of each basic block, from the instrumented program's machine code. A block begins with a call
// to __sanitizer_cov_trace_pc, or with what pad_arrays.c has put in its place; at run time core/inspect counts how
// often warps execute it. Only for x86-64, whose scalar instructions correspond to those of a GPU; what a GPU encodes
// in an operand (a negation, a constant, an offset) does not count.
#include "inspect/instrument/instrument.h"
#include "tool/compile/process.h"
#include <stdlib.h>
#include <string.h>

enum { HANDLER_STEPS = 16 }; // so many instructions after its first one, a bounds check's handler has made its call
enum { EVENT_STEPS = 10 };   // instructions of an inlined block event (pad_arrays.c)

typedef enum Step {
  STEP_NOTHING,
  STEP_BLOCK,   // the call at the beginning of a basic block
  STEP_ADDRESS, // loads the address of a following instruction, as an inlined block event begins
  STEP_STORED,  // and stores a register, as it ends
  STEP_HANDLER, // the call of a failed bounds check
  STEP_END,     // a jump or return: control does not go on to the next instruction
  STEP_BRANCH,
  STEP_ADD,
  STEP_MULTIPLY,
  STEP_FP32,
  STEP_FMA,
  STEP_ADD64,
  STEP_MULTIPLY64,
  STEP_FP64,
  STEP_SPECIAL,
  STEP_INTEGER,
  STEP_COMPARE,
  STEP_DIVISION
} Step;

typedef struct Instruction {
  uint64_t at, to; // to: the target of a branch
  Step step;
} Instruction;

typedef struct Program {
  Instruction *list;
  int count;
} Program;

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
  static const char *const special[] = {"divss", "sqrtss", "divsd", "sqrtsd", NULL};
  if (is_one_of(adds, name))
    return STEP_ADD;
  if (strcmp(name, "mulss") == 0)
    return STEP_MULTIPLY;
  if (is_one_of(adds64, name))
    return STEP_ADD64;
  if (strcmp(name, "mulsd") == 0)
    return STEP_MULTIPLY64;
  if (is_one_of(fp32, name) || strncmp(name, "cmp", 3) == 0)
    return strcmp(name + strlen(name) - 2, "ss") == 0 || is_one_of(fp32, name) ? STEP_FP32
           : strcmp(name + strlen(name) - 2, "sd") == 0                        ? STEP_FP64
                                                                               : STEP_NOTHING;
  if (is_one_of(fp64, name))
    return STEP_FP64;
  return is_one_of(special, name) || strncmp(name, "cvt", 3) == 0 ? STEP_SPECIAL : STEP_NOTHING;
}

// Free on a GPU: setting a register to 0; computing an address of a register and an offset, or one that is passed to
// the access's callback (in rdi).
static bool is_free(const char *name, const char *operands) {
  const char *comma = strrchr(operands, ',');
  if (strncmp(name, "xor", 3) == 0 || strncmp(name, "sub", 3) == 0)
    return comma && strlen(comma + 1) == (size_t)(comma - operands) &&
           strncmp(operands, comma + 1, (size_t)(comma - operands)) == 0;
  const char *open = strchr(operands, '(');
  return strncmp(name, "lea", 3) == 0 && open &&
         (memchr(open, ',', strcspn(open, ")")) == NULL || strcmp(comma + 1, "%rdi") == 0);
}

static Step integer(const char *name, const char *operands) {
  static const char *const some[] = {"add", "sub", "imul", "shl", "sal", "sar", "shr", "and", "or",
                                     "xor", "not", "neg",  "inc", "dec", "lea", "bt",  NULL};
  char stem[32];
  snprintf(stem, sizeof stem, "%s", name);
  size_t length = strlen(stem);
  if (strstr(operands, "%rsp") || strstr(operands, "%xmm"))
    return STEP_NOTHING;
  for (int turn = 0; turn < 2; turn++) { // as it is, then without the size suffix: addl
    if (is_one_of(some, stem))
      return is_free(stem, operands) ? STEP_NOTHING : STEP_INTEGER;
    if (strcmp(stem, "cmp") == 0 || strcmp(stem, "test") == 0)
      return STEP_COMPARE;
    if (strcmp(stem, "div") == 0 || strcmp(stem, "idiv") == 0)
      return STEP_DIVISION;
    if (length > 2 && strchr("bwlq", stem[length - 1]))
      stem[length - 1] = '\0';
  }
  return strncmp(name, "cmov", 4) == 0 ? STEP_INTEGER : STEP_NOTHING;
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
  // a shuffle, in the name of its instance: one instruction; cudasim_warp.h keeps the inside uninstrumented
  if (strstr(name, "__shfl_"))
    return STEP_INTEGER;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    size_t length = strlen(functions[i]);
    if (strncmp(name, functions[i], length) == 0 && strchr("f@>", name[length]))
      return STEP_SPECIAL;
  }
  return STEP_NOTHING;
}

static Step step_of(const char *name, const char *operands) {
  if (strncmp(name, "call", 4) == 0)
    return called(operands);
  if (strncmp(name, "jmp", 3) == 0 || strncmp(name, "ret", 3) == 0 || strcmp(name, "ud2") == 0)
    return STEP_END;
  if (name[0] == 'j')
    return STEP_BRANCH;
  Step step = floating(name);
  return step != STEP_NOTHING ? step : integer(name, operands);
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
  if (i->step == STEP_NOTHING)
    i->step = event_step(name, operands, &i->to);
  return true;
}

// If the last instructions are an inlined block event, replaces them by it.
static void merge_event(Program *p, uint64_t behind) {
  const int begin = p->count - EVENT_STEPS;
  if (begin < 0 || p->list[begin].step != STEP_ADDRESS || p->list[begin].to != behind ||
      p->list[p->count - 1].step != STEP_STORED)
    return;
  p->list[begin].step = STEP_BLOCK;
  p->count = begin + 1;
}

static Program read_program(FILE *in) {
  Program p = {0};
  char line[1024];
  Instruction i;
  while (fgets(line, sizeof line, in))
    if (read_instruction(line, &i)) {
      merge_event(&p, i.at);
      p.list = inspect_grown(p.list, p.count, sizeof *p.list);
      p.list[p.count++] = i;
    }
  return p;
}

static bool leads_to_handler(const Program *p, uint64_t at) {
  int low = 0, high = p->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (p->list[middle].at < at)
      low = middle + 1;
    else
      high = middle;
  }
  for (int n = low; n < p->count && n < low + HANDLER_STEPS && p->list[n].step != STEP_END; n++)
    if (p->list[n].step == STEP_HANDLER)
      return true;
  return false;
}

// A multiplication and an addition in one block count as one multiply-add, since nvcc contracts them.
static int pairs(int a, int b) {
  return a < b ? a : b;
}

// Writes the mix of the basic block that begins after `first`, as core/inspect/mix.c reads it.
static void write_block(FILE *out, const Program *p, int first) {
  int of[STEP_DIVISION + 1] = {0};
  bool compared = false;
  for (int n = first + 1; n < p->count; n++) {
    const Instruction *i = &p->list[n];
    if (i->step == STEP_END || i->step == STEP_BLOCK)
      break;
    // The comparison of a bounds check is not in the source.
    if (i->step == STEP_BRANCH && compared && leads_to_handler(p, i->to))
      of[STEP_COMPARE]--;
    compared = i->step == STEP_COMPARE || (compared && i->step != STEP_BRANCH);
    of[i->step]++;
  }
  int fma = pairs(of[STEP_ADD], of[STEP_MULTIPLY]), fma64 = pairs(of[STEP_ADD64], of[STEP_MULTIPLY64]);
  if (first + 1 < p->count)
    fprintf(out, "%lx %d %d %d %d %d %d\n", (unsigned long)p->list[first + 1].at, fma + of[STEP_FMA],
            of[STEP_ADD] + of[STEP_MULTIPLY] - fma + of[STEP_FMA] + of[STEP_FP32],
            of[STEP_ADD64] + of[STEP_MULTIPLY64] - fma64 + of[STEP_FP64], of[STEP_INTEGER] + of[STEP_COMPARE],
            of[STEP_SPECIAL], of[STEP_DIVISION]);
}

bool inspect_mix_of(FILE *listing, FILE *out) {
#ifdef __x86_64__
  Program p = read_program(listing);
  for (int n = 0; n < p.count; n++)
    if (p.list[n].step == STEP_BLOCK)
      write_block(out, &p, n);
  free(p.list);
  return true;
#else
  (void)listing;
  (void)out;
  return false;
#endif
}

bool inspect_write_mix(const InspectBuild *b, char *path, size_t bytes) {
#ifdef __x86_64__
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
#else
  (void)b;
  (void)path;
  (void)bytes;
  return false;
#endif
}
