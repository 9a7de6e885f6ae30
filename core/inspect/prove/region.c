// SPDX-License-Identifier: MIT
// A region: what a thread may execute from a barrier (or the beginning) to the next barriers.
//
// Its nodes are segments, each in a context: which back edges of loops with barriers were taken since the start. In a context a segment is
// executed at most once, but for loops without barriers: their back edges are cut, and what their headers choose is an unknown
// iteration's. A value's *version* is the context in which its instruction was executed last, or BEFORE: before the region. By
// dominance it is the same on all ways to a node (SSA form).
#include "prove.h"
#include <string.h>

typedef struct Counter {
  const Region *region;
  int version;
  const Loop *loop;
  int symbol;
  struct Counter *next;
} Counter;
static Counter *counters;

int region_node(const Region *r, int segment, int context) {
  for (int i = 0; i < r->node_count; i++)
    if (r->nodes[i].segment == segment && r->nodes[i].context == context)
      return i;
  return -1;
}

int region_version(const Region *r, int segment, int context) {
  while (context != BEFORE && region_node(r, segment, context) < 0)
    context = r->contexts[context].parent;
  return context;
}

static int next_context(Region *r, int parent, int from, int to) {
  for (int c = parent; c > 0; c = r->contexts[c].parent)
    if (r->contexts[c].from == from && r->contexts[c].to == to)
      not_tried("the loop in line %d has a barrier that some of its iterations skip", line_of(segments[to].last));
  for (int c = 1; c < r->context_count; c++)
    if (r->contexts[c].parent == parent && r->contexts[c].from == from && r->contexts[c].to == to)
      return c;
  if (r->context_count == MAX_CONTEXTS)
    not_tried("the kernel is too large");
  r->contexts[r->context_count].parent = parent;
  r->contexts[r->context_count].from = from;
  r->contexts[r->context_count].to = to;
  return r->context_count++;
}

static int add_node(Region *r, int segment, int context) {
  const int known = region_node(r, segment, context);
  if (known >= 0)
    return known;
  if (r->node_count == MAX_NODES)
    not_tried("the kernel is too large");
  const int n = r->node_count++;
  r->nodes[n] = (Node){.segment = segment, .context = context, .condition = new_condition(PER_THREAD)};
  const Segment *s = &segments[segment];
  for (int i = 0; i < s->next_count && !s->barrier; i++) {
    const Loop *l = dominates[s->next[i]][segment] ? loop_at(s->next[i]) : NULL;
    if (l && !l->barrier)
      continue;
    const int to = add_node(r, s->next[i], l ? next_context(r, context, segment, s->next[i]) : context);
    if (r->nodes[to].before_count == 128)
      not_tried("the kernel has too many branches");
    r->nodes[to].before[r->nodes[to].before_count++] = n;
  }
  return n;
}

bool in_cycle(const Region *r, int segment, int version) {
  (void)r;
  for (int i = 0; i < loop_count && version != BEFORE; i++)
    if (!loops[i].barrier && loops[i].in[segment])
      return true;
  return false;
}

// ---- conditions -------------------------------------------------------------------------------------------------------------

static const char *case_text(Region *r, int context, LLVMValueRef branch, int to) {
  const Value value = evaluate(r, context, LLVMGetOperand(branch, 0));
  const int width = width_of(LLVMTypeOf(LLVMGetOperand(branch, 0)));
  char *cases = (char *)"(or false", *others = (char *)"(or false";
  if (value.kind != NUMBER)
    return "true";
  for (int i = 2; i + 1 < LLVMGetNumOperands(branch); i += 2) {
    const Value label = evaluate(r, context, LLVMGetOperand(branch, (unsigned)i));
    const char *equal = comparison(LLVMIntEQ, &value, &label, width);
    others = text_of("%s %s", others, equal);
    if (LLVMValueAsBasicBlock(LLVMGetOperand(branch, (unsigned)i + 1)) == segments[to].block)
      cases = text_of("%s %s", cases, equal);
  }
  if (LLVMGetSwitchDefaultDest(branch) == segments[to].block)
    cases = text_of("%s (not %s))", cases, others);
  return text_of("%s)", cases);
}

const char *edge_condition(Region *r, int context, int from, int to) {
  LLVMValueRef branch = segments[from].last;
  if (segments[from].barrier || segments[from].next_count < 2)
    return "true";
  if (LLVMIsASwitchInst(branch))
    return case_text(r, context, branch, to);
  if (!LLVMIsABranchInst(branch))
    not_tried("the jump in line %d is not understood", line_of(branch));
  const Value condition = evaluate(r, context, LLVMGetCondition(branch));
  const bool taken = LLVMGetSuccessor(branch, 0) == segments[to].block;
  return condition.kind != CONDITION ? "true" : taken ? condition.text : text_of("(not %s)", condition.text);
}

static const char *reached_from(Region *r, int before, int segment) {
  const Node *n = &r->nodes[before];
  return text_of("(and %s %s)", symbols[n->condition].name, edge_condition(r, n->context, n->segment, segment));
}

