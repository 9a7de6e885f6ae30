// SPDX-License-Identifier: MIT
// Asks, for each two accesses that two threads may make without a barrier between them, whether they can touch the same byte. In one block
// these are the accesses of a region, and in two blocks any accesses to device memory.
#include "prove.h"
#include <stdio.h>
#include <string.h>

typedef enum Access { READ, WRITE, ATOMIC } Access;
typedef struct Touch {
  Access how;
  Region *region;
  const char *reached; // a condition
  const char *base;
  Poly offset;
  long long bytes;
  int line;
  LLVMValueRef instruction;
} Touch;

enum { MAX_TOUCHES = 3000 };
static Touch *touches;
static int touch_count;
static bool equal_writes;

static void add_touch(Region *r, const Node *n, LLVMValueRef instruction, LLVMValueRef pointer, long long bytes,
                      Access how) {
  const Value v = evaluate(r, n->context, pointer);
  if (v.kind != POINTER || !v.base)
    not_tried("the pointer in line %d is read from memory, or may point into several arrays", line_of(instruction));
  if (strcmp(v.base, "null") == 0)
    not_tried("the pointer in line %d is null", line_of(instruction));
  if (strcmp(v.base, "constant") == 0 && how != READ)
    not_tried("line %d writes to constant memory", line_of(instruction));
  if (bytes == 0 || strcmp(v.base, "local") == 0 || strcmp(v.base, "constant") == 0 || strncmp(v.base, "value", 5) == 0)
    return;
  if (touch_count == MAX_TOUCHES)
    not_tried("the kernel has too many accesses");
  touches[touch_count++] = (Touch){how,
                                   r,
                                   text_of("(and %s %s)", symbols[n->condition].name, v.text),
                                   v.base,
                                   v.number,
                                   bytes,
                                   line_of(instruction),
                                   instruction};
}

static long long size_of(LLVMTypeRef type) {
  return (long long)LLVMStoreSizeOfType(layout, type);
}

static void add_copy(Region *r, const Node *n, LLVMValueRef i) {
  LLVMValueRef length = LLVMGetOperand(i, 2);
  if (!LLVMIsAConstantInt(length))
    not_tried("line %d copies or fills an unknown number of bytes", line_of(i));
  const long long bytes = LLVMConstIntGetSExtValue(length);
  add_touch(r, n, i, LLVMGetOperand(i, 0), bytes, WRITE);
  if (!LLVMIsAMemSetInst(i))
    add_touch(r, n, i, LLVMGetOperand(i, 1), bytes, READ);
}

static void add_instruction(Region *r, const Node *n, LLVMValueRef i) {
  if (LLVMIsALoadInst(i))
    add_touch(r, n, i, LLVMGetOperand(i, 0), size_of(LLVMTypeOf(i)), READ);
  else if (LLVMIsAStoreInst(i))
    add_touch(r, n, i, LLVMGetOperand(i, 1), size_of(LLVMTypeOf(LLVMGetOperand(i, 0))), WRITE);
  else if (is_atomic(i))
    add_touch(r, n, i, LLVMGetOperand(i, 0), size_of(LLVMTypeOf(LLVMGetOperand(i, 1))), ATOMIC);
  else if (LLVMIsAMemIntrinsic(i))
    add_copy(r, n, i);
  else if (LLVMIsACallInst(i) && !is_pure(i) && !is_barrier(i))
    not_tried("line %d calls %s, which may do anything", line_of(i),
              *callee_of(i) ? callee_of(i) : "a function by a pointer, or assembly");
  else if (LLVMIsAFenceInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAInvokeInst(i))
    not_tried("line %d has an atomic operation or a fence of the language", line_of(i));
}

static void add_region(int start) {
  Region *r = make_region(start);
  for (int k = 0; k < r->node_count; k++) {
    const Segment *s = &segments[r->nodes[k].segment];
    for (LLVMValueRef i = s->first;; i = LLVMGetNextInstruction(i)) {
      add_instruction(r, &r->nodes[k], i);
      if (i == s->last)
        break;
    }
  }
}

// ---- questions ------------------------------------------------------------------------------------------------------------------

static bool is_shared(const Touch *t) {
  return strncmp(t->base, "shared", 6) == 0;
}

static bool may_conflict(const Touch *a, const Touch *b, bool same_block) {
  return (a->how == WRITE || b->how == WRITE || (a->how == ATOMIC) != (b->how == ATOMIC)) &&
         strcmp(a->base, b->base) == 0 && (same_block ? a->region == b->region : !is_shared(a));
}

// Threads that write the same constant leave the same memory, in whatever order.
static bool write_same_constant(const Touch *a, const Touch *b) {
  if (!LLVMIsAStoreInst(a->instruction) || !LLVMIsAStoreInst(b->instruction) || a->bytes != b->bytes)
    return false;
  LLVMValueRef value = LLVMGetOperand(a->instruction, 0);
  return LLVMIsAConstant(value) && value == LLVMGetOperand(b->instruction, 0) && !LLVMIsUndef(value) &&
         poly_is_multiple(&a->offset, a->bytes) && poly_is_multiple(&b->offset, a->bytes);
}

