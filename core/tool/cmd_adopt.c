// SPDX-License-Identifier: MIT
// `ferry adopt`: answers that have passed become kernels of the learner's own build of the library.
#include "tool/adopt.h"
#include "grader/grade.h"
#include "tool/print/plain.h"
#include "tool/print/term.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *number_of(const Adoptable *what) {
  return exercise_number(exercise_find(what->id));
}

// "max, max_dim and argmax"
static void name_ops(const Adoptable *what, char *text, size_t bytes) {
  char copy[128], *rest = copy;
  size_t used = 0;
  snprintf(copy, sizeof copy, "%s", what->ops);
  *text = '\0';
  for (char *op; (op = strsep(&rest, " "));)
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", used == 0 ? "" : rest ? ", " : " and ", op);
}

static uint64_t hash_of(const Exercise *e) {
  char folder[4096];
  work_path(folder, sizeof folder, "%s", "");
  return answer_hash(folder, e);
}

// ---- EX -----------------------------------------------------------------------------------------------------------------------------------

static int not_adoptable(const Exercise *e) {
  char list[512] = "";
  for (int i = 0; i < adoptable_count; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", number_of(&adoptables[i]));
  return usage_error("adopt", "no op of the library computes what %s does. Answers to these can be adopted: %s",
                     exercise_number(e), list);
}

// Whether the answer in the workspace is one that has passed. An exit status.
static int check_passed(const Exercise *e) {
  const Progress p = progress_of(e);
  char file[4096];
  work_shown(e, file, sizeof file);
  if (!p.passed) {
    fprintf(stderr, "ferry adopt: %s has not passed yet. Check it first: ./ferry run %s\n", exercise_number(e),
            exercise_number(e));
    return EXIT_ANSWER;
  }
  if (p.answer != 0 && p.answer == hash_of(e))
    return EXIT_PASS;
  fprintf(stderr, "ferry adopt: %s has changed since it passed. Check it again: ./ferry run %s\n", file,
          exercise_number(e));
  return EXIT_ANSWER;
}

static void say_not_built(const Exercise *e, const Answer *a) {
  char *plain = a->diagnostics ? plain_text(a->diagnostics, strlen(a->diagnostics)) : NULL;
  fprintf(stderr, "ferry adopt: %s cannot be built as a kernel of the library:\n", exercise_number(e));
  term_wrap(stderr, plain ? plain : status_name(a->status), 2);
  free(plain);
}

static int try_answer(const Exercise *e, const Adoptable *what, const char *source, AdoptedList *list) {
  static Answer a;
  char object[512], ops[128];
  int status = EXIT_GRADER;
  name_ops(what, ops, sizeof ops);
  if (!adopt_compile(&a, what, source)) {
    say_not_built(e, &a);
    status = a.status == STATUS_GRADER_ERROR || a.starved ? EXIT_GRADER : EXIT_ANSWER;
    answer_free(&a);
    return status;
  }
  snprintf(object, sizeof object, "%s/answer.o", a.folder);
  const uint64_t hash = hash_of(e);
  AdoptedList next = *list;
  adopted_put(&next, (Adopted){what, hash});
  printf("%s %s: tests of the library with it as the kernel of %s\n", exercise_number(e), e->title, ops);
  fflush(stdout);
  status = adopt_try(&next, what, object);
  if (status == EXIT_PASS && !(adopted_keep(what, source, object) && adopted_write(&next)))
    status = EXIT_GRADER;
  if (status == EXIT_ANSWER)
    printf("\n  Nothing has changed. After a change of your answer: ./ferry run %s, then adopt it again\n",
           exercise_number(e));
  if (status == EXIT_PASS)
    *list = next;
  answer_free(&a);
  return status;
}

static int adopt(const char *name, const char *sandbox) {
  const Exercise *e = exercise_named("adopt", name);
  if (!e)
    return EXIT_USAGE;
  const Adoptable *what = adoptable_of(e);
  if (!what)
    return not_adoptable(e);
  int status = check_passed(e);
  if (status == EXIT_PASS)
    status = begin_sandbox("adopt", sandbox);
  if (status > EXIT_PASS)
    return status;
  AdoptedList list = adopted_read();
  char source[4096];
  work_file(e, source, sizeof source);
  if (!adopt_prepare() || !adopt_refresh(&list))
    return EXIT_GRADER;
  status = try_answer(e, what, source, &list);
  if (status != EXIT_PASS)
    return status;
  status = adopt_share(&list, false);
  printf("\n  run a lesson on it   ./ferry chapter 9 --adopted\n  give it back         ./ferry adopt --back %s\n",
         exercise_number(e));
  return status;
}

// ---- --back ---------------------------------------------------------------------------------------------------------------------------------

static int give_back(const char *name) {
  const Exercise *e = name ? exercise_named("adopt", name) : NULL;
  if (name && !e)
    return EXIT_USAGE;
  const Adoptable *what = e ? adoptable_of(e) : NULL;
  if (e && !what)
    return not_adoptable(e);
  AdoptedList list = adopted_read();
  if (!adopted_drop(&list, what)) {
    printf("%s%s not adopted. The library's own kernels are in use.\n", e ? exercise_number(e) : "",
           e ? " is" : "Answers are");
    return EXIT_PASS;
  }
  if (!adopted_write(&list)) {
    fprintf(stderr, "ferry adopt: the list of adopted answers could not be written: %s\n", file_problem());
    return EXIT_GRADER;
  }
  if (what) {
    char ops[128];
    name_ops(what, ops, sizeof ops);
    printf("%s no longer run%s on your answer to %s.\n", ops, strchr(ops, ' ') ? "" : "s", exercise_number(e));
  } else {
    printf("All ops run on the library's kernels again.\n");
  }
  return EXIT_PASS;
}

// ---- --list ---------------------------------------------------------------------------------------------------------------------------------

static void print_row(const Adoptable *what, const AdoptedList *list) {
  const Exercise *e = exercise_find(what->id);
  const Progress p = progress_of(e);
  char ops[128], state[128] = "";
  name_ops(what, ops, sizeof ops);
  bool yours = false;
  for (int i = 0; i < list->count; i++)
    if (list->at[i].what == what) {
      yours = true;
      snprintf(state, sizeof state, "%s",
               list->at[i].answer == hash_of(e) ? "adopted" : "adopted; your file has changed since");
    } else if (strcmp(list->at[i].what->slot, what->slot) == 0) {
      snprintf(state, sizeof state, "%s is adopted instead", number_of(list->at[i].what));
    }
  if (!*state)
    snprintf(state, sizeof state, "%s%s", !p.passed ? "not passed yet" : "passed: ./ferry adopt ",
             p.passed ? exercise_number(e) : "");
  printf("  %s%-5s %-23s %s%s\n", style(yours ? GREEN : PLAIN), exercise_number(e), ops, state, style(PLAIN));
}

static int list_all(const char *sandbox) {
  const AdoptedList list = adopted_read();
  printf("  %sAnswers that can be kernels of the library%s\n  %-5s %-23s\n", style(BOLD), style(PLAIN), "",
         "ops that run on it");
  for (int i = 0; i < adoptable_count; i++)
    print_row(&adoptables[i], &list);
  if (list.count == 0) {
    printf("\n  No answer is adopted. After an exercise has passed: ./ferry adopt EX\n");
    return EXIT_PASS;
  }
  fflush(stdout);
  const int status = begin_sandbox("adopt", sandbox);
  if (status >= 0)
    return status;
  if (!adopt_prepare() || !adopt_refresh(&list))
    return EXIT_GRADER;
  return adopt_share(&list, true);
}

// ---- the command line -----------------------------------------------------------------------------------------------------------------------

int cmd_adopt(int argc, char **argv) {
  const char *name = NULL, *sandbox = NULL;
  bool list = false, back = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--list") == 0)
      list = true;
    else if (strcmp(argv[i], "--back") == 0)
      back = true;
    else if (strcmp(argv[i], "--sandbox") == 0 && i + 1 < argc)
      sandbox = argv[++i];
    else if (argv[i][0] == '-')
      return no_option(argv[0], argv[i]);
    else if (name)
      return usage_error(argv[0], "one exercise at a time");
    else
      name = argv[i];
  }
  if (list && (back || name))
    return usage_error(argv[0], "--list takes no exercise");
  if (!work_exists())
    return usage_error(argv[0], "there is no workspace yet: ./ferry start");
  if (back)
    return give_back(name);
  if (list || !name)
    return list_all(sandbox);
  return adopt(name, sandbox);
}
