// SPDX-License-Identifier: MIT
// Results as files: JSON of our own, JUnit XML, CSV. Those of platforms are in results_platforms.c.
#include "grade.h"
#include "sandbox.h"
#include <stdio.h>
#include <string.h>

static bool is_counted(const Verdict *v) {
  return v->status != STATUS_GRADER_ERROR;
}

double learner_score(const Grading *g, const Learner *l) {
  double score = 0;
  for (int i = 0; i < g->exercise_count; i++)
    score += is_counted(&l->verdicts[i]) ? verdict_score(&l->verdicts[i]) : 0;
  return score;
}

int learner_max(const Grading *g, const Learner *l) {
  int max = 0;
  for (int i = 0; i < g->exercise_count; i++)
    max += is_counted(&l->verdicts[i]);
  return max;
}

void protections_add(Text *t, const char *before, const char *level, unsigned protections) {
  char on[768], off[512];
  sandbox_describe_at(level ? level : sandbox_chosen(), protections, on, sizeof on, off, sizeof off);
  if (protections)
    text_add(t, "%s%s%s%s", before, on, *off ? "; missing: " : "", off);
}

// ---- JSON --------------------------------------------------------------------------------------------------------------

static void json_test(const Grading *g, Text *t, const TestVerdict *v, int number) {
  text_add(t, "{\"name\": ");
  text_json(t, v->test->name);
  text_add(t, ", \"status\": \"%s\", \"seconds\": %.3f", status_name(v->status), v->seconds);
  if (v->mistake) {
    text_add(t, ", \"mistake\": ");
    text_json(t, v->mistake->name);
    text_add(t, ", \"lesson\": ");
    text_json(t, v->mistake->lesson);
    text_add(t, ", \"says\": ");
    text_json(t, v->mistake->says);
    text_add(t, ", \"likely\": %s", v->likely ? "true" : "false");
  }
  if (v->report) {
    text_add(t, ", \"report\": ");
    text_json(t, v->report);
    if (!g->secret_seed)
      text_add(t, ", \"replay\": \"%d.%llx\"", number, (unsigned long long)v->seed);
  }
  text_add(t, "}");
}

static void json_verdict(const Grading *g, Text *t, const Verdict *v) {
  text_add(t, "        {\"id\": ");
  text_json(t, v->exercise->id);
  text_add(t, ", \"status\": \"%s\", \"verified_on_gpu\": %s", status_name(v->status),
           v->status == STATUS_PASS && v->real_gpu ? "true" : "false");
  if (is_counted(v))
    text_add(t, ", \"score\": %.4f", verdict_score(v));
  else
    text_add(t, ", \"score\": null");
  text_add(t, ", \"passed\": %d, \"skipped\": %d, \"stars\": %d, \"most_stars\": %d, \"seconds\": %.3f", v->passed,
           v->skipped, v->stars, verdict_most_stars(v->exercise), v->seconds);
  text_add(t, ", \"version\": \"%016llx\", \"on_gpu\": %s", (unsigned long long)exercise_version(v->exercise),
           v->real_gpu ? "true" : "false");
  if (v->answer)
    text_add(t, ", \"answer\": \"%016llx\"", (unsigned long long)v->answer);
  if (v->protections) {
    char on[768], off[512];
    sandbox_describe_at(v->level ? v->level : sandbox_chosen(), v->protections, on, sizeof on, off, sizeof off);
    text_add(t, ", \"protections\": ");
    text_json(t, on);
  }
  if (v->report) {
    text_add(t, ", \"report\": ");
    text_json(t, v->report);
  }
  text_add(t, ",\n         \"tests\": [");
  for (int i = 0; i < v->test_count; i++) {
    text_add(t, "%s", i ? ",\n           " : "\n           ");
    json_test(g, t, &v->tests[i], i + 1);
  }
  text_add(t, "]}");
}

// A part says which one it is, and who is in the class, so that nobody is missed when parts are merged.
static void json_part(const Grading *g, Text *t) {
  if (g->parts == 0)
    return;
  text_add(t, "  \"part\": %d,\n  \"parts\": %d,\n  \"class\": [", g->part, g->parts);
  for (int i = 0; i < g->class_count; i++) {
    text_add(t, "%s", i ? ", " : "");
    text_json(t, g->class[i]);
  }
  text_add(t, "],\n");
}

void write_json(const Grading *g, Text *t) {
  char on[768], off[512];
  sandbox_describe_at(g->level ? g->level : sandbox_chosen(), g->protections, on, sizeof on, off, sizeof off);
  text_add(t, "{\n  \"complete\": %s,\n  \"grader\": \"%016llx\",\n", g->complete ? "true" : "false",
           (unsigned long long)(g->merged ? g->grader : grader_hash()));
  json_part(g, t);
  text_add(t, "  \"simulated_devices\": %d,\n  \"secret_seed\": %s,\n  \"protections\": ", g->options.devices,
           g->secret_seed ? "true" : "false");
  text_json(t, on);
  text_add(t, ",\n  \"missing_protections\": ");
  text_json(t, off);
  text_add(t, ",\n  \"learners\": [\n");
  for (int i = 0; i < g->learner_count; i++) {
    const Learner *l = &g->learners[i];
    text_add(t, "    {\"name\": ");
    text_json(t, l->name);
    text_add(t, ", \"score\": %.4f, \"max_score\": %d,\n      \"exercises\": [\n", learner_score(g, l),
             learner_max(g, l));
    for (int j = 0; j < g->exercise_count; j++) {
      json_verdict(g, t, &l->verdicts[j]);
      text_add(t, "%s\n", j + 1 < g->exercise_count ? "," : "");
    }
    text_add(t, "      ]}%s\n", i + 1 < g->learner_count ? "," : "");
  }
  text_add(t, "  ]\n}\n");
}