static LLVMValueRef accessed(LLVMValueRef i) {
  return LLVMIsALoadInst(i) ? LLVMGetOperand(i, 0) : LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
}

// What holds where the segment has been executed: __builtin_assume, and that no index is out of bounds.
static const char *segment_facts(Region *r, int context, int segment) {
  char *all = (char *)"";
  for (LLVMValueRef i = segments[segment].first;; i = LLVMGetNextInstruction(i)) {
    const bool assumed = LLVMIsACallInst(i) && strcmp(callee_of(i), "llvm.assume") == 0;
    LLVMValueRef from = assumed ? LLVMGetOperand(i, 0) : accessed(i);
    if (from) {
      const Value v = evaluate(r, context, from);
      if ((v.kind == CONDITION || v.kind == POINTER) && strcmp(v.text, "true") != 0)
        all = text_of("%s %s", all, v.text);
    }
    if (i == segments[segment].last)
      return all;
  }
}

// What branches before the region have decided.
static const char *facts(Region *r) {
  char *all = (char *)"(and true";
  for (int t = 0; t < segment_count; t++) {
    const Segment *s = &segments[t];
    if (dominates[t][r->start] && t != r->start)
      all = text_of("%s%s", all, segment_facts(r, BEFORE, t));
    if (!dominates[t][r->start] || s->before_count != 1 || segments[s->before[0]].barrier || r->start == 0)
      continue;
    all = text_of("%s %s", all, edge_condition(r, BEFORE, s->before[0], t));
  }
  return text_of("%s)", all);
}

Region *make_region(int start) {
  Region *r = allocate(sizeof *r);
  r->nodes = allocate(sizeof(Node) * MAX_NODES);
  r->start = start;
  r->contexts[0].parent = BEFORE;
  r->context_count = 1;
  add_node(r, start, 0);
  for (int i = 0; i < r->node_count; i++) {
    const Node *n = &r->nodes[i];
    char *any = (char *)"(or false";
    for (int k = 0; k < n->before_count; k++)
      any = text_of("%s %s", any, reached_from(r, n->before[k], n->segment));
    const char *name = symbols[n->condition].name;
    const char *before = i == 0 ? facts(r) : text_of("%s)", any);
    symbols[n->condition].rule = text_of("(=> %s (and %s%s))", name, before, segment_facts(r, n->context, n->segment));
  }
  return r;
}

// ---- what a header or a join chooses ------------------------------------------------------------------------------------------

// How often the loop has been repeated. All threads of a block are in the same iteration where they have met at a barrier.
static Poly iteration(const Region *r, int version, const Loop *l) {
  for (Counter *c = counters; c; c = c->next)
    if (c->region == r && c->version == version && c->loop == l)
      return poly_symbol(c->symbol);
  const Scope scope = version == BEFORE && control_is_uniform(l->header) ? PER_BLOCK : PER_THREAD;
  Counter *c = allocate(sizeof *c);
  *c = (Counter){r, version, l, new_symbol(scope, 0, (wide)1 << 62, NULL), counters};
  symbols[c->symbol].counts = true;
  counters = c;
  return poly_symbol(c->symbol);
}

// The same in all iterations. What is computed in the loop from such values is, too.
static bool is_invariant(const Loop *l, LLVMValueRef v) {
  int axis;
  if (!LLVMIsAInstruction(v) || !l->in[segment_of(v)] || special_register(v, &axis))
    return true;
  if (!LLVMIsABinaryOperator(v) && !LLVMIsACastInst(v))
    return false;
  for (int i = 0; i < LLVMGetNumOperands(v); i++)
    if (!is_invariant(l, LLVMGetOperand(v, (unsigned)i)))
      return false;
  return true;
}

static LLVMValueRef repeated_value(const Loop *l, LLVMValueRef phi) {
  LLVMValueRef value = NULL;
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef b = LLVMGetIncomingBlock(phi, i);
    if (!l->in[segment_of(LLVMGetBasicBlockTerminator(b))])
      continue;
    if (value && value != LLVMGetIncomingValue(phi, i))
      return NULL;
    value = LLVMGetIncomingValue(phi, i);
  }
  return value;
}

// The value with which the loop is entered.
static Value first_value(Region *r, int version, const Loop *l, LLVMValueRef phi) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    const int from = segment_of(LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, i)));
    if (!l->in[from]) // the only one, since the loop has a preheader
      return evaluate(r, version == BEFORE ? BEFORE : region_version(r, from, version), LLVMGetIncomingValue(phi, i));
  }
  return opaque(LLVMTypeOf(phi), PER_THREAD);
}

// first + iteration step.
static Value stepped(Region *r, int version, const Loop *l, const Value *first, const Poly *step) {
  Value result = *first;
  const Poly count = iteration(r, version, l), steps = poly_multiply(&count, step);
  result.number = poly_add(&first->number, &steps, 1);
  return result;
}

