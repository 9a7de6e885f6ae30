// SPDX-License-Identifier: MIT
// `ferry grade --page`: the results of a class as one HTML file without scripts, which needs no other file: who passed what, where the
// class is stuck, similar answers, and for each learner what that learner may read (feedback.c).
#include "grade.h"
#include "sandbox.h"
#include "similar.h"
#include "tool/print/lesson.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const head =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>Results of the class</title>\n<style>\n"
    ":root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --dim: #595959; --line: #d0d0d0; --box: "
    "#f4f4f4;\n"
    "  --good: #d9f0d9; --part: #fbeec2; --bad: #f8d7d3; --link: #0b57a4; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --dim: #a8a8a8; --line: #3a3d42;\n"
    "  --box: #202327; --good: #1d3d24; --part: #453a12; --bad: #4d221d; --link: #8ab8f0; } }\n"
    "body { color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif; margin: 1.5em auto; "
    "max-width: 80em;\n"
    "  padding: 0 1em; overflow-wrap: break-word; }\n"
    "a { color: var(--link); } a:focus-visible, summary:focus-visible, .wide:focus-visible { outline: 3px solid "
    "var(--link);\n"
    "  outline-offset: 2px; }\n"
    "h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin: 1.8em 0 .3em; } nav a { margin-right: 1em; }\n"
    ".wide { overflow-x: auto; max-width: 100%; } table { border-collapse: collapse; }\n"
    "th, td { border: 1px solid var(--line); padding: .15em .5em; text-align: left; vertical-align: top; }\n"
    "td.n, th.n { text-align: right; white-space: nowrap; } thead th { background: var(--box); }\n"
    ".grid td { text-align: center; white-space: nowrap; font-size: 13px; } .grid th { font-weight: normal; "
    "white-space: nowrap; }\n"
    ".grid tbody th { position: sticky; left: 0; background: var(--paper); max-width: 12em; overflow: hidden; "
    "text-overflow: ellipsis; }\n"
    ".p { background: var(--good); } .f { background: var(--part); } .x { background: var(--bad); } .m { color: "
    "var(--dim); }\n"
    "details { border-top: 1px solid var(--line); padding: .3em 0; } summary { cursor: pointer; }\n"
    "pre { white-space: pre-wrap; background: var(--box); padding: .4em .7em; margin: .3em 0; font: 13px/1.45 "
    "ui-monospace, monospace; }\n"
    ".dim { color: var(--dim); }\n"
    "</style>\n";

// A mistake in one exercise, and how many learners make it.
typedef struct Made {
  const Mistake *mistake;
  int exercise, learners, last; // last: the learner who was counted last
} Made;

typedef struct Table {
  Made *rows;
  int count, room;
} Table;

static void count_mistake(Table *t, const Mistake *m, int exercise, int learner) {
  for (int i = 0; i < t->count; i++)
    if (t->rows[i].exercise == exercise && strcmp(t->rows[i].mistake->name, m->name) == 0) {
      t->rows[i].learners += t->rows[i].last != learner;
      t->rows[i].last = learner;
      return;
    }
  if (t->count == t->room) {
    t->room = 2 * t->room + 64;
    t->rows = realloc(t->rows, (size_t)t->room * sizeof *t->rows);
    if (!t->rows)
      fatal_error("no memory");
  }
  t->rows[t->count++] = (Made){m, exercise, 1, learner};
}

static int by_learners(const void *a, const void *b) {
  const Made *x = a, *y = b;
  const int order = x->exercise != y->exercise ? x->exercise - y->exercise : strcmp(x->mistake->name, y->mistake->name);
  return x->learners != y->learners ? y->learners - x->learners : order;
}

static Table mistakes_of(const Grading *g) {
  Table t = {0};
  for (int e = 0; e < g->exercise_count; e++)
    for (int i = 0; i < g->learner_count; i++) {
      const Verdict *v = &g->learners[i].verdicts[e];
      for (int k = 0; k < v->test_count; k++)
        if (v->tests[k].mistake && v->tests[k].status != STATUS_PASS)
          count_mistake(&t, v->tests[k].mistake, e, i);
    }
  if (t.count > 0)
    qsort(t.rows, (size_t)t.count, sizeof *t.rows, by_learners);
  return t;
}

// ---- who passed what -----------------------------------------------------------------------------------------------------------

static void add_cell(Text *t, const Verdict *v) {
  const int run = v->test_count - v->skipped;
  switch (v->status) {
  case STATUS_PASS:
    text_add(t, "<td class=p>%.*s", 3 * v->stars, "★★★★★");
    break;
  case STATUS_MISSING:
  case STATUS_NOT_RUN:
    text_add(t, "<td class=m>–");
    break;
  case STATUS_GRADER_ERROR:
    text_add(t, "<td class=m>?");
    break;
  case STATUS_COMPILE_ERROR:
    text_add(t, "<td class=x>✗");
    break;
  default:
    text_add(t, "<td class=%s>%d/%d", 2 * v->passed >= run ? "f" : "x", v->passed, run);
  }
}

