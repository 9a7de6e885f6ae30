// SPDX-License-Identifier: MIT
// The value of an instruction, as a polynomial, a condition, or a base and an offset.
#include "prove.h"
#include <stdio.h>
#include <string.h>

typedef struct Memo {
  LLVMValueRef of;
  int version;
  Value value;
  struct Memo *next;
} Memo;

Value number_value(Poly p) {
  return (Value){.kind = NUMBER, .number = p};
}

Value condition_value(const char *text) {
  return (Value){.kind = CONDITION, .text = text};
}

int width_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? (int)LLVMGetIntTypeWidth(type) : 64;
}

static bool is_whole(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64;
}

// A value of which nothing is known. A pointer without a base is no access's.
Value opaque(LLVMTypeRef type, Scope scope) {
  if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
    return (Value){.kind = POINTER, .text = "true"};
  if (!is_whole(type))
    return (Value){.kind = OTHER};
  const int width = width_of(type);
  if (width == 1)
    return condition_value(symbols[new_condition(scope)].name);
  const wide half = (wide)1 << (width - 1);
  return number_value(poly_symbol(new_symbol(scope, -half, half - 1, NULL)));
}

static void widen(const Poly *p, wide *low, wide *high) {
  wide from, to;
  poly_range(p, &from, &to);
  *low = from < *low ? from : *low;
  *high = to > *high ? to : *high;
}

// One of several numbers: the one whose condition holds.
static Poly one_of(const Poly *numbers, const char **conditions, int count, Scope scope) {
  bool equal = true;
  wide low = (wide)1 << 100, high = -low;
  for (int i = 0; i < count; i++) {
    equal &= poly_equal(&numbers[0], &numbers[i]);
    widen(&numbers[i], &low, &high);
  }
  if (equal)
    return numbers[0];
  const int n = new_symbol(scope, low, high, NULL);
  char *rule = (char *)"(and";
  for (int i = 0; i < count; i++)
    rule = text_of("%s (=> %s (= %s %s))", rule, conditions[i], symbols[n].name, poly_text(&numbers[i]));
  symbols[n].rule = text_of("%s)", rule);
  return poly_symbol(n);
}

static const char *both_texts(const char *a, const char *b) {
  return strcmp(a, "true") == 0 ? b : strcmp(b, "true") == 0 || strcmp(a, b) == 0 ? a : text_of("(and %s %s)", a, b);
}

Value combine(const Value *values, const char **conditions, int count, LLVMTypeRef type, Scope scope) {
  Poly *numbers = allocate(sizeof *numbers * (size_t)count);
  if (values[0].kind == CONDITION) {
    const char *name = symbols[new_condition(PER_THREAD)].name;
    char *rule = (char *)"(and";
    for (int i = 0; i < count; i++)
      rule = text_of("%s (=> %s (= %s %s))", rule, conditions[i], name, values[i].text);
    symbols[symbol_count - 1].rule = text_of("%s)", rule);
    return condition_value(name);
  }
  Value result = values[0];
  for (int i = 0; i < count; i++) {
    if (values[i].kind != values[0].kind || values[i].kind == OTHER)
      return opaque(type, PER_THREAD);
    if (values[i].kind == POINTER &&
        (!values[i].base || !values[0].base || strcmp(values[i].base, values[0].base) != 0))
      return opaque(type, PER_THREAD);
    numbers[i] = normalize(&values[i].number, width_of(type), true);
    if (values[i].kind == POINTER && i)
      result.text = both_texts(result.text, text_of("(=> %s %s)", conditions[i], values[i].text));
    else if (values[i].kind == POINTER)
      result.text = text_of("(=> %s %s)", conditions[i], values[i].text);
  }
  result.number = one_of(numbers, conditions, count, scope);
  return result;
}

Value choose(const char *condition, const Value *a, const Value *b, LLVMTypeRef type) {
  if (strcmp(condition, "true") == 0 || strcmp(condition, "false") == 0)
    return condition[0] == 't' ? *a : *b;
  if (a->kind == CONDITION && b->kind == CONDITION)
    return condition_value(text_of("(ite %s %s %s)", condition, a->text, b->text));
  const Value values[2] = {*a, *b};
  const char *conditions[2] = {condition, text_of("(not %s)", condition)};
  Scope scope = text_scope(condition);
  for (int i = 0; i < 2; i++)
    if (values[i].kind != OTHER && poly_scope(&values[i].number) > scope)
      scope = poly_scope(&values[i].number);
  return combine(values, conditions, 2, type, scope);
}