static const char *overlap_text(const Touch *a, const Touch *b, bool same_block) {
  Poly x = a->offset, y = b->offset;
  if (a->bytes == b->bytes && poly_is_multiple(&x, a->bytes) && poly_is_multiple(&y, a->bytes)) {
    x = poly_divide(&x, a->bytes);
    y = poly_divide(&y, a->bytes);
    return text_of("(= %s %s)", instance_of(poly_text(&x), 1, same_block), instance_of(poly_text(&y), 2, same_block));
  }
  const char *from = instance_of(poly_text(&x), 1, same_block), *to = instance_of(poly_text(&y), 2, same_block);
  return text_of("(and (< %s (+ %s %lld)) (< %s (+ %s %lld)))", from, to, b->bytes, to, from, a->bytes);
}

static const char *distinct_text(bool same_block) {
  char *text = (char *)"(or false";
  for (int axis = 0; axis < 3; axis++) {
    const int n = launch_symbol(same_block ? "tid" : "bid", axis);
    if (n)
      text = text_of("%s (not (= %s %s))", text, instance_of(symbols[n].name, 1, same_block),
                     instance_of(symbols[n].name, 2, same_block));
  }
  return text_of("%s)", text);
}

// So that a counterexample names the launch.
static const char *launch_text(void) {
  char *text = (char *)"(and true";
  static const char *const kinds[] = {"bdim", "gdim", "tid", "bid"};
  for (int k = 0; k < 4; k++)
    for (int axis = 0; axis < 3; axis++)
      if (launch_symbol(kinds[k], axis)) {
        const char *name = symbols[launch_symbol(kinds[k], axis)].name;
        text = text_of("%s (>= %s 0)", text, name);
      }
  return text_of("%s)", text);
}

static Answer ask_about(const Touch *a, const Touch *b, bool same_block, bool small) {
  const char *launch = launch_text();
  return ask(text_of("(and %s %s)", a->reached, launch), text_of("(and %s %s)", b->reached, launch),
             text_of("(and %s %s)", overlap_text(a, b, same_block), distinct_text(same_block)), same_block, small);
}

static const char *shape_text(const char *kind, const int fixed[3], bool same_block) {
  char *text = (char *)"";
  for (int axis = 0; axis < 3; axis++) {
    const int n = launch_symbol(kind, axis);
    const char *value = n ? model_value(n, 1, same_block) : text_of("%d", fixed[axis] ? fixed[axis] : 1);
    text = text_of("%s%s%s", text, axis ? "," : "", value ? value : "1");
  }
  return text;
}

static void print_counterexample(const Touch *a, const Touch *b, bool same_block) {
  printf("race lines %d and %d, %s: --grid %s", a->line, b->line, same_block ? "one block" : "two blocks",
         shape_text("gdim", options.grid, same_block));
  printf(" --block %s", shape_text("bdim", options.block, same_block));
  for (int n = 1; n < symbol_count; n++) {
    const Symbol *s = &symbols[n];
    const char *value =
        s->shown && s->scope == PER_LAUNCH && !strchr(s->shown, '.') ? model_value(n, 1, same_block) : NULL;
    if (value)
      printf(" --arg %s=%s", s->shown, value);
  }
  printf("\n");
}

// Returns an exit status.
static int check_pair(const Touch *a, const Touch *b, bool same_block) {
  const Answer answer = is_late() ? UNKNOWN : ask_about(a, b, same_block, false);
  if (answer == UNSATISFIABLE)
    return EXIT_PROVED;
  if (write_same_constant(a, b)) {
    equal_writes = true;
    return EXIT_PROVED;
  }
  if (!is_late() && ask_about(a, b, same_block, true) == SATISFIABLE) {
    print_counterexample(a, b, same_block);
    return EXIT_RACE;
  }
  printf("not proved: lines %d and %d, %s: %s\n", a->line, b->line, same_block ? "one block" : "two blocks",
         answer == UNKNOWN ? "Z3 did not find out in time" : "there may be a race in large launches only");
  return EXIT_NOT_PROVED;
}

int check_kernel(LLVMValueRef kernel) {
  touches = allocate(sizeof *touches * MAX_TOUCHES);
  make_launch_symbols();
  analyze_flow(kernel);
  add_region(0);
  for (int s = 0; s < segment_count; s++)
    if (segments[s].barrier)
      add_region(s + 1);
  for (int same_block = 1; same_block >= 0; same_block--)
    for (int a = 0; a < touch_count; a++)
      for (int b = a; b < touch_count; b++) {
        if (!may_conflict(&touches[a], &touches[b], same_block))
          continue;
        const int status = check_pair(&touches[a], &touches[b], same_block);
        if (status != EXIT_PROVED)
          return status;
      }
  printf("proved%s\n", equal_writes ? EQUAL_WRITES : "");
  return EXIT_PROVED;
}