static void add_grid(Text *t, const Grading *g) {
  text_add(t, "<h2 id=grid>Who passed what</h2>\n<p class=dim>★ passed, with stars; 3/7: tests passed; ✗ does not "
              "compile; – no answer; "
              "? the grader failed.</p>\n"
              "<div class=wide tabindex=0 role=region aria-label=\"Who passed what\"><table class=grid><thead><tr><th "
              "scope=col>learner"
              "<th scope=col>points");
  for (int e = 0; e < g->exercise_count; e++) {
    text_add(t, "<th scope=col title=\"");
    text_xml(t, g->exercises[e]->title);
    text_add(t, "\">%s", exercise_number(g->exercises[e]));
  }
  text_add(t, "</thead><tbody>\n");
  for (int i = 0; i < g->learner_count; i++) {
    const Learner *l = &g->learners[i];
    text_add(t, "<tr><th scope=row><a href=\"#learner-%d\">", i);
    text_xml(t, l->name);
    text_add(t, "</a><td>%.2f", learner_score(g, l));
    for (int e = 0; e < g->exercise_count; e++)
      add_cell(t, &l->verdicts[e]);
    text_add(t, "\n");
  }
  text_add(t, "</tbody></table></div>\n");
}

// ---- where the class is stuck ----------------------------------------------------------------------------------------------------

typedef struct Progress {
  int exercise, answers, passed, stars;
} Reached;

static int most_stuck_first(const void *a, const void *b) {
  const Reached *x = a, *y = b;
  const int p = x->answers - x->passed, q = y->answers - y->passed;
  return p != q ? q - p : x->exercise - y->exercise;
}

static Reached reached_in(const Grading *g, int exercise) {
  Reached p = {.exercise = exercise};
  for (int i = 0; i < g->learner_count; i++) {
    const Verdict *v = &g->learners[i].verdicts[exercise];
    if (v->status == STATUS_MISSING || v->status == STATUS_GRADER_ERROR || v->status == STATUS_NOT_RUN)
      continue;
    p.answers++;
    p.passed += v->status == STATUS_PASS;
    p.stars += v->stars;
  }
  return p;
}

static void add_exercise(Text *t, const Grading *g, const Reached *p, const Table *made) {
  int shown = 0;
  text_add(t, "<tr><th scope=row>%s ", exercise_number(g->exercises[p->exercise]));
  text_xml(t, g->exercises[p->exercise]->title);
  text_add(t, "<td class=n>%d<td class=n>%d<td class=n>", p->answers, p->passed);
  if (p->passed > 0)
    text_add(t, "%.1f of %d", (double)p->stars / p->passed, verdict_most_stars(g->exercises[p->exercise]));
  text_add(t, "<td>");
  for (int i = 0; i < made->count && shown < 3; i++)
    if (made->rows[i].exercise == p->exercise) {
      text_add(t, "%s", shown++ ? "; " : "");
      text_xml(t, made->rows[i].mistake->name);
      text_add(t, " (%d)", made->rows[i].learners);
    }
  text_add(t, "\n");
}

static void add_stuck(Text *t, const Grading *g, const Table *made) {
  Reached *all = calloc((size_t)g->exercise_count + 1, sizeof *all);
  if (!all)
    fatal_error("no memory");
  for (int e = 0; e < g->exercise_count; e++)
    all[e] = reached_in(g, e);
  if (g->exercise_count > 0)
    qsort(all, (size_t)g->exercise_count, sizeof *all, most_stuck_first);
  text_add(t, "<h2 id=stuck>Where the class is stuck</h2>\n<p class=dim>Exercises with the most answers that do not "
              "pass come first. "
              "In parentheses: how many learners make the mistake.</p>\n"
              "<div class=wide tabindex=0 role=region aria-label=\"Exercises\"><table><thead><tr><th "
              "scope=col>exercise<th scope=col "
              "class=n>answers<th scope=col class=n>passed<th scope=col class=n>stars<th scope=col>mistakes made "
              "most</thead><tbody>\n");
  for (int e = 0; e < g->exercise_count; e++)
    add_exercise(t, g, &all[e], made);
  text_add(t, "</tbody></table></div>\n");
  free(all);
}

static void add_mistakes(Text *t, const Grading *g, const Table *made) {
  enum { MOST = 20 };
  text_add(t, "<h2 id=mistakes>Mistakes made most</h2>\n");
  if (made->count == 0) {
    text_add(t, "<p>No mistake was recognized.</p>\n");
    return;
  }
  text_add(t, "<div class=wide tabindex=0 role=region aria-label=\"Mistakes\"><table><thead><tr><th scope=col "
              "class=n>learners<th "
              "scope=col>mistake<th scope=col>what to say about it<th scope=col>exercise<th scope=col>to "
              "read</thead><tbody>\n");
  for (int i = 0; i < made->count && i < MOST; i++) {
    const Made *m = &made->rows[i];
    char command[256];
    lesson_command(m->mistake->lesson, command, sizeof command);
    text_add(t, "<tr><td class=n>%d<th scope=row>", m->learners);
    text_xml(t, m->mistake->name);
    text_add(t, "<td>");
    text_xml(t, m->mistake->says);
    text_add(t, "<td>%s<td><code>", exercise_number(g->exercises[m->exercise]));
    text_xml(t, command);
    text_add(t, "</code>\n");
  }
  text_add(t, "</tbody></table></div>\n");
}

