// SPDX-License-Identifier: MIT
// Inline PTX of one instruction, as a call of C++: arithmetic, loads and stores, fences. cudasim_ptx.h has the functions.
#include "sim/compile/cu2cpp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 12, MAX_ARGUMENTS = 8 };

struct operand {
  const char *text; // with its parentheses
  size_t length;
};

struct statement {
  char instruction[256];
  struct operand operand[MAX_OPERANDS];
  int operands, outputs;
};

// What an instruction is without its modifiers, and the function that does it; its first operand is the result.
static const struct {
  const char *name, *function;
  int arguments;
} instructions[] = {
    {"lop3.b32", "lop3", 4},
    {"bfind.u32", "bfind", 1},
    {"popc.b32", "popc", 1},
    {"clz.b32", "clz", 1},
    {"brev.b32", "brev", 1},
    {"prmt.b32", "prmt", 3},
    {"vabsdiff4.u32.u32.u32.add", "absolute_differences", 3},
    {"bfe.u32", "bfe", 3},
    {"bfe.s32", "bfe_signed", 3},
    {"bfi.b32", "bfi", 4},
    {"shf.l.wrap.b32", "shf_left", 3},
    {"shf.r.wrap.b32", "shf_right", 3},
    {"shl.b32", "shl", 2},
    {"shr.u32", "shr", 2},
    {"shr.b32", "shr", 2},
    {"and.b32", "both", 2},
    {"or.b32", "either", 2},
    {"xor.b32", "differs", 2},
    {"not.b32", "inverse", 1},
    {"add.u32", "add", 2},
    {"add.s32", "add", 2},
    {"sub.u32", "sub", 2},
    {"sub.s32", "sub", 2},
    {"mul.lo.u32", "mul", 2},
    {"mul.lo.s32", "mul", 2},
    {"mul.hi.u32", "mul_high", 2},
    {"mad.lo.u32", "mad", 3},
    {"mad.lo.s32", "mad", 3},
    {"mov.u32", "same", 1},
    {"mov.b32", "same", 1},
    {"mov.s32", "same", 1},
    {"ex2.approx.f32", "exp2f", 1},
    {"lg2.approx.f32", "log2f", 1},
    {"rcp.approx.f32", "reciprocal", 1},
    {"rcp.rn.f32", "reciprocal", 1},
    {"rsqrt.approx.f32", "rsqrtf", 1},
    {"sqrt.approx.f32", "sqrtf", 1},
    {"sqrt.rn.f32", "sqrtf", 1},
    {"sin.approx.f32", "sinf", 1},
    {"cos.approx.f32", "cosf", 1},
    {"tanh.approx.f32", "tanhf", 1},
    {"fma.rn.f32", "fmaf", 3},
    {"fma.rn.f64", "fma", 3},
};

static const struct {
  const char *name, *type;
} types[] = {{"u8", "unsigned char"}, {"s8", "signed char"},
             {"b8", "unsigned char"}, {"u16", "unsigned short"},
             {"s16", "short"},        {"b16", "unsigned short"},
             {"u32", "unsigned int"}, {"s32", "int"},
             {"b32", "unsigned int"}, {"u64", "unsigned long long"},
             {"s64", "long long"},    {"b64", "unsigned long long"},
             {"f32", "float"},        {"f64", "double"}};

// ---- reading ----

// One character of a string literal at p, escapes as white space.
static const char *read_literal(const char *p, char *to, size_t room) {
  size_t length = strlen(to);
  for (p++; *p && *p != '"'; p++) {
    const int escaped = *p == '\\' && p[1];
    p += escaped;
    const char c = escaped || *p == '\n' ? ' ' : *p;
    if (length + 2 > room)
      return NULL;
    to[length++] = c;
    to[length] = '\0';
  }
  return *p == '"' ? skip_spaces(p + 1) : NULL;
}

static const char *read_operands(const char *p, struct statement *s) {
  while (*p == '"') {
    p = strchr(p + 1, '"');
    p = p ? skip_spaces(p + 1) : NULL;
    if (p == NULL || *p != '(' || s->operands == MAX_OPERANDS)
      return NULL;
    const char *begin = p;
    int depth = 0;
    do {
      depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
      p++;
    } while (*p && depth > 0);
    s->operand[s->operands++] = (struct operand){begin, (size_t)(p - begin)};
    p = skip_spaces(p);
    p = *p == ',' ? skip_spaces(p + 1) : p;
  }
  return p;
}

