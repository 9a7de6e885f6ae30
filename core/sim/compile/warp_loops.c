// SPDX-License-Identifier: MIT
// Warp collectives in loops over a warp's lanes: one loop stores each lane's operand into an array, and the next loop reads from it.
// Between two barriers the warps run one after another, each through all of its loops.
#include <stdio.h>

#include "sim/compile/workitem_loops.h"

static struct range value_of(const struct writer *w, const struct statement *s) { // the first argument
  const struct tokens *t = w->k->t;
  return (struct range){s->call + 2, token_argument_end(t, s->call + 2, t->all[s->call + 1].match)};
}

static bool kind_is(const struct writer *w, const struct statement *s, const char *name) {
  return token_is(w->k->t, s->call, name);
}

static bool is_predicate(const struct writer *w, const struct statement *s) {
  return kind_is(w, s, "cudasim_warp_ballot") || kind_is(w, s, "cudasim_warp_any") || kind_is(w, s, "cudasim_warp_all");
}

static void write_value(struct writer *w, const struct statement *s, const char *before, const char *after) {
  const int result = s->at.begin + 1;
  const struct range value = value_of(w, s);
  open_loop(w, is_quiet(w->k, value));
  write_needed(w, s, s->next);
  move_to(w, w->k->t->all[value.begin].p, false);
  write_name(w, result, before);
  write_range(w, value);
  append_string(w->out, after);
  close_loop(w);
}

void write_collective(struct writer *w, const struct statement *s) {
  const char *met = w->instrumented ? "::cudasim::met(cudasim_warp, cudasim_lanes); " : "";
  const int result = s->at.begin + 1;
  if (kind_is(w, s, "cudasim_warp_active"))
    return;
  if (kind_is(w, s, "cudasim_warp_sync")) {
    append_string(w->out, met);
    return;
  }
  if (s->kind == S_BLOCK_COLLECTIVE) {
    const bool all = kind_is(w, s, "cudasim_vote_and"), any = kind_is(w, s, "cudasim_vote_or");
    append_string(w->out, "int ");
    write_name(w, result, all ? " = 1; " : " = 0; ");
    write_value(w, s, all ? " &= (" : any ? " |= (" : " += (", ") ? 1 : 0; ");
    append_string(w->out, "::cudasim::voted(); ");
  } else if (is_predicate(w, s)) {
    append_string(w->out, "unsigned int ");
    write_name(w, result, "_bits = 0; ");
    write_value(w, s, "_bits |= (", ") ? 1u << cudasim_l : 0u; ");
    append_string(w->out, met);
  } else {
    append_string(w->out, "::cudasim::warp_room ");
    write_name(w, result, "_room; ");
    write_value(w, s, "_room.put(cudasim_l, ", "); ");
    append_string(w->out, met);
  }
}

void write_result(const struct writer *w, const struct variable *v) {
  const struct tokens *t = w->k->t;
  const struct statement *s = v->in;
  append_string(w->out, "const auto ");
  write_name(w, v->name, " = ");
  if (kind_is(w, s, "cudasim_warp_active")) {
    append_string(w->out, "::cudasim::lane_bits(cudasim_lanes); ");
  } else if (is_predicate(w, s)) {
    append_string(w->out, kind_is(w, s, "cudasim_warp_ballot") ? "" : "(int)(");
    write_name(w, v->name, "_bits");
    append_string(w->out, kind_is(w, s, "cudasim_warp_ballot") ? "; "
                          : kind_is(w, s, "cudasim_warp_any")  ? " != 0); "
                                                               : " == ::cudasim::lane_bits(cudasim_lanes)); ");
  } else {
    const struct range value = value_of(w, s);
    append_string(w->out, "::cudasim::");
    write_name(w, s->call, "<decltype((");
    write_range(w, value);
    append_string(w->out, "))>(");
    write_name(w, v->name, "_room, cudasim_l, cudasim_lanes");
    write_range(w, (struct range){value.end, t->all[s->call + 1].match});
    append_string(w->out, "); ");
  }
}

// ---- conditions that differ from warp to warp ----------------------------------------------------------------------------