// ---- similar answers -------------------------------------------------------------------------------------------------------------

static void add_similar(Text *t, const Grading *g) {
  enum { MOST = 40 };
  Similar found[MOST];
  bool folders = false;
  text_add(t, "<h2 id=similar>Similar answers</h2>\n");
  for (int i = 0; i < g->learner_count; i++)
    folders |= g->learners[i].folder != NULL;
  if (!folders) {
    text_add(t, "<p>Answers were not compared. To compare them, add <code>--class DIR</code>.</p>\n");
    return;
  }
  text_add(t, "<p><strong>A hint, not a proof.</strong> The table lists pairs of answers that share passages which are "
              "rare in this "
              "class and not in the original file. Names of variables and comments do not matter. Short exercises have "
              "few ways to "
              "write them, and learners may have been allowed to work together. Read both answers before you draw a "
              "conclusion.</p>\n");
  const int count = similar_answers(g, found, MOST);
  if (count == 0) {
    text_add(t, "<p>No such pair was found.</p>\n");
    return;
  }
  text_add(t, "<div class=wide tabindex=0 role=region aria-label=\"Similar answers\"><table><thead><tr><th "
              "scope=col>exercise<th "
              "scope=col>answers<th scope=col class=n>rare passages shared</thead><tbody>\n");
  for (int i = 0; i < count; i++) {
    text_add(t, "<tr><td>%s<td>", exercise_number(g->exercises[found[i].exercise]));
    text_xml(t, g->learners[found[i].a].name);
    text_add(t, ", ");
    text_xml(t, g->learners[found[i].b].name);
    text_add(t, "<td class=n>%d of %d\n", found[i].shared, found[i].of);
  }
  text_add(t, "</tbody></table></div>\n");
}

// ---- each learner ----------------------------------------------------------------------------------------------------------------

static void add_learner(Text *t, const Grading *g, int i) {
  const Learner *l = &g->learners[i];
  int passed = 0;
  for (int e = 0; e < g->exercise_count; e++)
    passed += l->verdicts[e].status == STATUS_PASS;
  text_add(t, "<details id=\"learner-%d\"><summary>", i);
  text_xml(t, l->name);
  text_add(t, ": %.2f of %d points, %d passed</summary>\n", learner_score(g, l), learner_max(g, l), passed);
  for (int e = 0; e < g->exercise_count; e++) {
    Text feedback = {0};
    if (l->verdicts[e].status == STATUS_MISSING)
      continue;
    feedback_add(&feedback, &l->verdicts[e]);
    text_add(t, "<p>%s ", exercise_number(g->exercises[e]));
    text_xml(t, g->exercises[e]->title);
    text_add(t, "</p><pre>");
    text_xml(t, feedback.at);
    text_add(t, "</pre>\n");
    text_free(&feedback);
  }
  text_add(t, "</details>\n");
}

void write_page(const Grading *g, Text *t) {
  Table made = mistakes_of(g);
  double score = 0;
  char on[768], off[512];
  for (int i = 0; i < g->learner_count; i++)
    score += learner_score(g, &g->learners[i]);
  text_add(t, "%s<h1>Results of the class</h1>\n<p>%d learners, %d exercises", head, g->learner_count,
           g->exercise_count);
  if (g->learner_count > 0)
    text_add(t, "; %.2f points on average", score / g->learner_count);
  text_add(t, ".%s</p>\n", g->complete ? "" : " <strong>The grading has not finished.</strong>");
  sandbox_describe_at(g->level ? g->level : sandbox_chosen(), g->protections, on, sizeof on, off, sizeof off);
  if (g->protections) {
    text_add(t, "<p class=dim>How answers were confined: ");
    text_xml(t, on);
    text_add(t, ".</p>\n");
  }
  text_add(t, "<nav aria-label=\"Sections\"><a href=\"#grid\">Who passed what</a> <a href=\"#stuck\">Where the class "
              "is stuck</a> "
              "<a href=\"#mistakes\">Mistakes</a> <a href=\"#similar\">Similar answers</a> <a "
              "href=\"#learners\">Learners</a></nav>\n"
              "<main>\n");
  add_grid(t, g);
  add_stuck(t, g, &made);
  add_mistakes(t, g, &made);
  if (g->complete) // this reads all answers
    add_similar(t, g);
  text_add(
      t,
      "<h2 id=learners>Learners</h2>\n<p class=dim>You can hand a learner the text below the name: it shows no hidden "
      "test.</p>\n");
  for (int i = 0; i < g->learner_count; i++)
    add_learner(t, g, i);
  text_add(t, "</main>\n</html>\n");
  free(made.rows);
}
