// SPDX-License-Identifier: MIT
// The control flow of a kernel: segments without a barrier, dominators, natural loops, and what is the same in all threads of a block.
//
// Uniformity is conservative: a branch on a condition that differs between threads influences every segment that is reachable from it
// before its immediate post-dominator, and the values that are chosen there. A loop that threads leave at different times is such a
// region, with all that its header chooses.
#include "prove.h"
#include <stdio.h>
#include <string.h>

Segment segments[MAX_SEGMENTS];
Loop loops[MAX_LOOPS];
int segment_count, loop_count;
bool dominates[MAX_SEGMENTS][MAX_SEGMENTS];
static bool follows[MAX_SEGMENTS][MAX_SEGMENTS]; // follows[b][a]: every way from a to the end goes through b
static bool influenced[MAX_SEGMENTS];            // not all threads of a block need to be here
static bool chosen[MAX_SEGMENTS];                // influenced, or where threads meet again
static LLVMValueRef *differing;
static int differing_count;

static void add_segment(LLVMBasicBlockRef b, LLVMValueRef first, LLVMValueRef last, bool barrier) {
  if (segment_count == MAX_SEGMENTS)
    not_tried("the kernel is too large");
  segments[segment_count++] = (Segment){.block = b, .first = first, .last = last, .barrier = barrier};
}

static void cut_into_segments(LLVMValueRef kernel) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef first = LLVMGetFirstInstruction(b);
    for (LLVMValueRef i = first; i; i = LLVMGetNextInstruction(i))
      if (is_barrier(i)) {
        add_segment(b, first, i, true);
        first = LLVMGetNextInstruction(i);
      }
    add_segment(b, first, LLVMGetBasicBlockTerminator(b), false);
  }
}

static void connect(int from, int to) {
  if (segments[from].next_count == 64 || segments[to].before_count == 128)
    not_tried("the kernel has too many branches");
  segments[from].next[segments[from].next_count++] = to;
  segments[to].before[segments[to].before_count++] = from;
}

static void connect_segments(void) {
  for (int s = 0; s < segment_count; s++) {
    if (segments[s].barrier) {
      connect(s, s + 1);
      continue;
    }
    for (unsigned n = 0; n < LLVMGetNumSuccessors(segments[s].last); n++) {
      int to = 0;
      while (segments[to].block != LLVMGetSuccessor(segments[s].last, n))
        to++;
      bool known = false;
      for (int i = 0; i < segments[s].next_count; i++)
        known |= segments[s].next[i] == to;
      if (!known)
        connect(s, to);
    }
  }
}

// `before` and `next` exchange for post-dominators, of which the root is outside.
static void find_dominators(bool result[MAX_SEGMENTS][MAX_SEGMENTS], bool reversed) {
  for (int a = 0; a < segment_count; a++)
    for (int b = 0; b < segment_count; b++)
      result[a][b] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int b = 0; b < segment_count; b++) {
      const Segment *s = &segments[b];
      const int *from = reversed ? s->next : s->before, count = reversed ? s->next_count : s->before_count;
      for (int a = 0; a < segment_count; a++) {
        bool all = count > 0;
        for (int i = 0; i < count; i++)
          all &= result[a][from[i]];
        if (!reversed && b == 0)
          all = false;
        all |= a == b;
        changed |= result[a][b] != all;
        result[a][b] = all;
      }
    }
  }
}

Loop *loop_at(int header) {
  for (int i = 0; i < loop_count; i++)
    if (loops[i].header == header)
      return &loops[i];
  return NULL;
}

static void fill_loop(Loop *l, int s) {
  if (l->in[s])
    return;
  l->in[s] = true;
  for (int i = 0; i < segments[s].before_count; i++)
    fill_loop(l, segments[s].before[i]);
}

static void find_loops(int s, int state[MAX_SEGMENTS]) {
  state[s] = 1;
  for (int i = 0; i < segments[s].next_count; i++) {
    const int to = segments[s].next[i];
    if (state[to] == 0)
      find_loops(to, state);
    else if (state[to] == 1) {
      if (!dominates[to][s])
        not_tried("the kernel jumps into a loop");
      Loop *l = loop_at(to);
      if (!l) {
        if (loop_count == MAX_LOOPS)
          not_tried("the kernel has too many loops");
        l = &loops[loop_count++];
        l->header = to;
        l->in[to] = true;
      }
      fill_loop(l, s);
    }
  }
  state[s] = 2;
}

int segment_of(LLVMValueRef instruction) {
  LLVMBasicBlockRef b = LLVMGetInstructionParent(instruction);
  int s = 0;
  while (segments[s].block != b)
    s++;
  for (LLVMValueRef i = segments[s].first; i != instruction; i = LLVMGetNextInstruction(i))
    if (segments[s].barrier && i == segments[s].last)
      s++;
  return s;
}

// ---- what threads have in common --------------------------------------------------------------------------------------------

LLVMValueRef origin_of(LLVMValueRef pointer) {
  for (;;) {
    const bool derived = LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer) ||
                         LLVMIsAAddrSpaceCastInst(pointer) ||
                         (LLVMIsAConstantExpr(pointer) && (LLVMGetConstOpcode(pointer) == LLVMGetElementPtr ||
                                                           LLVMGetConstOpcode(pointer) == LLVMBitCast ||
                                                           LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast));
    if (!derived)
      return pointer;
    pointer = LLVMGetOperand(pointer, 0);
  }
}

static LLVMValueRef written[256];
static int written_count;
static bool writes_anywhere;