void write_condition(const struct writer *w, const struct statement *s) {
  if (!s->by_warp) {
    write_range(w, s->condition);
    return;
  }
  append_string(
      w->out,
      "[&]() __attribute__((always_inline)) { [[maybe_unused]] const int cudasim_x = cudasim_from; " WRITE_PLACE);
  write_needed_by_conditions(w, s, s->at.begin + 1);
  append_string(w->out, "return ");
  write_range(w, s->condition);
  append_string(w->out, "; }()");
}

struct conditions {
  const struct statement *all[32];
  int count;
  bool warps;
};

static void collect(const struct statement *s, struct conditions *c) {
  for (; s; s = s->next) {
    c->warps |= s->kind == S_WARP_COLLECTIVE;
    const bool asked = s->by_warp && s->at_entry;
    if (asked && c->count < 32)
      c->all[c->count] = s;
    c->count += asked;
    collect(s->child, c);
    collect(s->other, c);
  }
}

static void need(const struct kernel *k, struct range e, bool *needed) {
  for (int i = e.begin; i < e.end; i++) {
    const struct variable *v = kernel_variable(k, i);
    if (v == NULL || v->parameter || needed[v - k->variables])
      continue;
    needed[v - k->variables] = true;
    need(k, v->init, needed);
  }
}

void write_agreement(struct writer *w) {
  const struct kernel *k = w->k;
  struct conditions c = {.count = 0};
  bool needed[MAX_VARIABLES] = {false};
  collect(k->top, &c);
  if (!c.warps)
    return;
  append_string(w->out, " && ::cudasim::agreed(::cudasim::whole_rows()");
  if (c.count > 0) {
    append_string(w->out, " && [&]() -> bool {");
    write_silence(w);
    write_shape(w);
    append_string(w->out,
                  "for (unsigned int cudasim_z = 0; cudasim_z < cudasim_depth; cudasim_z++) for (unsigned int "
                  "cudasim_y = 0; cudasim_y < cudasim_height; cudasim_y++) for (int cudasim_from = cudasim_first; "
                  "cudasim_from < cudasim_end; cudasim_from += ::cudasim::WARP) { "
                  "const auto cudasim_bits = [&](const int cudasim_x) __attribute__((always_inline)) { " WRITE_PLACE);
    for (int i = 0; i < c.count && i < 32; i++)
      need(k, c.all[i]->condition, needed);
    for (int i = 0; i < k->variable_count; i++)
      if (needed[i]) {
        move_to(w, k->t->all[k->variables[i].declarator.begin].p, false);
        declare_plainly(w, &k->variables[i]);
      }
    append_string(w->out, "unsigned int cudasim_all = 0; ");
    for (int i = 0; i < c.count && i < 32; i++) {
      move_to(w, k->t->all[c.all[i]->condition.begin].p, false);
      append_string(w->out, "cudasim_all = cudasim_all * 2u + ((");
      write_range(w, c.all[i]->condition);
      append_string(w->out, ") ? 1u : 0u); ");
    }
    append_string(w->out,
                  "return cudasim_all; }; const unsigned int cudasim_of_first = cudasim_bits(cudasim_from); "
                  "unsigned int cudasim_differs = 0; for (int cudasim_x = cudasim_from; cudasim_x < cudasim_end && "
                  "cudasim_x < cudasim_from + ::cudasim::WARP; cudasim_x++) "
                  "cudasim_differs |= cudasim_bits(cudasim_x) ^ cudasim_of_first; "
                  "if (cudasim_differs) return false; } return true;\n#pragma GCC diagnostic pop\n}()");
  }
  append_string(w->out, ")");
  if (c.count > 32)
    w->failed = REFUSED_TOO_MANY_CONDITIONS;
}

// ---- a loop over warps ---------------------------------------------------------------------------------------------------

static bool changes_within(const struct kernel *k, struct range where, const struct variable *v) {
  for (int i = where.begin; i < where.end; i++)
    if (k->modified[i - k->body.begin] && kernel_variable(k, i) == v)
      return true;
  return false;
}

