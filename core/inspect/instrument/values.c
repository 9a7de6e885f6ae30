// SPDX-License-Identifier: MIT
// The integer instructions that a GPU would execute of a function's x86-64 code.
//
// Most integer arithmetic of a kernel computes addresses, and g++ does that differently from nvcc: it checks bounds, has too few
// registers, and computes 31 * row + column again for each element of an unrolled loop. So instructions are not counted but values, by
// global value numbering (Alpern, Wegman and Zadeck, POPL 1988):
//
//   - A value is a linear form of atoms plus a constant: 31 * row + column + 5. An atom is a value from elsewhere: of memory, of a
//     parameter, of an operation that is not linear, or of a join in the control flow (a phi).
//   - Values with the same form are computed once. The constant is free in an address, which a GPU encodes with the access.
//   - A form counts if something needs it: an access as its address, a store, a conversion, a comparison. What only a bounds check
//     compares does not count. A product that is added is one instruction with the addition (IMAD).
//
// Each count belongs to the instruction that computes the value first.
#include "inspect/instrument/integers.h"

// ---- forms ---------------------------------------------------------------------------------------------------------------

static unsigned hash_of(const Form *f) {
  uint64_t h = 1469598103934665603u;
  for (int i = 0; i < f->terms; i++)
    h = (h ^ (uint64_t)f->term[i].atom ^ (uint64_t)f->term[i].times << 20) * 1099511628211u;
  return (unsigned)(h >> 32) % BUCKETS;
}

static int add_form(Function *f, const Form *form) {
  const unsigned bucket = hash_of(form);
  for (int i = f->buckets[bucket]; i; i = f->forms[i].next)
    if (f->forms[i].terms == form->terms &&
        memcmp(f->forms[i].term, form->term, (size_t)form->terms * sizeof form->term[0]) == 0)
      return i;
  f->forms = inspect_grown(f->forms, f->form_count, sizeof *f->forms);
  f->forms[f->form_count] = *form;
  f->forms[f->form_count].next = f->buckets[bucket];
  return f->buckets[bucket] = f->form_count++;
}

Value value_atom(Function *f, Atom atom) {
  Form form = {.terms = 1, .at = f->now, .atom = f->atom_count};
  form.term[0].atom = f->form_count;
  form.term[0].times = 1;
  f->atoms = inspect_grown(f->atoms, f->atom_count, sizeof *f->atoms);
  f->atoms[f->atom_count++] = atom;
  return (Value){add_form(f, &form), 0};
}

Value value_operation(Function *f, const char *name, Value a, Value b, bool product) {
  for (int i = f->form_count - 1; i > 0 && i > f->form_count - 500; i--) {
    const Form *form = &f->forms[i];
    const Atom *atom = form->terms == 1 && form->term[0].atom == i ? &f->atoms[form->atom] : NULL;
    if (atom && strcmp(atom->operation, name) == 0 && value_equals(atom->operand[0], a) &&
        value_equals(atom->operand[1], b))
      return (Value){i, 0};
  }
  Atom atom = {.operand = {a, b}, .product = product};
  snprintf(atom.operation, sizeof atom.operation, "%s", name);
  return value_atom(f, atom);
}

Value value_linear(Function *f, Value left, int64_t times, Value right) {
  Form sum = {.left = left.form, .right = right.form, .at = f->now};
  const Form *a = &f->forms[left.form], *b = &f->forms[right.form];
  const int64_t constant = (int64_t)((uint64_t)left.constant * (uint64_t)times + (uint64_t)right.constant);
  for (int i = 0, j = 0; i < a->terms || j < b->terms;) {
    const bool take_a = i < a->terms && (j == b->terms || a->term[i].atom <= b->term[j].atom);
    const bool take_b = j < b->terms && (i == a->terms || b->term[j].atom <= a->term[i].atom);
    const int64_t factor =
        (take_a ? (int64_t)((uint64_t)times * (uint64_t)a->term[i].times) : 0) + (take_b ? b->term[j].times : 0);
    const int atom = take_a ? a->term[i].atom : b->term[j].atom;
    i += take_a;
    j += take_b;
    if (factor == 0)
      continue;
    if (sum.terms == TERMS)
      return value_operation(f, "sum", left, right, false);
    sum.term[sum.terms].atom = atom;
    sum.term[sum.terms++].times = factor;
  }
  if (sum.terms == 0)
    return (Value){0, constant};
  return (Value){add_form(f, &sum), constant};
}

