// A verdict on the terminal.
#include "commands.h"
#include "plain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_words(const Verdict *v) {
  if (v->status == STATUS_PASS && v->real_gpu)
    return "passed on NVIDIA hardware";
  if (v->status == STATUS_PASS)
    return "passed on the simulator; not verified on a GPU";
  return status_name(v->status);
}

static void print_test(const Verdict *v, const TestVerdict *t, int number, bool whole) {
  bool pass = t->status == STATUS_PASS, skipped = t->status == STATUS_SKIPPED;
  const char *colour = style(pass ? GREEN : skipped ? YELLOW : RED);
  printf("  %s%-13s%s %s%s\n", colour, pass ? "ok" : status_name(t->status), style(PLAIN), t->test->name,
         skipped ? " (it needs more devices)" : "");
  if (!t->report || !whole)
    return;
  fputs(t->report, stdout);
  printf("  again: ./ferry run %s --replay %d.%llx\n", v->exercise->id, number, (unsigned long long)t->seed);
}

static void print_end(const Verdict *v) {
  const Exercise *e = v->exercise;
  const char *colour = style(v->status == STATUS_PASS ? GREEN : RED);
  printf("\n%d of %d tests passed in %.1f s. %s%s: %s%s\n", v->passed, v->test_count - v->skipped, v->seconds, colour,
         e->id, verdict_words(v), style(PLAIN));
  if (v->skipped > 0)
    printf("%d %s left out: there are not devices enough. %s\n", v->skipped,
           v->skipped == 1 ? "test was" : "tests were",
           v->real_gpu ? "FERRY_CUDA=sim runs them on simulated ones" : "FERRY_SIM_DEVICES=4 has enough for all");
}

void verdict_print(const Verdict *v, const char *file, bool all) {
  bool shown = false;
  char *plain = plain_text(file, strlen(file)); // a learner may have chosen its name
  printf("%s%s%s  %s\n", style(BOLD), v->exercise->id, style(PLAIN), plain ? plain : "");
  free(plain);
  if (v->report) {
    printf("%s%s%s\n%s", style(RED), status_name(v->status), style(PLAIN), v->report);
    if (v->status == STATUS_COMPILE_ERROR || v->status == STATUS_MISSING || v->status == STATUS_GRADER_ERROR) {
      print_end(v);
      return;
    }
  }
  for (int i = 0; i < v->test_count; i++) {
    const TestVerdict *t = &v->tests[i];
    bool bad = t->status != STATUS_PASS && t->status != STATUS_SKIPPED;
    print_test(v, t, i + 1, all || !shown);
    shown |= bad;
  }
  print_end(v);
}
