// SPDX-License-Identifier: MIT
// Reads a record as it stands in its file (docs/dev/step_record.md), without a tree of JSON values in between: a record of 20 MB has
// millions of them.
#include "step/record_tables.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_FORMAT "ferry-step 1"

// ---- steps -----------------------------------------------------------------------------------------------------------------

// What is read of a step before it is known how much there is.
typedef struct Room {
  StepChange *changes;
  StepAccess *accesses;
  int *calls;
  int change_room, access_room, call_room;
} Room;

static void *room_for(void *items, int count, int *room, size_t bytes) {
  if (count < *room)
    return items;
  *room = *room ? 2 * *room : 8;
  return step_resize(items, (size_t)*room * bytes);
}

static const void *copied(Record *r, const void *items, int count, size_t bytes) {
  return count ? memcpy(step_allocate(r, (size_t)count * bytes), items, (size_t)count * bytes) : NULL;
}

static StepChange change(Reader *in) {
  StepChange c = {0};
  uint32_t lanes = 0;
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++)
    if (n == 0)
      c.variable = read_whole(in, 0);
    else if (n == 1)
      c.depth = read_whole(in, 0);
    else if (n == 2)
      lanes = read_mask(in);
    else if (n == 3)
      c.values = read_vector(in, lanes);
    else
      read_skip(in, 0);
  if (n < 4)
    read_fails(in, "[variable, depth, mask, VALUES]");
  return c;
}

static StepAccess access(Reader *in) {
  StepAccess a = {0};
  uint32_t lanes = 0;
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++)
    if (n == 0)
      a.kind = *read_text(in);
    else if (n == 1)
      a.array = read_whole(in, 0);
    else if (n == 2)
      a.bytes = read_whole(in, 1);
    else if (n == 3)
      lanes = read_mask(in);
    else if (n == 4)
      a.offsets = read_vector(in, lanes);
    else if (n == 5)
      a.values = read_vector(in, lanes);
    else if (n == 6) {
      a.before = read_vector(in, lanes);
      a.has_before = true;
    } else
      read_skip(in, 0);
  if (n < 6)
    read_fails(in, "[kind, array, bytes, mask, OFFSETS, VALUES]");
  return a;
}

static const StepMeeting *meeting(Reader *in) {
  StepMeeting m = {0};
  uint32_t lanes = 0;
  int n = 0;
  for (bool more = read_begin(in); more; more = read_more(in), n++)
    if (n == 0)
      lanes = read_mask(in);
    else if (n == 1)
      m.brings = read_vector(in, lanes);
    else if (n == 2) {
      m.from = read_vector(in, lanes);
      m.has_from = true;
    } else
      read_skip(in, 0);
  if (n < 2)
    read_fails(in, "[mask, VALUES]");
  return copied(in->r, &m, 1, sizeof m);
}

static void step_lists(Reader *in, Step *s, Room *room, char list) {
  for (bool more = read_begin(in); more; more = read_more(in))
    switch (list) {
    case 'c':
      room->calls = room_for(room->calls, s->call_count, &room->call_room, sizeof *room->calls);
      room->calls[s->call_count++] = read_whole(in, 0);
      break;
    case 'v':
      room->changes = room_for(room->changes, s->change_count, &room->change_room, sizeof *room->changes);
      room->changes[s->change_count++] = change(in);
      break;
    default:
      room->accesses = room_for(room->accesses, s->access_count, &room->access_room, sizeof *room->accesses);
      room->accesses[s->access_count++] = access(in);
    }
}

static Step step(Reader *in, Room *room) {
  Step s = {.kind = 's', .warp = -1, .function = -1, .text = ""};
  const char *name;
  bool first = true;
  while ((name = read_key(in, &first)))
    if (strcmp(name, "k") == 0)
      s.kind = *read_text(in);
    else if (strcmp(name, "w") == 0)
      s.warp = read_whole(in, -1);
    else if (strcmp(name, "s") == 0)
      s.statement = read_whole(in, 0);
    else if (strcmp(name, "n") == 0)
      s.function = read_whole(in, 0);
    else if (strcmp(name, "m") == 0)
      s.mask = read_mask(in);
    else if (strcmp(name, "t") == 0)
      s.text = read_text(in);
    else if (strcmp(name, "met") == 0)
      s.meeting = meeting(in);
    else if (name[0] && strchr("cva", name[0]) && !name[1])
      step_lists(in, &s, room, name[0]);
    else
      read_skip(in, 0);
  if (!in->wrong && (!s.kind || !strchr("srbed", s.kind)))
    read_fails(in, "a step of kind s, r, b, e or d");
  s.calls = copied(in->r, room->calls, s.call_count, sizeof *s.calls);
  s.changes = copied(in->r, room->changes, s.change_count, sizeof *s.changes);
  s.accesses = copied(in->r, room->accesses, s.access_count, sizeof *s.accesses);
  return s;
}

