// SPDX-License-Identifier: MIT
// The inspector's findings in the recorded block, with the steps that they belong to. Of several occurrences in one step all lanes are
// kept; later ones are left out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/step/step.h"

struct found {
  const struct finding *finding; // NULL: of a variable without a value
  int statement, step, thread, other_step, other, array;
  uint32_t lanes, other_lanes;
  int64_t element;
  char *text; // NULL: the finding's own
};
static struct found *found;
static int found_count;

// As the report of ./ferry inspect names them. Findings without a name here belong to no step.
static const char *const titles[FINDINGS] = {
    [FIND_RACE_BLOCK] = "data race within a block",
    [FIND_RACE_WARP] = "data race within a warp",
    [FIND_RACE_GRID] = "data race between blocks",
    [FIND_RACE_STREAM] = "data race between streams",
    [FIND_RACE_HOST] = "data race with the host",
    [FIND_RACE_ASYNC] = "shared memory read before its asynchronous copy has completed",
    [FIND_EQUAL] = "concurrent writes of the same value",
    [FIND_DIVERGENT] = "divergent barrier",
    [FIND_DIVERGENT_GRID] = "divergent grid barrier",
    [FIND_LANES] = "divergent warp function",
    [FIND_LIVELOCK] = "polling loop that never ends",
    [FIND_UNINITIALIZED_SHARED] = "read of uninitialized shared memory",
    [FIND_UNINITIALIZED_GLOBAL] = "read of uninitialized device memory",
    [FIND_BOUNDS_GLOBAL] = "out of bounds",
    [FIND_BOUNDS_ARRAY] = "out of bounds in an array",
    [FIND_BOUNDS_DYNAMIC] = "out of bounds in dynamic shared memory",
    [FIND_MISALIGNED] = "misaligned access",
    [FIND_FREED] = "use after free",
    [FIND_ILLEGAL] = "illegal address",
    [FIND_CONSTANT] = "write to constant memory",
};

static struct found *add(const struct finding *finding, int step, int thread) {
  found = inspect_resize(found, (size_t)(found_count + 1) * sizeof *found);
  found[found_count] = (struct found){.finding = finding,
                                      .statement = step_steps[step].statement,
                                      .step = step,
                                      .thread = thread,
                                      .other_step = -1,
                                      .other = -1,
                                      .array = -1,
                                      .lanes = 1u << thread % WARP};
  return &found[found_count++];
}

static struct found *find(const struct finding *finding) {
  for (int i = 0; i < found_count; i++)
    if (found[i].finding == finding)
      return &found[i];
  return NULL;
}

static int own_thread(void) {
  return (int)(step_lane() - step_block.lanes);
}

// Of an access beyond its array's end: which element.
static void add_access(struct found *f) {
  const enum finding_kind kind = f->finding->kind;
  const struct step_lane *lane = step_lane();
  if ((kind != FIND_BOUNDS_GLOBAL && kind != FIND_BOUNDS_ARRAY && kind != FIND_BOUNDS_DYNAMIC) || lane->array < 0)
    return;
  const struct step_array *array = &step_arrays[lane->array];
  const long long elements = (long long)(array->bytes / array->element);
  f->array = lane->array;
  f->element = lane->offset / array->element;
  if (f->element >= elements && asprintf(&f->text, "thread %d accesses %s[%lld], which has %lld elements", f->thread,
                                         array->name, (long long)f->element, elements) < 0)
    f->text = NULL;
}

static void on_found(const struct finding *finding) {
  if (!cudasim_step_records)
    return;
  struct found *f = find(finding);
  const int thread = own_thread();
  if (step_lane()->depth == 0 || finding->kind == FIND_UNINITIALIZED_SHARED)
    return;
  if (f == NULL)
    add_access(add(finding, (int)(step_of_thread() - step_steps), thread));
  else if (f->step == step_lane()->step)
    f->lanes |= 1u << thread % WARP;
}

// The last step in which the thread read the address, or wrote to it.
static int last_access(int thread, bool reads, uint64_t address, int array) {
  const int64_t offset = (int64_t)(address - step_arrays[array].address);
  const int lane = thread % WARP;
  for (int i = step_count - 1; i >= 0; i--) {
    if (step_steps[i].warp != thread / WARP || !(step_steps[i].lanes >> lane & 1))
      continue;
    for (int a = step_steps[i].access_count - 1; a >= 0; a--) {
      const struct step_access *x = &step_steps[i].accesses[a];
      if (x->array == array && x->lanes >> lane & 1 && offset - x->offset[lane] < x->bytes &&
          offset >= x->offset[lane] && (x->kind == 'r') == reads)
        return i;
    }
  }
  return -1;
}