static void find_written(void) {
  for (int s = 0; s < segment_count; s++)
    for (LLVMValueRef i = segments[s].first;; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef pointer = LLVMIsAStoreInst(i)                      ? LLVMGetOperand(i, 1)
                             : is_atomic(i) || LLVMIsAMemIntrinsic(i) ? LLVMGetOperand(i, 0)
                                                                      : NULL;
      if (pointer) {
        LLVMValueRef origin = origin_of(pointer);
        const bool known = LLVMIsAArgument(origin) || LLVMIsAGlobalVariable(origin) || LLVMIsAAllocaInst(origin);
        writes_anywhere |= !known || written_count == 256;
        if (written_count < 256)
          written[written_count++] = origin;
      }
      if (i == segments[s].last)
        break;
    }
}

bool is_written_directly(LLVMValueRef argument) {
  for (int i = 0; i < written_count; i++)
    if (written[i] == argument)
      return true;
  return written_count == 256;
}

bool is_written(LLVMValueRef argument) {
  return writes_anywhere || is_written_directly(argument);
}

bool value_is_uniform(LLVMValueRef v) {
  for (int i = 0; i < differing_count; i++)
    if (differing[i] == v)
      return false;
  return true;
}

bool control_is_uniform(int segment) {
  return !influenced[segment];
}

// Post-dominators mean nothing where the end cannot be reached.
static void require_end(void) {
  static bool ends[MAX_SEGMENTS];
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = 0; s < segment_count; s++) {
      bool does = segments[s].next_count == 0;
      for (int i = 0; i < segments[s].next_count; i++)
        does |= ends[segments[s].next[i]];
      changed |= does != ends[s];
      ends[s] = does;
    }
  }
  for (int s = 0; s < segment_count; s++)
    if (!ends[s])
      not_tried("the loop in line %d has no end", line_of(segments[s].last));
}

// The value differs by itself, or by its operands.
static bool differs(LLVMValueRef i, int segment) {
  int axis;
  const char *special = special_register(i, &axis);
  if (special)
    return strcmp(special, "tid") == 0;
  if (LLVMIsAAllocaInst(i) || is_atomic(i) || (LLVMIsAPHINode(i) && chosen[segment]))
    return true;
  if (LLVMIsACallInst(i) && is_barrier(i))
    return false; // __syncthreads_count: the same in the block
  if (LLVMIsACallInst(i) &&
      !(is_pure(i) && strncmp(callee_of(i), "__", 2) != 0 && strcmp(callee_of(i), "clock64") != 0))
    return true;
  if (LLVMIsALoadInst(i)) {
    LLVMValueRef origin = origin_of(LLVMGetOperand(i, 0));
    if (!(LLVMIsAArgument(origin) || LLVMIsAGlobalVariable(origin)) || is_written(origin))
      return true;
  }
  for (int n = 0; n < LLVMGetNumOperands(i); n++)
    if (!value_is_uniform(LLVMGetOperand(i, n)))
      return true;
  if (LLVMIsAPHINode(i))
    for (unsigned n = 0; n < LLVMCountIncoming(i); n++)
      if (!value_is_uniform(LLVMGetIncomingValue(i, n)))
        return true;
  return false;
}

static void influence(int from, int stop, bool seen[MAX_SEGMENTS], bool *changed) {
  for (int i = 0; i < segments[from].next_count; i++) {
    const int s = segments[from].next[i];
    *changed |= !chosen[s];
    chosen[s] = true;
    if (s == stop || seen[s])
      continue;
    seen[s] = true;
    *changed |= !influenced[s];
    influenced[s] = true;
    influence(s, stop, seen, changed);
  }
}

static int nearest_follower(int s) {
  for (int b = 0; b < segment_count; b++) {
    bool nearest = b != s && follows[b][s];
    for (int c = 0; nearest && c < segment_count; c++)
      nearest = c == s || c == b || !follows[c][s] || follows[c][b];
    if (nearest)
      return b;
  }
  return -1;
}

static bool spread(void) {
  bool changed = false;
  for (int s = 0; s < segment_count; s++) {
    for (LLVMValueRef i = segments[s].first;; i = LLVMGetNextInstruction(i)) {
      if (value_is_uniform(i) && differs(i, s)) {
        differing[differing_count++] = i;
        changed = true;
      }
      if (i == segments[s].last)
        break;
    }
    if (segments[s].next_count > 1 && !value_is_uniform(segments[s].last)) {
      bool seen[MAX_SEGMENTS] = {0};
      influence(s, nearest_follower(s), seen, &changed);
    }
  }
  return changed;
}

void analyze_flow(LLVMValueRef kernel) {
  static int state[MAX_SEGMENTS];
  cut_into_segments(kernel);
  connect_segments();
  require_end();
  find_dominators(dominates, false);
  find_dominators(follows, true);
  find_loops(0, state);
  int instructions = 0;
  for (int s = 0; s < segment_count; s++)
    for (LLVMValueRef i = segments[s].first; i; i = i == segments[s].last ? NULL : LLVMGetNextInstruction(i))
      instructions++;
  differing = allocate(sizeof *differing * (size_t)(instructions + 1));
  find_written();
  while (spread())
    ;
  for (int i = 0; i < loop_count; i++)
    for (int s = 0; s < segment_count; s++)
      loops[i].barrier |= loops[i].in[s] && segments[s].barrier;
  for (int s = 0; s < segment_count; s++)
    if (segments[s].barrier && influenced[s])
      not_tried("the barrier in line %d is not reached by all threads of a block, as far as can be told",
                line_of(segments[s].last));
}