static void steps(Reader *in) {
  Room room = {0};
  Step *all = NULL;
  int count = 0;
  for (bool more = read_begin(in); more; more = read_more(in)) {
    all = step_grown(all, count, sizeof *all);
    all[count++] = step(in, &room);
  }
  in->r->steps = step_kept(in->r, all, count, sizeof *all);
  in->r->step_count = count;
  free(room.changes);
  free(room.accesses);
  free(room.calls);
}

// ---- a record --------------------------------------------------------------------------------------------------------------

#define LIST(TYPE, KEY, READ)                                                                                          \
  do {                                                                                                                 \
    TYPE *items = NULL;                                                                                                \
    int count = 0;                                                                                                     \
    for (bool more = read_begin(in); more; more = read_more(in)) {                                                     \
      items = step_grown(items, count, sizeof *items);                                                                 \
      items[count++] = READ(in);                                                                                       \
    }                                                                                                                  \
    r->KEY##_count = count;                                                                                            \
    r->KEY##s = step_kept(r, items, count, sizeof *items);                                                             \
  } while (0)

// Statements are named by numbers: `numbered` has the statement of each number below *most.
static void statements(Reader *in, Numbered **numbered) {
  Record *r = in->r;
  for (bool more = read_begin(in); more; more = read_more(in)) {
    *numbered = step_grown(*numbered, r->statement_count, sizeof **numbered);
    (*numbered)[r->statement_count++] = read_statement(in);
  }
  StepStatement *all = step_allocate(r, (size_t)r->statement_count * sizeof *all);
  for (int i = 0; i < r->statement_count; i++)
    all[i] = (*numbered)[i].statement;
  r->statements = all;
}

static void format(Reader *in) {
  const size_t at = in->scan.at;
  const char *said = read_text(in);
  if (in->wrong || strcmp(said, STEP_FORMAT) == 0)
    return;
  in->scan.at = at;
  read_fails(in, strncmp(said, "ferry-step ", 11) == 0
                     ? "the format \"" STEP_FORMAT "\". Another version of Ferry wrote this record: record it again"
                     : "the format \"" STEP_FORMAT "\". This is no record of ./ferry step");
}

static void member_of_record(Reader *in, const char *name, Numbered **numbered) {
  Record *r = in->r;
  if (strcmp(name, "kernel") == 0)
    r->kernel = read_text(in);
  else if (strcmp(name, "end") == 0)
    r->end = read_text(in);
  else if (strcmp(name, "grid") == 0)
    read_integers(in, r->grid, 3, 1);
  else if (strcmp(name, "block") == 0)
    read_integers(in, r->block, 3, 1);
  else if (strcmp(name, "at") == 0)
    read_integers(in, r->at, 3, 0);
  else if (strcmp(name, "launch") == 0)
    r->launch = read_whole(in, 0);
  else if (strcmp(name, "limit") == 0)
    r->limit = read_null(in) ? 0 : read_whole(in, 0);
  else if (strcmp(name, "files") == 0)
    LIST(StepFile, file, read_file);
  else if (strcmp(name, "functions") == 0)
    LIST(StepFunction, function, read_function);
  else if (strcmp(name, "skipped") == 0)
    LIST(StepSkipped, skipped, read_skipped);
  else if (strcmp(name, "statements") == 0)
    statements(in, numbered);
  else if (strcmp(name, "variables") == 0)
    LIST(StepVariable, variable, read_variable);
  else if (strcmp(name, "arrays") == 0)
    LIST(StepArray, array, read_array);
  else if (strcmp(name, "findings") == 0)
    LIST(StepFinding, finding, read_finding);
  else if (strcmp(name, "steps") == 0)
    steps(in);
  else
    read_skip(in, 0);
}