static int read_statement(const char *text, struct statement *s) {
  const char *p = skip_spaces(text);
  if (*p != '"')
    return 0;
  while (p && *p == '"')
    p = read_literal(p, s->instruction, sizeof s->instruction);
  if (p && *p == ':')
    p = read_operands(skip_spaces(p + 1), s);
  s->outputs = s->operands;
  if (p && *p == ':')
    p = read_operands(skip_spaces(p + 1), s);
  if (p == NULL || (*p != '\0' && *p != ':')) // behind a third colon: what is clobbered
    return 0;
  char *end = s->instruction + strlen(s->instruction), *first = s->instruction + strspn(s->instruction, " \t");
  while (end > s->instruction && (is_space(end[-1]) || end[-1] == ';'))
    *--end = '\0';
  if (*first == '{' && end[-1] == '}') { // a block of its own
    *first = ' ';
    for (*--end = '\0'; end > first && (is_space(end[-1]) || end[-1] == ';');)
      *--end = '\0';
  }
  return strpbrk(s->instruction, ";{}@") == NULL || strncmp(skip_spaces(s->instruction), "ld.", 3) == 0 ||
         strncmp(skip_spaces(s->instruction), "st.", 3) == 0;
}

// The arguments after the mnemonic, at their commas outside {}; their number, or -1.
static int split(char *p, char **argument) {
  int count = 0, depth = 0;
  p += strspn(p, " \t");
  if (*p == '\0')
    return 0;
  for (argument[count++] = p; *p; p++) {
    depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
    if (*p == ',' && depth == 0) {
      *p = '\0';
      if (count == MAX_ARGUMENTS)
        return -1;
      argument[count++] = p + 1 + strspn(p + 1, " \t");
    }
  }
  return count;
}

// %1, or a number, as C++; 0 where it is something else.
static int append_argument(const struct statement *s, const char *argument, struct text *out) {
  int number = 0, end = 0;
  if (sscanf(argument, "%%%d %n", &number, &end) == 1 && end > 0 && argument[end] == '\0' && number < s->operands) {
    append(out, s->operand[number].text, s->operand[number].length);
    return 1;
  }
  const size_t digits = strspn(argument, "-0123456789abcdefABCDEFx");
  if (digits == 0 || argument[digits + strspn(argument + digits, " \t")] != '\0')
    return 0;
  append(out, argument, digits);
  return 1;
}

// Without `.ftz`, `.sat` and the like, which change the last bits or nothing.
static void plain_name(const char *name, char *to, size_t room) {
  *to = '\0';
  size_t length = 0;
  while (*name && length + 1 < room) {
    if (strncmp(name, ".ftz", 4) == 0 && (name[4] == '.' || name[4] == '\0'))
      name += 4;
    else
      to[length++] = *name++;
    to[length] = '\0';
  }
}

// ---- writing ----

static int append_calculation(const struct statement *s, const char *name, char **argument, int count,
                              struct text *out) {
  for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
    if (strcmp(instructions[i].name, name) != 0 || count != instructions[i].arguments + 1 || s->outputs != 1 ||
        strcmp(argument[0], "%0") != 0)
      continue;
    const size_t before = out->length;
    append_string(out, "::cudasim::ptx_op::assign");
    append_string(out, "(");
    append(out, s->operand[0].text, s->operand[0].length);
    append_string(out, ", ::cudasim::ptx_op::");
    append_string(out, instructions[i].function);
    for (int a = 1; a < count; a++) {
      append_string(out, a == 1 ? "(" : ", ");
      if (!append_argument(s, argument[a], out)) {
        out->length = before;
        out->bytes[before] = '\0';
        return 0;
      }
    }
    append_string(out, "))");
    return 1;
  }
  return 0;
}

