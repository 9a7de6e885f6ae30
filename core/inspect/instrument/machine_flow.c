// SPDX-License-Identifier: MIT
// The control flow of a function in machine code: basic blocks in reverse postorder (Hecht and Ullman, 1975), so that a block comes after
// those before it but for the jumps back of loops. Where several meet, a place whose values differ has a phi; at a loop's header also
// each place that the loop may write.
#include "inspect/instrument/integers.h"

// ---- control flow ----------------------------------------------------------------------------------------------------------

static int block_at(const Function *f, int n) {
  int low = 0, high = f->block_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (f->blocks[middle].first <= n)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static bool branches(const Listing *l, const Instruction *i) {
  return i->step == STEP_BRANCH && !listing_is_handler(l, i->to);
}

static void find_blocks(Function *f, int first, int end) {
  const Listing *l = f->l;
  bool *leads = calloc((size_t)(end - first) + 1, sizeof *leads);
  if (!leads)
    return;
  leads[0] = true;
  for (int n = first; n < end; n++) {
    const Instruction *i = &l->list[n];
    const bool jumps = branches(l, i) || i->step == STEP_END;
    const int to = jumps ? listing_find(l, i->to) : 0;
    if (to >= first && to < end && l->list[to].at == i->to)
      leads[to - first] = true;
    leads[n + 1 - first] |= jumps || i->step == STEP_RETURN;
  }
  for (int n = first; n < end; n++)
    if (leads[n - first]) {
      f->blocks = inspect_grown(f->blocks, f->block_count, sizeof *f->blocks);
      f->blocks[f->block_count++] = (Block){.first = n, .to = {-1, -1}, .order = -1};
    }
  free(leads);
  for (int b = 0; b < f->block_count; b++) {
    Block *block = &f->blocks[b];
    block->end = b + 1 < f->block_count ? block[1].first : end;
    const Instruction *last = &l->list[block->end - 1];
    if (branches(l, last) || last->step == STEP_END) {
      const int to = listing_find(l, last->to);
      if (to >= first && to < end && l->list[to].at == last->to)
        block->to[1] = block_at(f, to);
    }
    if (last->step != STEP_END && last->step != STEP_RETURN && b + 1 < f->block_count)
      block->to[0] = b + 1;
  }
  for (int b = 0; b < f->block_count; b++)
    for (int e = 0; e < 2; e++)
      if (f->blocks[b].to[e] >= 0) {
        Block *after = &f->blocks[f->blocks[b].to[e]];
        after->from = inspect_grown(after->from, after->from_count, sizeof *after->from);
        after->from[after->from_count++] = b;
      }
}

// Depth-first from a block, without recursion: the reverse of the order in which blocks are left.
static void visit(Function *f, int from, int *stack, char *state) {
  int depth = 0;
  stack[depth++] = from;
  while (depth) {
    const int b = stack[depth - 1];
    int next = -1;
    for (int e = 0; e < 2 && next < 0; e++)
      if (f->blocks[b].to[e] >= 0 && state[f->blocks[b].to[e]] == 0)
        next = f->blocks[b].to[e];
    state[b] = 1;
    if (next >= 0) {
      state[next] = 1;
      stack[depth++] = next;
    } else {
      f->rpo[--f->rpo_count] = b;
      depth--;
    }
  }
}

// Only of what the function's beginning reaches: a failed bounds check is not reached.
static void order_blocks(Function *f) {
  int *stack = calloc((size_t)f->block_count, sizeof *stack);
  char *state = calloc((size_t)f->block_count, sizeof *state);
  f->rpo = calloc((size_t)f->block_count, sizeof *f->rpo);
  if (stack && state && f->rpo) {
    f->rpo_count = f->block_count;
    visit(f, 0, stack, state);
    const int first = f->rpo_count;
    memmove(f->rpo, f->rpo + first, (size_t)(f->block_count - first) * sizeof *f->rpo);
    f->rpo_count = f->block_count - first;
    for (int i = 0; i < f->rpo_count; i++)
      f->blocks[f->rpo[i]].order = i;
  }
  free(stack);
  free(state);
}

// The block before in an edge that is reached; false: there are no more of them.
static bool next_before(const Function *f, int b, int *i, const Block **before) {
  const Block *block = &f->blocks[b];
  for (; *i < block->from_count; ++*i)
    if (f->blocks[block->from[*i]].order >= 0) {
      *before = &f->blocks[block->from[(*i)++]];
      return true;
    }
  return false;
}

// Marks the places that the loop with this header may write.
static void find_written(Function *f, int header, bool written[PLACES]) {
  bool *in_loop = calloc((size_t)f->block_count, sizeof *in_loop);
  if (!in_loop)
    return;
  const Block *before;
  in_loop[header] = true;
  for (int i = 0; next_before(f, header, &i, &before);)
    in_loop[before - f->blocks] |= before->order >= f->blocks[header].order;
  for (int i = f->rpo_count - 1; i > f->blocks[header].order; i--) // and what leads there
    for (int n = 0; in_loop[f->rpo[i]] && next_before(f, f->rpo[i], &n, &before);)
      in_loop[before - f->blocks] = true;
  for (int b = 0; b < f->block_count; b++)
    for (int n = f->blocks[b].first; in_loop[b] && n < f->blocks[b].end; n++) {
      const Instruction *i = &f->l->list[n];
      const bool calls = strncmp(i->name, "call", 4) == 0 || i->step == STEP_BLOCK;
      const int place = i->operands && !calls ? integers_written(f, i->operands) : NO_REGISTER;
      if (place != NO_REGISTER)
        written[place] = true;
      if (calls || i->step == STEP_DIVISION)
        for (size_t c = 0; c < CLOBBERED; c++)
          written[integers_clobbered[c]] = true;
    }
  free(in_loop);
}

static Value out_of(const Block *b, int place) {
  return place < b->places ? b->out[place] : (Value){-1, 0};
}

// The state at the beginning of a block, from those of the blocks before it.
static void join(Function *f, int b, bool looped) {
  bool written[PLACES] = {false};
  const Block *before;
  if (looped)
    find_written(f, b, written);
  for (int p = 0; p < REGISTERS + f->slots; p++) {
    Value v = {-1, 0};
    bool first = true, differ = looped && written[p], unknown = false;
    for (int i = 0; next_before(f, b, &i, &before);) {
      if (!before->out)
        continue;
      const Value own = out_of(before, p);
      differ |= !first && !value_equals(v, own);
      unknown |= own.form < 0;
      v = own;
      first = false;
    }
    f->state[p] = unknown || first ? (Value){-1, 0} : v;
    if (!differ || (unknown && !looped))
      continue;
    const Value phi = f->state[p] = value_atom(f, (Atom){.phi = true});
    for (int i = 0; next_before(f, b, &i, &before);)
      if (before->out && out_of(before, p).form >= 0)
        value_incoming(f, phi.form, out_of(before, p), before->end - 1);
  }
}

// Gives the state at a block's end to the headers of loops that it jumps back to.
static void close_loops(Function *f, int b, Value **begin) {
  for (int e = 0; e < 2; e++) {
    const int header = f->blocks[b].to[e];
    if (header < 0 || !begin[header])
      continue;
    for (int p = 0; p < f->begin_places[header]; p++) {
      const Value phi = begin[header][p];
      if (value_is_phi(f, phi) && out_of(&f->blocks[b], p).form >= 0)
        value_incoming(f, phi.form, out_of(&f->blocks[b], p), f->blocks[b].end - 1);
    }
  }
}

static Value *copied_state(const Function *f) {
  const size_t bytes = (size_t)(REGISTERS + f->slots) * sizeof f->state[0];
  Value *copy = malloc(bytes);
  if (copy)
    memcpy(copy, f->state, bytes);
  return copy;
}

static void run_block(Function *f, int b, Value **begin) {
  Block *block = &f->blocks[b];
  bool looped = false;
  f->now = block->first;
  f->flags_set = false;
  const Block *before;
  for (int i = 0; next_before(f, b, &i, &before);)
    looped |= before->order >= block->order;
  join(f, b, looped);
  if (looped) {
    begin[b] = copied_state(f);
    f->begin_places[b] = REGISTERS + f->slots;
  }
  for (f->now = block->first; f->now < block->end; f->now++)
    integers_execute(f, &f->l->list[f->now]);
  f->now = block->end - 1;
  block->out = copied_state(f);
  block->places = REGISTERS + f->slots;
  if (block->out)
    close_loops(f, b, begin);
}

void integers_count(const Listing *l, int first, int end, int *integers) {
  Function f = {.l = l, .integers = integers};
  f.state = calloc(PLACES, sizeof *f.state);
  find_blocks(&f, first, end);
  Value **begin = calloc((size_t)f.block_count + 1, sizeof *begin);
  f.begin_places = calloc((size_t)f.block_count + 1, sizeof *f.begin_places);
  for (int p = 0; f.state && p < PLACES; p++)
    f.state[p].form = -1;
  values_begin(&f);
  if (f.buckets && begin && f.state && f.begin_places && f.block_count) {
    order_blocks(&f);
    for (int i = 0; i < f.rpo_count; i++)
      run_block(&f, f.rpo[i], begin);
  }
  for (int b = 0; b < f.block_count; b++) {
    free(f.blocks[b].out);
    free(f.blocks[b].from);
    if (begin)
      free(begin[b]);
  }
  values_end(&f);
  free(begin);
  free(f.begin_places);
  free(f.state);
  free(f.blocks);
  free(f.rpo);
}