const char value_fixed[] = "fixed"; // an operation that costs nothing

// ---- what is needed ------------------------------------------------------------------------------------------------------

static void need_form(Function *f, int form);

void value_need(Function *f, Value v, bool address) {
  if (v.form <= 0)
    return;
  need_form(f, v.form);
  if (!address && v.constant != 0) { // an addition of its own
    const Value sum = value_operation(f, "offset", (Value){v.form, 0}, value_constant(v.constant), false);
    need_form(f, sum.form);
  }
}

static void need_incoming(Function *f, int form, Value v, int at) {
  if (v.form == form) // the step of a loop
    f->integers[at] += v.constant != 0;
  else
    value_need(f, v, false);
}

static void need_atom(Function *f, int form, bool counts) {
  const Atom atom = f->atoms[f->forms[form].atom];
  if (atom.phi) {
    for (int i = 0; i < atom.incoming_count; i++)
      need_incoming(f, form, atom.incoming[i], atom.incoming_at[i]);
    return;
  }
  if (!atom.operation[0])
    return;
  if (strcmp(atom.operation, value_fixed) == 0)
    return;
  f->integers[f->forms[form].at] += counts;
  for (int i = 0; i < 2; i++)
    value_need(f, atom.operand[i], strcmp(atom.operation, "offset") == 0);
}

static bool is_atom(const Function *f, int form) {
  return f->forms[form].terms == 1 && f->forms[form].term[0].atom == form;
}

// A summand: its multiplication is part of the addition.
static void need_summand(Function *f, int form) {
  Form *s = &f->forms[form];
  if (form == 0 || s->needed)
    return;
  if (s->terms == 1 && !is_atom(f, form)) {
    need_form(f, s->term[0].atom);
  } else if (is_atom(f, form) && f->atoms[s->atom].product) {
    s->needed = true;
    need_atom(f, form, false);
  } else if (!is_atom(f, form) && s->right == 0) {
    need_form(f, s->left);
  } else {
    need_form(f, form);
  }
}

static void need_form(Function *f, int form) {
  const Form s = f->forms[form];
  if (form == 0 || s.needed)
    return;
  f->forms[form].needed = true;
  if (is_atom(f, form)) {
    need_atom(f, form, true);
    return;
  }
  f->integers[s.at]++;
  if (s.terms == 1) {
    need_form(f, s.term[0].atom);
  } else if (s.right == 0) {
    need_form(f, s.left);
  } else {
    need_summand(f, s.left);
    need_summand(f, s.right);
  }
}

void value_incoming(Function *f, int phi, Value v, int at) {
  Atom *a = &f->atoms[f->forms[phi].atom];
  a->incoming = inspect_grown(a->incoming, a->incoming_count, sizeof *a->incoming);
  a->incoming_at = inspect_grown(a->incoming_at, a->incoming_count, sizeof *a->incoming_at);
  a->incoming[a->incoming_count] = v;
  a->incoming_at[a->incoming_count++] = at;
  if (f->forms[phi].needed)
    need_incoming(f, phi, v, at);
}

bool value_is_phi(const Function *f, Value v) {
  return v.form > 0 && is_atom(f, v.form) && f->atoms[f->forms[v.form].atom].phi;
}

void values_begin(Function *f) {
  f->buckets = calloc(BUCKETS, sizeof *f->buckets);
  if (f->buckets)
    f->buckets[hash_of(&(Form){.terms = 0})] = add_form(f, &(Form){.terms = 0});
}

void values_end(Function *f) {
  for (int a = 0; a < f->atom_count; a++) {
    free(f->atoms[a].incoming);
    free(f->atoms[a].incoming_at);
  }
  free(f->forms);
  free(f->atoms);
  free(f->buckets);
}
