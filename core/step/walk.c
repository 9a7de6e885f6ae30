// SPDX-License-Identifier: MIT
// What the keys of the interactive view do.
#include "step/walk.h"
#include "step/format.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(StepWalk *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(w->message, sizeof w->message, format, arguments);
  va_end(arguments);
}

void step_walk_begin(StepWalk *w, const Record *r, int step) {
  *w = (StepWalk){.r = r, .step = step, .view = {.columns = 80, .lane = -1, .chosen = ""}};
}

// ---- keys ------------------------------------------------------------------------------------------------------------------

typedef struct Move {
  char key;
  StepGoal goal;
  int direction;
  const char *name; // "no later ..."
} Move;

static const Move moves[] = {
    {'n', STEP_ANY, 1, "step"},
    {'p', STEP_ANY, -1, "step"},
    {'N', STEP_SAME_WARP, 1, "step of this warp"},
    {'P', STEP_SAME_WARP, -1, "step of this warp"},
    {'o', STEP_OVER, 1, "step of this warp outside of calls"},
    {'O', STEP_OVER, -1, "step of this warp outside of calls"},
    {'u', STEP_OUT, 1, "step of this warp in the caller"},
    {'U', STEP_OUT, -1, "step of this warp in the caller"},
    {'j', STEP_SAME_LINE, 1, "step at this line"},
    {'k', STEP_SAME_LINE, -1, "step at this line"},
    {']', STEP_BARRIER, 1, "barrier"},
    {'[', STEP_BARRIER, -1, "barrier"},
    {'d', STEP_DIVERGENCE, 1, "divergence"},
    {'D', STEP_DIVERGENCE, -1, "divergence"},
    {'r', STEP_RECONVERGENCE, 1, "reconvergence"},
    {'R', STEP_RECONVERGENCE, -1, "reconvergence"},
    {'f', STEP_FINDING, 1, "finding"},
    {'F', STEP_FINDING, -1, "finding"},
};

static void go(StepWalk *w, int step, int direction, const char *name) {
  if (step >= 0)
    w->step = step;
  else
    say(w, "there is no %s %s", direction > 0 ? "later" : "earlier", name);
}

static void repeat(StepWalk *w, int direction);

bool step_walk_key(StepWalk *w, int key) {
  w->message[0] = '\0';
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
    if (moves[i].key == key) {
      go(w, step_next(w->r, w->step, moves[i].goal, moves[i].direction), moves[i].direction, moves[i].name);
      return true;
    }
  switch (key) {
  case 'g':
    w->step = 0;
    return true;
  case 'G':
    w->step = w->r->step_count - 1;
    return true;
  case 'm':
    w->view.memory = !w->view.memory;
    say(w, w->view.memory ? "all of shared memory" : "shared memory that the step touches");
    return true;
  case '.':
  case ',':
    repeat(w, key == '.' ? 1 : -1);
    return true;
  default:
    return false;
  }
}

// ---- searches --------------------------------------------------------------------------------------------------------------

// After a search for a write: which thread wrote what.
static void say_writer(StepWalk *w, const StepPlace *place) {
  const StepWord word = step_word(w->r, w->step, place->array, place->word);
  char array_type[16];
  const char *type = step_array_type(&w->r->arrays[place->array], array_type);
  char name[80], value[64];
  step_element_name(w->r, place->array, place->word, name, sizeof name);
  step_text(word.value, type, 0, value, sizeof value);
  say(w, "thread %d wrote %s = %s here, in step %d.  . next write  , previous", word.thread, name, value, w->step);
}

static void find_write(StepWalk *w, int direction) {
  StepPlace place;
  if (!step_query_place(w->r, w->step, w->r->steps[w->step].call_count, &w->query, &place, w->message,
                        sizeof w->message))
    return;
  if (place.array < 0) {
    say(w, "%s is no element of an array. / finds the changes of a variable", w->query.name);
    return;
  }
  const int found = step_next_write(w->r, w->step, place.array, place.word, direction);
  go(w, found, direction, "write of this element in the record");
  if (found >= 0)
    say_writer(w, &place);
}

static void find_query(StepWalk *w, int direction) {
  const int found = step_next_query(w->r, w->step, &w->query, direction);
  go(w, found, direction, "step that changes it so");
  if (found >= 0)
    say(w, "it changed here.  . next  , previous");
}

static void repeat(StepWalk *w, int direction) {
  if (w->asked == '/')
    find_query(w, direction);
  else if (w->asked == 'w')
    find_write(w, direction);
  else if (w->asked == ':')
    go(w, step_next_at_line(w->r, w->step, w->line, direction), direction, "step at that line");
  else
    say(w, "nothing has been asked for yet: / finds a change, w a write, : a line");
}

static bool read_number(StepWalk *w, const char *text, long most, long *number) {
  char *end;
  *number = strtol(text, &end, 10);
  if (end != text && !*end && *number >= 0 && *number <= most)
    return true;
  say(w, "\"%.40s\" is no number from 0 to %ld", text, most);
  return false;
}

static void to_line(StepWalk *w, const char *answer) {
  long line;
  if (!read_number(w, answer, INT32_MAX, &line))
    return;
  w->line = (int)line;
  w->asked = ':';
  repeat(w, 1);
  if (w->message[0] && step_next_at_line(w->r, w->step, w->line, -1) >= 0)
    say(w, "there is no later step at line %d.  , goes to the last one", w->line);
  else if (w->message[0])
    say(w, "no step of the record is at line %d", w->line);
}

static void set_lane(StepWalk *w, const char *answer) {
  long lane = -1;
  if (*answer && !read_number(w, answer, STEP_LANES - 1, &lane))
    return;
  w->view.lane = (int)lane;
}

void step_walk_answer(StepWalk *w, int key, const char *answer) {
  StepQuery query;
  w->message[0] = '\0';
  switch (key) {
  case '/':
  case 'w':
    if (*answer && !step_query_read(answer, &query, w->message, sizeof w->message))
      return;
    if (*answer)
      w->query = query;
    if (*answer)
      w->asked = key;
    repeat(w, key == '/' ? 1 : -1);
    return;
  case ':':
    to_line(w, answer);
    return;
  case '@': {
    const int found = step_find(w->r, answer);
    if (found < 0)
      say(w, "\"%.40s\" is no step: type 0 to %d, race:1, finding:1, line:29 or end", answer, w->r->step_count - 1);
    else
      w->step = found;
    return;
  }
  case 'l':
    set_lane(w, answer);
    return;
  default:
    snprintf(w->chosen, sizeof w->chosen, "%s", answer);
    w->view.chosen = w->chosen;
  }
}