// ---- JUnit -------------------------------------------------------------------------------------------------------------

static void junit_test(Text *t, const Verdict *v, const TestVerdict *test) {
  text_add(t, "    <testcase classname=\"");
  text_xml(t, v->exercise->id);
  text_add(t, "\" name=\"");
  text_xml(t, test->test->name);
  text_add(t, "\" time=\"%.3f\">", test->seconds);
  bool trouble = test->status == STATUS_GRADER_ERROR, skipped = test->status == STATUS_SKIPPED;
  if (skipped) {
    text_add(t, "<skipped message=\"it needs more devices\"/>");
  } else if (test->status != STATUS_PASS) {
    const char *element = trouble ? "error" : "failure";
    text_add(t, "<%s message=\"%s", element, status_name(test->status));
    if (test->mistake) {
      text_add(t, ": ");
      text_xml(t, test->mistake->name);
    }
    text_add(t, "\">");
    text_xml(t, v->report);
    text_xml(t, test->report);
    text_add(t, "</%s>", element);
  }
  text_add(t, "</testcase>\n");
}

void write_junit(const Grading *g, Text *t) {
  text_add(t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ferry\">\n");
  for (int i = 0; i < g->learner_count; i++)
    for (int j = 0; j < g->exercise_count; j++) {
      const Verdict *v = &g->learners[i].verdicts[j];
      bool error = v->status == STATUS_GRADER_ERROR;
      int failed = v->test_count - v->passed - v->skipped;
      text_add(t, "  <testsuite name=\"");
      text_xml(t, g->learners[i].name);
      text_add(t, "/");
      text_xml(t, v->exercise->id);
      text_add(t, "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n", v->test_count,
               error ? 0 : failed, error ? failed : 0, v->skipped, v->seconds);
      Text protections = {0};
      protections_add(&protections, "", v->level, v->protections);
      if (protections.used) {
        text_add(t, "    <properties><property name=\"protections\" value=\"");
        text_xml(t, protections.at);
        text_add(t, "\"/></properties>\n");
      }
      text_free(&protections);
      for (int k = 0; k < v->test_count; k++)
        junit_test(t, v, &v->tests[k]);
      text_add(t, "  </testsuite>\n");
    }
  text_add(t, "</testsuites>\n");
}

// ---- CSV ---------------------------------------------------------------------------------------------------------------

void write_csv(const Grading *g, Text *t) {
  text_add(t, "learner,exercise,status,passed,tests,skipped,score,stars,most_stars,seconds,mistakes,protections\n");
  for (int i = 0; i < g->learner_count; i++)
    for (int j = 0; j < g->exercise_count; j++) {
      const Verdict *v = &g->learners[i].verdicts[j];
      text_csv(t, g->learners[i].name);
      text_add(t, ",%s,%s,%d,%d,%d,", v->exercise->id, status_name(v->status), v->passed, v->test_count, v->skipped);
      if (is_counted(v))
        text_add(t, "%.4f", verdict_score(v));
      text_add(t, ",%d,%d,%.3f,", v->stars, verdict_most_stars(v->exercise), v->seconds);
      Text mistakes = {0};
      for (int k = 0; k < v->test_count; k++) {
        const Mistake *m = v->tests[k].mistake;
        if (m && !(mistakes.at && strstr(mistakes.at, m->name)))
          text_add(&mistakes, "%s%s", mistakes.used ? "; " : "", m->name);
      }
      text_csv(t, mistakes.at);
      text_free(&mistakes);
      text_add(t, ",");
      protections_add(&mistakes, "", v->level, v->protections);
      text_csv(t, mistakes.at);
      text_free(&mistakes);
      text_add(t, "\n");
    }
}

// ---- to files ----------------------------------------------------------------------------------------------------------

bool write_results(const Grading *g, bool last) {
  const struct {
    const char *path;
    void (*write)(const Grading *g, Text *t);
  } files[] = {{g->json, write_json},
               {g->junit, write_junit},
               {g->csv, write_csv},
               {g->gradescope, write_gradescope},
               {g->classroom50, write_classroom50},
               {g->canvas, write_canvas},
               {g->moodle, write_moodle},
               {g->page, write_page}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    Text t = {0};
    if (!files[i].path || (!last && file_is_stream(files[i].path)))
      continue;
    files[i].write(g, &t);
    bool written = file_write(files[i].path, t.at, t.used);
    text_free(&t);
    if (!written) {
      fprintf(stderr, "ferry grade: %s cannot be written: %s\n", files[i].path, file_problem());
      return false;
    }
  }
  return true;
}