// ---- what is no instruction -------------------------------------------------------------------------------------------------

static Value pointer_to(const char *base) {
  return (Value){.kind = POINTER, .base = base, .text = "true"};
}

static Value global_value(LLVMValueRef g) {
  size_t length;
  const char *name = LLVMGetValueName2(g, &length);
  const unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
  if (space == 3 && LLVMIsDeclaration(g)) // all of them begin where dynamic shared memory does
    return pointer_to("shared memory of the launch");
  if (space == 4 || LLVMIsGlobalConstant(g))
    return pointer_to("constant");
  return pointer_to(text_of("%s %s", space == 3 ? "shared" : "global", name));
}

static bool is_by_value(LLVMValueRef argument, unsigned index) {
  return LLVMGetEnumAttributeAtIndex(LLVMGetParamParent(argument), (LLVMAttributeIndex)(index + 1),
                                     LLVMGetEnumAttributeKindForName("byval", 5));
}

static Value argument_value(LLVMValueRef argument) {
  static struct {
    LLVMValueRef of;
    Value value;
  } memo[300];
  LLVMValueRef function = LLVMGetParamParent(argument);
  unsigned index = 0;
  while (LLVMGetParam(function, index) != argument)
    index++;
  if (index == 300)
    not_tried("the kernel has too many parameters");
  if (memo[index].of)
    return memo[index].value;
  size_t length;
  const char *name = LLVMGetValueName2(argument, &length);
  memo[index].of = argument;
  if (LLVMGetTypeKind(LLVMTypeOf(argument)) == LLVMPointerTypeKind)
    memo[index].value = !is_by_value(argument, index)   ? pointer_to(text_of("array %s", name))
                        : is_written_directly(argument) ? pointer_to("local") // the thread's copy
                                                        : pointer_to(text_of("value %s", name));
  else
    memo[index].value = opaque(LLVMTypeOf(argument), PER_LAUNCH);
  if (memo[index].value.kind == NUMBER)
    symbols[memo[index].value.number.terms[0].symbols[0]].shown = text_of("%s", name);
  return memo[index].value;
}

// A member of a struct that is a parameter: the same at each read.
static Value member_value(const Value *pointer, LLVMTypeRef type) {
  static struct {
    const char *name;
    Value value;
  } memo[300];
  static int count;
  long long offset;
  if (!poly_is_constant(&pointer->number, &offset))
    return opaque(type, PER_THREAD);
  char *read = LLVMPrintTypeToString(type);
  const char *name = text_of("%s+%lld %s", pointer->base, offset, read);
  for (int i = 0; i < count; i++)
    if (strcmp(memo[i].name, name) == 0)
      return memo[i].value;
  if (count == 300)
    not_tried("the kernel has too many parameters");
  memo[count].name = name;
  memo[count].value = LLVMGetTypeKind(type) == LLVMPointerTypeKind
                          ? pointer_to(text_of("array %s+%lld", pointer->base, offset))
                          : opaque(type, PER_LAUNCH);
  return memo[count++].value;
}

// ---- instructions -----------------------------------------------------------------------------------------------------------