static void set_element(struct found *f, int array, uint64_t address) {
  f->array = array;
  f->element = (int64_t)(address - step_arrays[array].address) / step_arrays[array].element;
}

static void on_race(const struct finding *finding, const struct access *before, uint32_t event, uint64_t address) {
  if (!cudasim_step_records)
    return;
  struct found *f = find(finding);
  const int array = step_array_at(address);
  if (f == NULL || array < 0 || before->thread >= step_block.threads)
    return;
  const int other_step = last_access(before->thread, is_read(before->event), address, array);
  if (f->array < 0) {
    set_element(f, array, address);
    f->other = before->thread;
    f->other_step = other_step;
    if (asprintf(&f->text, "%s[%lld]: thread %d %s, thread %d %s, and nothing orders the two", step_arrays[array].name,
                 (long long)f->element, f->other, race_verb(before->event), f->thread, race_verb(event)) < 0)
      f->text = NULL;
  }
  if (other_step == f->other_step && f->step == step_lane()->step)
    f->other_lanes |= 1u << before->thread % WARP;
}

static void on_early(const struct finding *finding, int thread, uint32_t event, uint64_t address) {
  const int array = step_array_at(address);
  const int step = array < 0 ? -1 : last_access(thread, is_read(event), address, array);
  struct found *f = find(finding);
  if (step < 0)
    return;
  if (f == NULL) {
    f = add(finding, step, thread);
    set_element(f, array, address);
  } else if (f->step == step) {
    f->lanes |= 1u << thread % WARP;
  }
}

const struct finding_observer step_findings = {on_found, on_race, on_early};

void step_ends(const char *why, const struct finding *finding, int thread, int other) {
  char *note = NULL;
  size_t bytes;
  FILE *out = open_memstream(&note, &bytes);
  struct found *f = find(finding);
  if (step_block.end)
    return;
  step_block.end = why;
  if (out) {
    fprintf(out, "%s: ", titles[finding->kind]);
    fputs(finding->detail, out);
    fclose(out);
  }
  const int step = step_add_event('d', -1, 0, note);
  if (f == NULL)
    f = add(finding, step, thread);
  f->step = step;
  f->thread = thread;
  f->lanes = 1u << thread % WARP;
  f->other = other;
  if (other >= 0) {
    f->other_step = step_block.lanes[other].step;
    f->other_lanes = 1u << other % WARP;
  }
  cudasim_step_records = 0;
}

void step_found_unset(const char *name) {
  const int thread = own_thread();
  struct step *s = step_of_thread();
  for (int i = 0; i < found_count; i++)
    if (found[i].finding == NULL && found[i].statement == s->statement) {
      if (found[i].step == s - step_steps)
        found[i].lanes |= 1u << thread % WARP;
      return;
    }
  struct found *f = add(NULL, (int)(s - step_steps), thread);
  if (asprintf(&f->text, "thread %d reads %s, which has no value yet", thread, name) < 0)
    f->text = NULL;
}

static void write_text(FILE *out, const struct found *f) {
  char *text = NULL;
  size_t bytes;
  FILE *to = open_memstream(&text, &bytes);
  if (to == NULL)
    inspect_give_up("out of memory");
  if (f->text)
    fprintf(to, "%s%s", f->text, f->finding && f->finding->kind == FIND_EQUAL ? " (both write the same value)" : "");
  else
    fputs(f->finding->detail, to);
  fclose(to);
  step_write_quoted(out, text);
  free(text);
}

void step_findings_write(FILE *out) {
  const char *comma = "";
  fputs("\"findings\":[", out);
  for (int i = 0; i < found_count; i++) {
    const struct found *f = &found[i];
    const char *id = f->finding ? finding_ids[f->finding->kind] : "uninitialized-variable";
    const char *title = f->finding ? titles[f->finding->kind] : "read of an uninitialized variable";
    if (!title)
      continue;
    fprintf(out,
            "%s{\"k\":\"%s\",\"title\":\"%s\",\"step\":%d,\"thread\":%d,\"other_step\":%d,\"other\":%d,\"lanes\":%u,"
            "\"other_lanes\":%u,\"array\":%d,\"i\":%lld,\"text\":",
            comma, id, title, f->step, f->thread, f->other_step, f->other, f->lanes, f->other_lanes, f->array,
            (long long)f->element);
    write_text(out, f);
    fputs("}", out);
    comma = ",\n";
  }
  fputs("],\n", out);
}
