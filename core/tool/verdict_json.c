// SPDX-License-Identifier: MIT
// `ferry run --json`: a verdict for programs. The reports are those of the terminal.
#include "tool/commands.h"
#include "tool/print/text.h"

static void add_text(Text *t, const char *key, const char *value) {
  text_add(t, ", \"%s\": ", key);
  if (value && *value)
    text_json(t, value);
  else
    text_add(t, "null");
}

static void add_test(Text *t, const TestVerdict *v, int number) {
  char replay[64];
  snprintf(replay, sizeof replay, "%d.%llx", number, (unsigned long long)v->seed);
  text_add(t, "{\"status\": \"%s\", \"seconds\": %.3f", status_name(v->status), v->seconds);
  add_text(t, "name", v->test->name);
  add_text(t, "headline", v->headline);
  add_text(t, "report", v->report);
  add_text(t, "mistake", v->mistake && !v->symptoms ? v->mistake->name : NULL);
  add_text(t, "lesson", v->mistake && !v->symptoms ? v->mistake->lesson : NULL);
  add_text(t, "replay", v->report ? replay : NULL);
  add_text(t, "step", v->step);
  text_add(t, "}");
}

static void add_stars(Text *t, const Verdict *v) {
  text_add(t, ", \"extra_stars\": [");
  for (int star = 0; star < EXTRA_STARS && v->exercise->stars[star].is_for; star++) {
    const LostStar *lost = verdict_lost(v, star);
    text_add(t, "%s{\"lost\": %s", star > 0 ? ", " : "", lost ? "true" : "false");
    add_text(t, "for", v->exercise->stars[star].is_for);
    add_text(t, "mistake", lost ? lost->mistake->name : NULL);
    add_text(t, "says", lost ? lost->mistake->says : NULL);
    add_text(t, "lesson", lost ? lost->mistake->lesson : NULL);
    text_add(t, "}");
  }
  text_add(t, "]");
}

static const char *headline(const Verdict *v) {
  for (int i = 0; i < v->test_count; i++)
    if (v->tests[i].status != STATUS_PASS && *v->tests[i].headline)
      return v->tests[i].headline;
  return v->status == STATUS_PASS ? NULL : status_name(v->status);
}

bool verdict_json(const Verdict *v, const char *path) {
  const Exercise *e = v->exercise, *next = progress_current();
  Text t = {0};
  text_add(&t, "{\"id\": \"%s\", \"number\": \"%s\", \"status\": \"%s\", \"passed\": %d, \"run\": %d, \"skipped\": %d",
           e->id, exercise_number(e), status_name(v->status), v->passed, v->test_count - v->skipped, v->skipped);
  text_add(&t, ", \"stars\": %d, \"most_stars\": %d, \"seconds\": %.3f, \"on_gpu\": %s", v->stars,
           verdict_most_stars(e), v->seconds, v->real_gpu ? "true" : "false");
  add_text(&t, "title", e->title);
  add_text(&t, "headline", headline(v));
  add_text(&t, "report", v->report);
  add_text(&t, "warning", v->warning);
  add_text(&t, "learned", v->status == STATUS_PASS ? e->after_pass : NULL);
  add_text(&t, "next", next ? exercise_number(next) : NULL);
  if (v->status == STATUS_PASS && !e->open)
    add_stars(&t, v);
  text_add(&t, ", \"tests\": [");
  for (int i = 0; i < v->test_count; i++) {
    text_add(&t, "%s", i > 0 ? ",\n  " : "\n  ");
    add_test(&t, &v->tests[i], (int)(v->tests[i].test - e->tests) + 1);
  }
  text_add(&t, "]}\n");
  const bool written = file_write(path, t.at, t.used);
  text_free(&t);
  return written;
}