static int by_number(const void *a, const void *b) {
  const int x = ((const Numbered *)a)->id, y = ((const Numbered *)b)->id;
  return (x > y) - (x < y);
}

// From a statement's number to its index; -1: it is none.
static int index_of(const Numbered *numbered, int count, int id) {
  const Numbered wanted = {.id = id};
  const Numbered *found = count ? bsearch(&wanted, numbered, (size_t)count, sizeof wanted, by_number) : NULL;
  return found ? found->index : -1;
}

static bool name_statements(Record *r, Numbered *numbered) {
  for (int i = 0; i < r->statement_count; i++)
    numbered[i].index = i;
  if (r->statement_count)
    qsort(numbered, (size_t)r->statement_count, sizeof *numbered, by_number);
  for (int i = 0; i < r->step_count; i++) {
    Step *s = &r->steps[i];
    int *calls = (int *)(uintptr_t)s->calls;
    const int id = s->statement;
    s->statement = id ? index_of(numbered, r->statement_count, id) : -1;
    if (id && s->statement < 0)
      return false;
    for (int c = 0; c < s->call_count; c++)
      if ((calls[c] = index_of(numbered, r->statement_count, calls[c])) < 0)
        return false;
  }
  return true;
}

// Strings have been unescaped in the reader's text: lines are counted in the file's.
static void explain(const Reader *in, const char *name, const char *text, char *why, size_t why_bytes) {
  char expected[200];
  int line = 1;
  for (size_t i = 0; i < in->scan.wrong_at; i++)
    line += text[i] == '\n';
  snprintf(expected, sizeof expected, in->scan.expected, "a value");
  snprintf(why, why_bytes, "%s, line %d: expected %s", name, line, expected);
}

Record *step_record_read(const char *name, const char *text, size_t bytes, char *why, size_t why_bytes) {
  Record *r = step_resize(NULL, sizeof *r);
  *r = (Record){.kernel = "", .end = "complete", .grid = {1, 1, 1}};
  Reader in = {.scan = {.length = bytes}, .r = r};
  Numbered *numbered = NULL;
  bool first = true, knows_format = false;
  const char *member;
  char problem[160] = "";
  in.scan.text = step_resize(NULL, bytes + 1);
  memcpy(in.scan.text, text, bytes);
  in.scan.text[bytes] = '\0';
  while ((member = read_key(&in, &first))) {
    if (strcmp(member, "format") == 0) {
      format(&in);
      knows_format = true;
    } else if (knows_format || read_fails(&in, "\"format\" as the first key. This is no record of ./ferry step"))
      member_of_record(&in, member, &numbered);
  }
  if (!in.wrong && fy_json_scan_peek(&in.scan) != '\0')
    read_fails(&in, "the end of the file");
  if (in.wrong)
    explain(&in, name, text, why, why_bytes);
  else if (!knows_format)
    snprintf(why, why_bytes, "%s: this is no record of ./ferry step: it has no \"format\"", name);
  else if (!name_statements(r, numbered))
    snprintf(why, why_bytes, "%s: a step is of a statement that the record does not have", name);
  else if (!step_check(r, problem, sizeof problem))
    snprintf(why, why_bytes, "%s: %s", name, problem);
  else
    step_index(r);
  const bool good = r->index != NULL;
  free(numbered);
  free(in.scan.text);
  if (!good)
    step_record_free(r);
  return good ? r : NULL;
}

Record *step_record_load(const char *path, char *why, size_t why_bytes) {
  FILE *from = fopen(path, "r");
  char *text = NULL;
  size_t used = 0, room = 0, got = 1;
  if (!from) {
    snprintf(why, why_bytes, "%s: cannot be read: %s", path, strerror(errno));
    return NULL;
  }
  while (got) {
    if (used == room)
      text = step_resize(text, room = room ? 2 * room : 1 << 20);
    used += got = fread(text + used, 1, room - used, from);
  }
  const bool whole_file = !ferror(from);
  Record *r = NULL;
  if (whole_file)
    r = step_record_read(path, text, used, why, why_bytes);
  else
    snprintf(why, why_bytes, "%s: cannot be read: %s", path, strerror(errno));
  fclose(from);
  free(text);
  return r;
}

void step_record_free(Record *r) {
  if (!r)
    return;
  step_index_free(r);
  step_arena_free(r);
  free(r);
}
