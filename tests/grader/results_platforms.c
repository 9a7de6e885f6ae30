// SPDX-License-Identifier: MIT
// Results in the formats of platforms: Gradescope, Classroom 50, and the gradebooks of Canvas and Moodle. Learners read the first two,
// and Moodle's feedback, so they contain no hidden test (feedback.c).
#include "grade.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

static bool is_judged(const Verdict *v) {
  return v->status != STATUS_GRADER_ERROR;
}

static void text_json_feedback(Text *t, const Verdict *v) {
  Text feedback = {0};
  feedback_add(&feedback, v);
  text_json(t, feedback.at);
  text_free(&feedback);
}

// ---- Gradescope: a test for each exercise ------------------------------------------------------------------------------------

static void add_name(Text *t, const Verdict *v) {
  Text name = {0};
  text_add(&name, "%s %s", exercise_number(v->exercise), v->exercise->title);
  text_json(t, name.at);
  text_free(&name);
}

void write_gradescope(const Grading *g, Text *t) {
  const Learner *l = &g->learners[0];
  Text output = {0};
  text_add(&output, "%s", g->complete ? "graded by Ferry" : "the grading has not finished");
  if (g->exercise_count > learner_max(g, l)) // Gradescope has no word for it: their points are missing
    text_add(&output, "; %d of %d answers could not be judged because of an error in the grader; grade again",
             g->exercise_count - learner_max(g, l), g->exercise_count);
  protections_add(&output, "; protections: ", g->level, g->protections);
  text_add(
      t, "{\n  \"score\": %.9f,\n  \"stdout_visibility\": \"hidden\",\n  \"output_format\": \"text\",\n  \"output\": ",
      learner_score(g, l));
  text_json(t, output.at);
  text_free(&output);
  text_add(t, ",\n  \"tests\": [\n");
  for (int i = 0; i < g->exercise_count; i++) {
    const Verdict *v = &l->verdicts[i];
    text_add(t, "%s    {\"name\": ", i ? ",\n" : "");
    add_name(t, v);
    text_add(t, ", \"score\": %.9f, \"max_score\": %d, \"status\": \"%s\", \"output_format\": \"text\", \"output\": ",
             is_judged(v) ? verdict_score(v) : 0, is_judged(v), v->status == STATUS_PASS ? "passed" : "failed");
    text_json_feedback(t, v);
    text_add(t, "}");
  }
  text_add(t, "\n  ]\n}\n");
}

// ---- Classroom 50: result.json, whose points are integers: percent of each exercise ------------------------------------------------

static void add_variable(Text *t, const char *key, const char *variable, const char *otherwise) {
  const char *value = getenv(variable);
  text_add(t, "  \"%s\": ", key);
  text_json(t, value && *value ? value : otherwise);
  text_add(t, ",\n");
}

static void add_now(Text *t, const char *key) {
  const time_t now = time(NULL);
  struct tm utc;
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  text_add(t, "  \"%s\": \"%s\",\n", key, text);
}

static int percent_of(const Verdict *v) {
  return is_judged(v) ? (int)floor(100 * verdict_score(v) + 1e-9) : 0; // 100 only if everything passes
}

// The runner stamps the assignment's type, the owner and the time of the submission itself; these are right for one learner's repository.
void write_classroom50(const Grading *g, Text *t) {
  const Learner *l = &g->learners[0];
  const char *commit = getenv("COMMIT_URL");
  int score = 0, most = 0;
  text_add(t, "{\n  \"schema\": \"classroom50/result/v1\",\n");
  add_variable(t, "classroom", "CLASSROOM", "classroom");
  add_variable(t, "assignment", "ASSIGNMENT", "assignment");
  add_variable(t, "assignment_type", "ASSIGNMENT_TYPE", "individual");
  add_variable(t, "owner", "OWNER", getenv("USERNAME") ? getenv("USERNAME") : l->name);
  add_variable(t, "submission", "SUBMISSION_TAG", "submit/none");
  add_variable(t, "commit", "COMMIT_URL", "none");
  add_variable(t, "release", "RELEASE_URL", "none");
  add_variable(t, "review", "REVIEW_URL", commit && *commit ? commit : "none");
  if (getenv("SUBMITTED_AT"))
    add_variable(t, "datetime", "SUBMITTED_AT", "");
  else
    add_now(t, "datetime");
  add_now(t, "graded_at");
  text_add(t, "  \"tests\": [");
  for (int i = 0; i < g->exercise_count; i++) {
    const Verdict *v = &l->verdicts[i];
    text_add(t, "%s\n    {\"test-name\": ", i ? "," : "");
    add_name(t, v);
    text_add(t, ", \"passed\": %s, \"score\": %d, \"max-score\": %d, \"output\": ",
             v->status == STATUS_PASS ? "true" : "false", percent_of(v), is_judged(v) ? 100 : 0);
    text_json_feedback(t, v);
    text_add(t, "}");
    score += percent_of(v);
    most += is_judged(v) ? 100 : 0;
  }
  text_add(t, "\n  ],\n  \"score\": %d,\n  \"max-score\": %d\n}\n", score, most);
}

// ---- gradebooks: a row for each learner, whose folder has the name of the login ----------------------------------------------------

// Canvas finds the learner by one of the first columns, and wants all of them; the second row has the points.
void write_canvas(const Grading *g, Text *t) {
  text_add(t, "Student,ID,SIS User ID,SIS Login ID,Section,Ferry\n");
  text_add(t, "    Points Possible,,,,,%d\n", g->exercise_count);
  for (int i = 0; i < g->learner_count; i++) {
    const Learner *l = &g->learners[i];
    text_csv(t, l->name);
    text_add(t, ",,,");
    text_csv(t, l->name);
    text_add(t, ",,");
    if (learner_max(g, l) > 0) // what could not be judged is in proportion to the rest
      text_add(t, "%.4f", learner_score(g, l) * g->exercise_count / learner_max(g, l));
    text_add(t, "\n");
  }
}

// Percent, since Moodle refuses grades above 100 in its default setting. "-" is no grade.
void write_moodle(const Grading *g, Text *t) {
  text_add(t, "username,Ferry,Feedback\n");
  for (int i = 0; i < g->learner_count; i++) {
    const Learner *l = &g->learners[i];
    Text feedback = {0};
    text_csv(t, l->name);
    if (learner_max(g, l) > 0)
      text_add(t, ",%.2f,", 100 * learner_score(g, l) / learner_max(g, l));
    else
      text_add(t, ",-,");
    for (int j = 0; j < g->exercise_count; j++) {
      text_add(&feedback, "%s: ", exercise_number(g->exercises[j]));
      feedback_add(&feedback, &l->verdicts[j]);
    }
    text_csv(t, feedback.at);
    text_free(&feedback);
    text_add(t, "\n");
  }
}