// ld.global.v4.f32 {%0, %1, %2, %3}, [%4]  and  st.volatile.u32 [%0], %1
static int append_access(const struct statement *s, const char *name, char **argument, int count, struct text *out) {
  const int load = strncmp(name, "ld.", 3) == 0, store = strncmp(name, "st.", 3) == 0;
  const char *type = NULL, *last = strrchr(name, '.');
  for (size_t i = 0; last && i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, last + 1) == 0)
      type = types[i].type;
  if ((!load && !store) || type == NULL || count != 2 || strstr(name, ".shared") || strstr(name, ".param") ||
      strstr(name, ".const"))
    return 0;
  const char *address = argument[load], *values = argument[!load];
  int at = 0, number[4], end = 0;
  if (sscanf(address, "[ %%%d ] %n", &at, &end) != 1 || end == 0 || address[end] != '\0' || at >= s->operands)
    return 0;
  int many = sscanf(values, "{ %%%d , %%%d , %%%d , %%%d }", &number[0], &number[1], &number[2], &number[3]);
  if (many < 1)
    many = sscanf(values, "%%%d", &number[0]);
  if (many < 1 || (many > 1) != (strstr(name, ".v2") != NULL || strstr(name, ".v4") != NULL))
    return 0;
  append_string(out, load ? "::cudasim::ptx_op::load<" : "::cudasim::ptx_op::store<");
  append_string(out, type);
  append_string(out, ">(");
  append(out, s->operand[at].text, s->operand[at].length);
  for (int i = 0; i < many; i++) {
    if (number[i] < 0 || number[i] >= s->operands)
      return 0;
    append_string(out, ", ");
    append(out, s->operand[number[i]].text, s->operand[number[i]].length);
  }
  append_string(out, ")");
  return 1;
}

int append_ptx(const char *text, struct text *out) {
  struct statement s = {.operands = 0};
  char name[64] = "", plain[64], *argument[MAX_ARGUMENTS];
  if (!read_statement(text, &s))
    return 0;
  char *instruction = s.instruction + strspn(s.instruction, " \t");
  const size_t length = strcspn(instruction, " \t");
  if (length == 0 || length >= sizeof name)
    return 0;
  memcpy(name, instruction, length);
  name[length] = '\0';
  const int count = split(instruction + length, argument);
  plain_name(name, plain, sizeof plain);
  if (count == 0 && strcmp(name, "trap") == 0) {
    append_string(out, "::cudasim::ptx_op::trap()");
    return 1;
  }
  if (count == 0 && (strncmp(name, "membar.", 7) == 0 || strncmp(name, "fence.", 6) == 0) && !strstr(name, "proxy")) {
    append_string(out, "__threadfence()");
    return 1;
  }
  const size_t before = out->length;
  if (count > 0 &&
      (append_calculation(&s, plain, argument, count, out) || append_access(&s, name, argument, count, out)))
    return 1;
  out->length = before;
  if (out->bytes)
    out->bytes[before] = '\0';
  return 0;
}

// ---- special registers -----------------------------------------------------------------------------------------------------

// Special registers that a program reads by PTX because CUDA C++ has no name for them.
static const struct {
  const char *name, *value;
} registers[] = {{"laneid", "(unsigned int)::cudasim::lane()"},
                 {"warpid", "::cudasim::warp_of_block()"},
                 {"lanemask_eq", "(1u << ::cudasim::lane())"},
                 {"lanemask_lt", "((1u << ::cudasim::lane()) - 1u)"},
                 {"lanemask_le", "((2u << ::cudasim::lane()) - 1u)"},
                 {"lanemask_gt", "(0u - (2u << ::cudasim::lane()))"},
                 {"lanemask_ge", "(0u - (1u << ::cudasim::lane()))"},
                 {"clock", "(unsigned int)clock64()"},
                 {"clock64", "clock64()"},
                 {"globaltimer", "__nv_globaltimer()"}};

int append_register(const char *text, struct text *out) {
  char name[16], type[4], constraint;
  int place = 0, end = 0;
  if (sscanf(text, " \"mov.%3[usb0-9] %%0, %%%%%15[a-z0-9_]%n", type, name, &place) != 2 || place == 0) {
    place = 0;
    if (sscanf(text, " \"mov.%3[usb0-9] %%0, %%%15[a-z0-9_]%n", type, name, &place) != 2 || place == 0)
      return 0;
  }
  text += place;
  text += *text == ';';
  if (sscanf(text, "\" : \"=%c\" %n", &constraint, &end) != 1 || end == 0 || text[end] != '(')
    return 0;
  const char *close = strrchr(text + end, ')');
  if (close == NULL || close[1 + strspn(close + 1, " ")] != '\0')
    return 0;
  for (size_t r = 0; r < sizeof registers / sizeof *registers; r++)
    if (strcmp(registers[r].name, name) == 0) {
      append(out, text + end, (size_t)(close + 1 - text - end));
      append_string(out, " = ");
      append_string(out, registers[r].value);
      return 1;
    }
  return 0;
}