static Value element_pointer(Region *r, int context, LLVMValueRef v) {
  Value pointer = evaluate(r, context, LLVMGetOperand(v, 0));
  LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
  if (pointer.kind != POINTER)
    return opaque(LLVMTypeOf(v), PER_THREAD);
  for (int i = 1; i < LLVMGetNumOperands(v); i++) {
    LLVMValueRef operand = LLVMGetOperand(v, (unsigned)i);
    Value index = evaluate(r, context, operand);
    if (index.kind != NUMBER)
      return opaque(LLVMTypeOf(v), PER_THREAD);
    Poly number = normalize(&index.number, width_of(LLVMTypeOf(operand)), true), size;
    long long constant = 0, length = 0;
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      poly_is_constant(&number, &constant);
      size = poly_constant((long long)LLVMOffsetOfElement(layout, type, (unsigned)constant));
      type = LLVMStructGetTypeAtIndex(type, (unsigned)constant);
      pointer.number = poly_add(&pointer.number, &size, 1);
      continue;
    }
    if (i > 1) {
      const bool array = LLVMGetTypeKind(type) == LLVMArrayTypeKind;
      length = array ? LLVMGetArrayLength(type) : LLVMGetVectorSize(type);
      type = LLVMGetElementType(type);
    }
    if (length > 1 && !poly_is_constant(&number, &constant)) // no index is out of bounds
      pointer.text = both_texts(pointer.text,
                                text_of("(and (<= 0 %s) (< %s %lld))", poly_text(&number), poly_text(&number), length));
    size = poly_constant((long long)LLVMABISizeOfType(layout, type));
    number = poly_multiply(&number, &size);
    pointer.number = poly_add(&pointer.number, &number, 1);
  }
  return pointer;
}

static Scope scope_of(Region *r, int version, LLVMValueRef v) {
  return value_is_uniform(v) && !in_cycle(r, segment_of(v), version) ? PER_BLOCK : PER_THREAD;
}

static Value cast(LLVMOpcode opcode, const Value *from, LLVMTypeRef type, LLVMTypeRef to) {
  if (opcode == LLVMBitCast || opcode == LLVMAddrSpaceCast || opcode == LLVMFreeze)
    return from->kind == POINTER || (from->kind != OTHER && is_whole(to)) ? *from : opaque(to, PER_THREAD);
  if (from->kind == CONDITION) {
    const Value one = number_value(poly_constant(opcode == LLVMSExt ? -1 : 1)), zero = number_value(poly_constant(0));
    return choose(from->text, &one, &zero, to);
  }
  if (from->kind != NUMBER || width_of(to) == 1 || width_of(to) > 64)
    return opaque(to, PER_THREAD);
  return opcode == LLVMTrunc ? *from : number_value(normalize(&from->number, width_of(type), opcode == LLVMSExt));
}

static Value minimum(const char *name, const Value *a, const Value *b, LLVMTypeRef type) {
  const bool is_signed = name[5] == 's', smaller = name[7] == 'i';
  const LLVMIntPredicate predicate =
      smaller ? (is_signed ? LLVMIntSLT : LLVMIntULT) : (is_signed ? LLVMIntSGT : LLVMIntUGT);
  return choose(comparison(predicate, a, b, width_of(type)), a, b, type);
}

static Value call_value(Region *r, int version, LLVMValueRef v) {
  int axis;
  const char *special = special_register(v, &axis), *name = callee_of(v);
  if (special)
    return number_value(launch_value(special, axis));
  static const char *const minima[] = {"llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax."};
  for (int i = 0; i < 4; i++)
    if (strncmp(name, minima[i], 10) == 0) {
      const Value a = evaluate(r, version, LLVMGetOperand(v, 0)), b = evaluate(r, version, LLVMGetOperand(v, 1));
      if (a.kind == NUMBER && b.kind == NUMBER)
        return minimum(name, &a, &b, LLVMTypeOf(v));
    }
  return opaque(LLVMTypeOf(v), scope_of(r, version, v));
}

static Value compare_values(Region *r, int version, LLVMValueRef v) {
  const Value a = evaluate(r, version, LLVMGetOperand(v, 0)), b = evaluate(r, version, LLVMGetOperand(v, 1));
  const LLVMIntPredicate predicate = LLVMGetICmpPredicate(v);
  if (a.kind == NUMBER && b.kind == NUMBER)
    return condition_value(comparison(predicate, &a, &b, width_of(LLVMTypeOf(LLVMGetOperand(v, 0)))));
  if (a.kind == CONDITION && b.kind == CONDITION && (predicate == LLVMIntEQ || predicate == LLVMIntNE))
    return condition_value(text_of(predicate == LLVMIntEQ ? "(= %s %s)" : "(xor %s %s)", a.text, b.text));
  return opaque(LLVMTypeOf(v), scope_of(r, version, v));
}