// A variable that is doubled or halved in each iteration. Doubling does not overflow.
static Value scaled(LLVMOpcode opcode, const Value *first, int width, Scope scope) {
  const bool grows = opcode == LLVMShl || opcode == LLVMMul, is_signed = opcode != LLVMLShr && opcode != LLVMUDiv;
  const Poly from = normalize(&first->number, width, is_signed);
  const wide half = (wide)1 << (width - 1);
  if (poly_scope(&from) == PER_THREAD)
    scope = PER_THREAD;
  const int n = new_symbol(scope, is_signed ? -half : 0, is_signed ? half - 1 : 2 * half - 1, NULL);
  const char *name = symbols[n].name, *limit = poly_text(&from);
  symbols[n].rule = grows ? text_of("(=> (>= %s 0) (>= %s %s))", limit, name, limit)
                          : text_of("(=> (>= %s 0) (and (>= %s 0) (<= %s %s)))", limit, name, name, limit);
  return number_value(poly_symbol(n));
}

static bool has_factor_above_one(LLVMValueRef next) {
  const LLVMOpcode opcode = LLVMGetInstructionOpcode(next);
  LLVMValueRef by = LLVMGetOperand(next, 1);
  if (!LLVMIsAConstantInt(by))
    return false;
  const long long factor = LLVMConstIntGetSExtValue(by);
  return (opcode == LLVMMul || opcode == LLVMUDiv || opcode == LLVMSDiv) ? factor > 1 : factor >= 1 && factor < 31;
}

static Value header_value(Region *r, int version, const Loop *l, LLVMValueRef phi) {
  LLVMValueRef next = repeated_value(l, phi);
  LLVMTypeRef type = LLVMTypeOf(phi);
  const bool is_known = version == BEFORE && value_is_uniform(phi);
  const Value unknown = opaque(type, is_known ? PER_BLOCK : PER_THREAD);
  if (!next || !LLVMIsAInstruction(next) || LLVMGetNumOperands(next) != 2)
    return unknown;
  const LLVMOpcode opcode = LLVMGetInstructionOpcode(next);
  const bool second = opcode == LLVMAdd && LLVMGetOperand(next, 1) == phi;
  LLVMValueRef by = LLVMGetOperand(next, second ? 0 : 1);
  if ((!second && LLVMGetOperand(next, 0) != phi) || !is_invariant(l, by))
    return unknown;
  const Value first = first_value(r, version, l, phi);
  const Value step = evaluate(r, version, by);
  if (opcode == LLVMGetElementPtr && first.kind == POINTER && step.kind == NUMBER) {
    const Poly index = normalize(&step.number, width_of(LLVMTypeOf(by)), true),
               size = poly_constant((long long)LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(next))),
               bytes = poly_multiply(&index, &size);
    return stepped(r, version, l, &first, &bytes);
  }
  if (first.kind != NUMBER || step.kind != NUMBER)
    return unknown;
  const Poly by_this = normalize(&step.number, width_of(type), true), negative = poly_constant(-1);
  const Poly down = poly_multiply(&by_this, &negative);
  switch (opcode) {
  case LLVMAdd:
    return stepped(r, version, l, &first, &by_this);
  case LLVMSub:
    return stepped(r, version, l, &first, &down);
  case LLVMShl:
  case LLVMMul:
  case LLVMLShr:
  case LLVMAShr:
  case LLVMUDiv:
  case LLVMSDiv:
    return has_factor_above_one(next) ? scaled(opcode, &first, width_of(type), is_known ? PER_BLOCK : PER_THREAD)
                                      : unknown;
  default:
    return unknown;
  }
}

static LLVMValueRef incoming_from(LLVMValueRef phi, int segment) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
    if (LLVMGetIncomingBlock(phi, i) == segments[segment].block)
      return LLVMGetIncomingValue(phi, i);
  return NULL;
}

Value evaluate_phi(Region *r, int version, LLVMValueRef phi) {
  const int segment = segment_of(phi);
  const Loop *l = loop_at(segment);
  LLVMTypeRef type = LLVMTypeOf(phi);
  if (l && (version == BEFORE || !l->barrier))
    return header_value(r, version, l, phi);
  if (version == BEFORE && LLVMCountIncoming(phi) == 1)
    return evaluate(r, BEFORE, LLVMGetIncomingValue(phi, 0));
  if (version == BEFORE)
    return opaque(type, value_is_uniform(phi) ? PER_BLOCK : PER_THREAD);
  const Node *n = &r->nodes[region_node(r, segment, version)];
  Value *values = allocate(sizeof *values * (size_t)n->before_count);
  const char **conditions = allocate(sizeof *conditions * (size_t)n->before_count);
  for (int i = 0; i < n->before_count; i++) {
    const Node *before = &r->nodes[n->before[i]];
    values[i] = evaluate(r, before->context, incoming_from(phi, before->segment));
    conditions[i] = reached_from(r, n->before[i], segment);
  }
  if (n->before_count == 1)
    return values[0];
  return combine(values, conditions, n->before_count, type,
                 value_is_uniform(phi) && !in_cycle(r, segment, version) ? PER_BLOCK : PER_THREAD);
}