// What all threads share is declared before the loop, but for what each warp changes for itself, like the distance of a shuffle.
static void write_shared_by_warps(struct writer *w, struct statement *first, const struct statement *end,
                                  struct range region, int list_end) {
  struct kernel *k = w->k;
  bool returned = false;
  for (struct statement *s = first; s != end; s = s->next) {
    if (s->kind == S_HOISTED) {
      move_to(w, k->t->all[s->at.begin].p, false);
      write_range(w, s->at);
      s->kind = S_EMPTY;
    }
    for (int i = 0; i < k->variable_count; i++) {
      struct variable *v = &k->variables[i];
      if (v->in != s || v->class != V_UNIFORM || v->result || s->kind != S_DECLARATION)
        continue;
      if (!returned && !changes_within(k, region, v)) {
        move_to(w, k->t->all[v->declarator.begin].p, false);
        declare_plainly(w, v);
        v->declared = true;
      } else if (kernel_mentions(k, (struct range){region.end, list_end}, v)) {
        w->failed = REFUSED_WARP_CHANGE_NEEDED;
      }
    }
    returned |= s->returns;
  }
  for (int i = 0; i < k->variable_count; i++) {
    const struct variable *v = &k->variables[i];
    if (v->class == V_UNIFORM && (v->parameter || v->name < region.begin) && changes_within(k, region, v))
      w->failed = REFUSED_WARP_CHANGE;
  }
}

// The last warp of a row may be smaller than the others.
static void open_warps(const struct writer *w) {
  append_string(w->out, "\n{ const int cudasim_threads = cudasim_width * (int)(cudasim_height * cudasim_depth); ");
  if (w->instrumented)
    append_string(w->out,
                  "for (int cudasim_turn = 0; cudasim_turn < cudasim_threads; cudasim_turn += ::cudasim::WARP) { "
                  "const int cudasim_warp = cudasim_backwards ? (cudasim_threads - 1) / ::cudasim::WARP * "
                  "::cudasim::WARP - cudasim_turn : cudasim_turn, cudasim_place = cudasim_warp / cudasim_width; "
                  "[[maybe_unused]] const unsigned int cudasim_y = (unsigned int)cudasim_place % cudasim_height, "
                  "cudasim_z = (unsigned int)cudasim_place / cudasim_height; "
                  "const int cudasim_next = cudasim_first + cudasim_warp % cudasim_width; ");
  else
    append_string(w->out,
                  "int cudasim_next = cudasim_first; [[maybe_unused]] unsigned int cudasim_y = 0, cudasim_z = 0; "
                  "for (int cudasim_warp = 0; cudasim_warp < cudasim_threads; cudasim_warp += ::cudasim::WARP) { ");
  append_string(
      w->out,
      "[[maybe_unused]] const int cudasim_from = cudasim_next, cudasim_row = cudasim_warp - cudasim_from, "
      "cudasim_to = cudasim_end - cudasim_from < ::cudasim::WARP ? cudasim_end : cudasim_from + ::cudasim::WARP, "
      "cudasim_lanes = cudasim_to - cudasim_from; { ");
}

static void close_warps(const struct writer *w) {
  char label[100];
  snprintf(label, sizeof label, "\n} cudasim_warp_%d: __attribute__((unused)); ", w->warps);
  append_string(w->out, label);
  append_string(w->out, w->instrumented
                            ? "} }"
                            : "cudasim_next = cudasim_to; if (cudasim_next == cudasim_end) { cudasim_next = "
                              "cudasim_first; if (++cudasim_y == cudasim_height) { cudasim_y = 0; cudasim_z++; } "
                              "} } }");
}

void write_warps(struct writer *w, struct statement *first, const struct statement *end, bool last, int list_end) {
  const struct range region = {first->at.begin, end ? end->at.begin : list_end};
  struct statement *before = first;
  bool returns = false;
  for (struct statement *s = first; s != end; before = s, s = s->next)
    returns |= s->returns;
  if (returns && !last)
    w->failed = REFUSED_EARLY_RETURN;
  write_shared_by_warps(w, first, end, region, list_end);
  open_warps(w);
  w->level = LEVEL_WARP;
  before->next = NULL; // only what these warps run: the rest is linked again below
  write_list(w, first, last, region.end);
  before->next = (struct statement *)end;
  w->level = LEVEL_BLOCK;
  close_warps(w);
  w->warps++;
}