static bool is_unsigned(LLVMValueRef v) {
  char *text = LLVMPrintValueToString(v);
  const bool is = !strstr(text, " nsw ");
  LLVMDisposeMessage(text);
  return is;
}

// A parameter that is a factor of an unsigned product is an unsigned number: the product does not overflow.
static Poly as_unsigned(const Poly *p, int width) {
  const bool parameter =
      p->count == 1 && p->terms[0].factor == 1 && !p->terms[0].symbols[1] && poly_scope(p) == PER_LAUNCH;
  return parameter ? normalize(p, width, false) : *p;
}

static Value compute(Region *r, int version, LLVMValueRef v) {
  const LLVMOpcode opcode = LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : LLVMGetInstructionOpcode(v);
  LLVMTypeRef type = LLVMTypeOf(v);
  Value a, b, c;
  switch (opcode) {
  case LLVMGetElementPtr:
    return element_pointer(r, version, v);
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMBitCast:
  case LLVMAddrSpaceCast:
  case LLVMFreeze:
    a = evaluate(r, version, LLVMGetOperand(v, 0));
    return cast(opcode, &a, LLVMTypeOf(LLVMGetOperand(v, 0)), type);
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
    if (!is_whole(type))
      return opaque(type, PER_THREAD);
    a = evaluate(r, version, LLVMGetOperand(v, 0));
    b = evaluate(r, version, LLVMGetOperand(v, 1));
    if (opcode == LLVMMul && a.kind == NUMBER && b.kind == NUMBER && is_unsigned(v)) {
      a.number = as_unsigned(&a.number, width_of(type));
      b.number = as_unsigned(&b.number, width_of(type));
    }
    a = arithmetic(opcode, &a, &b, width_of(type));
    return a.kind == OTHER ? opaque(type, PER_THREAD) : a;
  default:
    break;
  }
  if (LLVMIsAConstantExpr(v))
    return opaque(type, PER_THREAD);
  switch (opcode) {
  case LLVMICmp:
    return compare_values(r, version, v);
  case LLVMSelect:
    a = evaluate(r, version, LLVMGetOperand(v, 0));
    b = evaluate(r, version, LLVMGetOperand(v, 1));
    c = evaluate(r, version, LLVMGetOperand(v, 2));
    return a.kind == CONDITION ? choose(a.text, &b, &c, type) : opaque(type, PER_THREAD);
  case LLVMPHI:
    return evaluate_phi(r, version, v);
  case LLVMCall:
    return call_value(r, version, v);
  case LLVMAlloca:
    return pointer_to("local");
  case LLVMLoad:
    a = evaluate(r, version, LLVMGetOperand(v, 0));
    if (a.base && strncmp(a.base, "value", 5) == 0)
      return member_value(&a, type);
    return opaque(type, scope_of(r, version, v));
  default:
    return opaque(type, scope_of(r, version, v));
  }
}

Value evaluate(Region *r, int context, LLVMValueRef v) {
  if (LLVMIsAConstantInt(v)) {
    const int width = width_of(LLVMTypeOf(v));
    return width == 1   ? condition_value(LLVMConstIntGetZExtValue(v) ? "true" : "false")
           : width > 64 ? (Value){.kind = OTHER}
                        : number_value(poly_constant(LLVMConstIntGetSExtValue(v)));
  }
  if (LLVMIsAGlobalVariable(v))
    return global_value(v);
  if (LLVMIsAArgument(v))
    return argument_value(v);
  if (LLVMIsAConstantExpr(v))
    return compute(r, context, v);
  if (!LLVMIsAInstruction(v))
    return LLVMIsAConstantPointerNull(v) ? pointer_to("null") : opaque(LLVMTypeOf(v), PER_THREAD);
  const int version = region_version(r, segment_of(v), context);
  Memo **bucket = &r->memo[((uintptr_t)v / 16 + (uintptr_t)version) % 1024];
  for (Memo *m = *bucket; m; m = m->next)
    if (m->of == v && m->version == version)
      return m->value;
  Memo *m = allocate(sizeof *m);
  m->of = v;
  m->version = version;
  m->value = compute(r, version, v);
  m->next = *bucket;
  *bucket = m;
  return m->value;
}
