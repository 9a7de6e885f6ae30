// SPDX-License-Identifier: MIT
// What an x86-64 instruction does to the integers in registers and on the stack, and which of them it needs (values.c).
#include "inspect/instrument/integers.h"

// ---- operands ------------------------------------------------------------------------------------------------------------

typedef struct Operand {
  enum { NONE, IMMEDIATE, REGISTER, SLOT, MEMORY } kind; // NONE: a part of the stack that is not followed, too
  int place;                                             // REGISTER, SLOT
  int64_t value;                                         // IMMEDIATE
  Value address;                                         // MEMORY
  char text[40];
} Operand;

static int register_named(const char *p, size_t length) {
  static const char *const names[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
  if (length >= 2 && p[0] == 'r' && p[1] >= '0' && p[1] <= '9') {
    const int number = atoi(p + 1);
    return number >= 8 && number <= 15 ? number : NO_REGISTER;
  }
  const size_t skip = length == 3 && (p[0] == 'r' || p[0] == 'e');
  for (int i = 0; i < 8; i++)
    if (length - skip == 2 && strncmp(p + skip, names[i], 2) == 0)
      return i;
  for (int i = 0; i < 8; i++) // al, spl
    if ((length == 2 && i < 4 && p[0] == names[i][0] && p[1] == 'l') ||
        (length == 3 && i >= 4 && strncmp(p, names[i], 2) == 0 && p[2] == 'l'))
      return i;
  return NO_REGISTER;
}

static Value value_at(Function *f, int place) {
  if (f->state[place].form < 0)
    f->state[place] = value_atom(f, (Atom){.phi = false});
  return f->state[place];
}

static int slot_at(Function *f, int64_t distance) {
  for (int i = 0; i < f->slots; i++)
    if (f->slot[i] == distance)
      return REGISTERS + i;
  if (f->slots == SLOTS)
    return NO_REGISTER;
  f->slot[f->slots] = distance;
  return REGISTERS + f->slots++;
}

// "0x8(%rax,%rbx,4)" and the like: its address. Thread-local variables and those at a fixed address are at a constant.
static Value address_of(Function *f, const char *p, bool *in_stack) {
  char *open;
  p += strncmp(p, "%fs:", 4) == 0 ? 4 : 0;
  Value sum = value_constant((int64_t)strtoull(p + (*p == '-'), &open, 16) * (*p == '-' ? -1 : 1));
  *in_stack = false;
  if (*open != '(')
    return sum;
  for (int part = 0; *open && *open != ')'; part++) {
    const char *word = open + 1 + (open[1] == '%');
    const size_t length = strcspn(word, ",)");
    const int reg = length ? register_named(word, length) : NO_REGISTER;
    open += 1 + (open[1] == '%') + length;
    if (reg == RSP)
      *in_stack = true;
    else if (reg != NO_REGISTER)
      sum = value_linear(f, value_at(f, reg), part == 1 && *open == ',' ? atoi(open + 1) : 1, sum);
    if (part == 1)
      break;
  }
  return sum;
}

static Operand operand_of(Function *f, const char *p, size_t length) {
  Operand o = {.kind = NONE};
  snprintf(o.text, sizeof o.text, "%.*s", (int)length, p);
  if (length == 0)
    return o;
  if (*p == '$') {
    o.kind = IMMEDIATE;
    o.value = (int64_t)strtoull(p + 1, NULL, 16);
    o.value = p[1] == '-' ? -(int64_t)strtoull(p + 2, NULL, 16) : o.value;
    if (o.value > INT32_MAX && o.value <= UINT32_MAX) // of 32 bits
      o.value = (int32_t)(uint32_t)o.value;
  } else if (*p == '%' && strncmp(p, "%fs:", 4) != 0) {
    o.place = register_named(p + 1, length - 1);
    o.kind = o.place == NO_REGISTER ? NONE : REGISTER;
  } else {
    bool in_stack;
    o.kind = MEMORY;
    o.address = address_of(f, o.text, &in_stack);
    const char *target = strstr(o.text, "(%rip)") ? strstr(p, "# ") : NULL;
    o.address = target ? value_constant((int64_t)strtoull(target + 2, NULL, 16)) : o.address;
    if (in_stack) {
      o.place = o.address.form == 0 ? slot_at(f, o.address.constant) : NO_REGISTER;
      o.kind = o.place == NO_REGISTER ? NONE : SLOT;
    }
  }
  return o;
}

static int operands_of(Function *f, const char *text, Operand o[3]) {
  int count = 0;
  while (*text && *text != '#' && *text != '<' && count < 3) {
    size_t length = 0;
    for (int depth = 0; text[length] && text[length] != ' ' && (depth || text[length] != ','); length++)
      depth += text[length] == '(' ? 1 : text[length] == ')' ? -1 : 0;
    o[count++] = operand_of(f, text, length);
    text += length;
    text += *text == ',';
    text += strspn(text, " ");
  }
  return count;
}

static Value read_operand(Function *f, const Operand *o) {
  switch (o->kind) {
  case IMMEDIATE:
    return value_constant(o->value);
  case REGISTER:
  case SLOT:
    return value_at(f, o->place);
  default: // the indices of the thread, and addresses that the linker fills in, do not change
    if (strcmp(o->text, "%fs:0x0") == 0)
      return value_constant(0);
    if (strncmp(o->text, "%fs:", 4) == 0 || strstr(o->text, "(%rip)"))
      return value_operation(f, value_fixed, o->address, value_constant(o->text[0] == '%'), false);
    return value_atom(f, (Atom){.phi = false});
  }
}

static void write_operand(Function *f, const Operand *o, Value v) {
  if (o->kind == REGISTER || o->kind == SLOT)
    f->state[o->place] = v;
  else if (o->kind == MEMORY)
    value_need(f, v, false);
}

// ---- instructions ----------------------------------------------------------------------------------------------------------

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

// add, addl, addq
static bool is_named(const char *name, const char *stem) {
  const size_t length = strlen(stem);
  return strncmp(name, stem, length) == 0 &&
         (name[length] == '\0' || (strchr("bwlq", name[length]) && !name[length + 1]));
}

static void set_flags(Function *f, Value a, Value b, bool by_immediate) {
  f->flags[0] = a;
  f->flags[1] = b;
  f->flags_set = true;
  f->by_immediate = by_immediate;
}

// A branch, a set or a conditional move depends on the comparison: one instruction, once.
static void need_flags(Function *f) {
  if (!f->flags_set)
    return;
  f->integers[f->now]++;
  value_need(f, f->flags[0], f->by_immediate);
  value_need(f, f->flags[1], f->by_immediate);
  f->flags_set = false;
}

static void two_operands(Function *f, const char *name, const Operand *from, const Operand *to) {
  const Value a = read_operand(f, from), b = read_operand(f, to);
  Value result;
  if (is_named(name, "add"))
    result = value_linear(f, a, 1, b);
  else if (is_named(name, "sub"))
    result = value_linear(f, a, -1, b);
  else if (is_named(name, "xor") && from->kind == REGISTER && to->kind == REGISTER && from->place == to->place)
    result = value_constant(0);
  else if ((is_named(name, "shl") || is_named(name, "sal")) && from->kind == IMMEDIATE)
    result = value_linear(f, b, (int64_t)1 << (from->value & 63), value_constant(0));
  else if (is_named(name, "imul") && from->kind == IMMEDIATE)
    result = value_linear(f, b, from->value, value_constant(0));
  else
    result = value_operation(f, name, a, b, is_named(name, "imul"));
  write_operand(f, to, result);
  set_flags(f, result, value_constant(0), true);
}

static void one_operand(Function *f, const char *name, const Operand *o) {
  const Value v = read_operand(f, o);
  Value result;
  if (is_named(name, "neg"))
    result = value_linear(f, v, -1, value_constant(0));
  else if (is_named(name, "inc") || is_named(name, "dec"))
    result = (Value){v.form, v.constant + (name[0] == 'i' ? 1 : -1)};
  else if (is_named(name, "shl") || is_named(name, "sal") || is_named(name, "shr") || is_named(name, "sar"))
    result = value_operation(f, name, v, value_constant(1), false);
  else
    result = value_operation(f, name, v, value_constant(0), false);
  write_operand(f, o, result);
  set_flags(f, result, value_constant(0), true);
}

static void moved(Function *f, const char *name, const Operand *from, const Operand *to) {
  // of a byte or a short: a conversion, unless it is loaded
  const bool narrow =
      (begins(name, "movz") || begins(name, "movs")) && (name[4] == 'b' || name[4] == 'w') && from->kind == REGISTER;
  const Value v = read_operand(f, from);
  write_operand(f, to, narrow && v.form ? value_operation(f, name, v, value_constant(0), false) : v);
}

static bool is_move(const char *name) {
  return is_named(name, "mov") || begins(name, "movabs") || begins(name, "movsl") || begins(name, "movz") ||
         begins(name, "movsb") || begins(name, "movsw");
}

const int integers_clobbered[CLOBBERED] = {RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11};

static void called(Function *f, Step step) {
  if (step == STEP_ACCESS)
    value_need(f, value_at(f, RDI), true);
  for (size_t i = 0; i < CLOBBERED; i++)
    f->state[integers_clobbered[i]].form = -1;
  f->flags_set = false;
}

static void integer_instruction(Function *f, const char *name, Operand *o, int count) {
  static const char *const twos[] = {"add", "sub", "xor", "and", "or", "shl", "sal", "shr", "sar", "rol", "ror", NULL};
  static const char *const ones[] = {"neg", "not", "inc", "dec", "shl", "sal", "shr", "sar", NULL};
  static const char *const found[] = {"popcnt", "bsf", "bsr", "tzcnt", "lzcnt", NULL};
  if (count == 2 && is_move(name)) {
    moved(f, name, &o[0], &o[1]);
  } else if (count == 2 && is_named(name, "lea")) {
    write_operand(f, &o[1], o[0].kind == MEMORY ? o[0].address : (Value){-1, 0});
  } else if (count == 2 && (is_named(name, "cmp") || is_named(name, "test"))) {
    const bool same = strcmp(o[0].text, o[1].text) == 0; // test %eax,%eax
    set_flags(f, read_operand(f, &o[1]), same ? value_constant(0) : read_operand(f, &o[0]),
              same || o[0].kind == IMMEDIATE);
  } else if (begins(name, "set") && count == 1) {
    need_flags(f);
    write_operand(f, &o[0], (Value){-1, 0});
  } else if (begins(name, "cmov") && count == 2) {
    need_flags(f);
    write_operand(f, &o[1], value_operation(f, name, read_operand(f, &o[0]), read_operand(f, &o[1]), false));
  } else if (is_named(name, "imul") && count == 3) {
    write_operand(f, &o[2], value_linear(f, read_operand(f, &o[1]), o[0].value, value_constant(0)));
  } else {
    for (int i = 0; count == 2 && (twos[i] || is_named(name, "imul")); i++)
      if (!twos[i] || is_named(name, twos[i])) {
        two_operands(f, name, &o[0], &o[1]);
        return;
      }
    for (int i = 0; count == 1 && ones[i]; i++)
      if (is_named(name, ones[i])) {
        one_operand(f, name, &o[0]);
        return;
      }
    for (int i = 0; count == 2 && found[i]; i++)
      if (is_named(name, found[i])) {
        write_operand(f, &o[1], value_operation(f, name, read_operand(f, &o[0]), value_constant(0), false));
        return;
      }
    if (count) // what it writes, if that is an integer, is from elsewhere
      write_operand(f, &o[count - 1], (Value){-1, 0});
  }
}

// A conversion needs an integer, and others may write one.
static void floating_instruction(Function *f, const Instruction *i) {
  const char *last = strrchr(i->operands, '%');
  Operand o[3];
  if (begins(i->name, "cvtsi2s") && operands_of(f, i->operands, o))
    value_need(f, read_operand(f, &o[0]), false);
  const int reg =
      last && last[1] != 'x' && !strchr(last, ')') ? register_named(last + 1, strcspn(last + 1, " ")) : NO_REGISTER;
  if (reg != NO_REGISTER)
    f->state[reg].form = -1;
}

void integers_execute(Function *f, const Instruction *i) {
  Operand o[3];
  switch (i->step) {
  case STEP_BRANCH:
    if (listing_is_handler(f->l, i->to))
      f->flags_set = false;
    else
      need_flags(f);
    return;
  case STEP_BLOCK:
  case STEP_ACCESS:
  case STEP_HANDLER:
  case STEP_SYNC:
  case STEP_SHUFFLE:
    called(f, i->step);
    return;
  case STEP_DIVISION:
    value_need(f, value_at(f, RAX), false);
    if (operands_of(f, i->operands, o) == 1)
      value_need(f, read_operand(f, &o[0]), false);
    f->state[RAX].form = f->state[RDX].form = -1;
    return;
  case STEP_END:
  case STEP_RETURN:
  case STEP_FUNCTION:
    return;
  default:
    if (strncmp(i->name, "call", 4) == 0) {
      called(f, i->step);
    } else if (strcmp(i->name, "cltd") == 0 || strcmp(i->name, "cqto") == 0) {
      f->state[RDX].form = -1;
    } else if (begins(i->name, "ucomis") || begins(i->name, "comis")) {
      f->flags_set = false;
    } else if (strstr(i->operands, "%xmm")) {
      floating_instruction(f, i);
    } else if (strcmp(i->name, "cltq") != 0 && strcmp(i->name, "push") != 0 && strcmp(i->name, "pop") != 0 &&
               !begins(i->name, "nop")) {
      const int count = operands_of(f, i->operands, o);
      if (count && !(o[count - 1].kind == REGISTER && o[count - 1].place == RSP))
        integer_instruction(f, i->name, o, count);
    }
  }
}

int integers_written(Function *f, const char *operands) {
  const char *last = operands, *p = operands;
  for (int depth = 0; *p && *p != ' '; p++) {
    depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
    last = *p == ',' && depth == 0 ? p + 1 : last;
  }
  if (*last == '%' && last[1] != 'f')
    return register_named(last + 1, (size_t)(p - last) - 1);
  const char *open = strchr(last, '(');
  if (!open || strncmp(open, "(%rsp)", 6) != 0 || *last == '%')
    return NO_REGISTER;
  const int64_t distance = (int64_t)strtoull(last + (*last == '-'), NULL, 16);
  return slot_at(f, *last == '-' ? -distance : distance);
}
