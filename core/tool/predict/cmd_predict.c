// SPDX-License-Identifier: MIT
// `ferry predict`: asks for a number, and then measures it.
#include "tool/commands.h"
#include "tool/predict/predict.h"
#include "tool/print/term.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static Guess guesses[MOST_GUESSES];
static int guess_count;

static const Guess *first_guess(const Question *q) {
  for (int i = 0; i < guess_count; i++)
    if (strcmp(guesses[i].id, q->id) == 0)
      return &guesses[i];
  return NULL;
}

// ---- which question ----------------------------------------------------------------------------------------------------------

// The first open one of a lesson; 0: of any.
static const Question *open_question(int lesson) {
  for (const Question *q = questions; q->id; q++)
    if ((lesson == 0 || question_lesson(q) == lesson) && !first_guess(q))
      return q;
  return NULL;
}

// The lesson where the learner is, then the nearest one after it, then any.
static const Question *next_question(void) {
  const Exercise *e = progress_current();
  for (int lesson = e ? e->chapter : 1; lesson < 100; lesson++)
    if (open_question(lesson))
      return open_question(lesson);
  return open_question(0);
}

static int no_question(const char *command, const char *name) {
  const int lesson = atoi(name);
  bool some = false;
  for (const Question *q = questions; q->id; q++)
    some |= question_lesson(q) == lesson;
  if (some && strchr(name, '.'))
    return usage_error(command, "lesson %d has no question %s; ./ferry predict --list lists all", lesson, name);
  return usage_error(command, "there is no question for %s; ./ferry predict --list lists all", name);
}

// ---- the answer -----------------------------------------------------------------------------------------------------------------

static void print_number(const char *label, double number, const char *unit) {
  char words[64];
  number_words(number, words, sizeof words);
  printf("  %-11s %10s %s\n", label, words, unit);
}

static void print_answer(const Question *q, const Guess *g) {
  char words[64], command[1024], label[64];
  snprintf(label, sizeof label, g->number > 1 ? "guess %d" : "your guess", g->number);
  print_number(label, g->guess, q->unit);
  print_number(q->gpu && strstr(q->unit, "modeled") ? "modeled" : "measured", g->truth, q->unit);
  guess_distance(g, words, sizeof words);
  printf("  %s%s%s\n\n", style(g->guess == g->truth ? GREEN : BOLD), words, style(PLAIN));
  question_command(q, command, sizeof command);
  term_command(stdout, "  measure  ", command);
  printf("  read     ./ferry chapter %d%s%s\n", question_lesson(q), *q->section ? "#" : " --read", q->section);
}

static int answer(const Question *q, const char *text, bool json) {
  Guess g = {.when = (long long)time(NULL)};
  const char *problem = guess_problem(q, text, &g.guess);
  if (problem)
    return usage_error("predict", "%s", problem);
  if (!work_exists())
    return usage_error("predict", "there is no workspace yet, where the guess is kept. Run ./ferry start first.");
  snprintf(g.id, sizeof g.id, "%s", q->id);
  if (!json && isatty(STDERR_FILENO))
    fprintf(stderr, "Measuring ...\n");
  // The number is not shown before the guess is in the file: it cannot be changed any more.
  if (!question_measure(q, &g.truth) || !guess_add(&g))
    return EXIT_GRADER;
  if (json)
    return predict_json(q);
  print_answer(q, &g);
  return EXIT_PASS;
}

static void print_question(const Question *q) {
  char title[256];
  lesson_title(question_lesson(q), title, sizeof title);
  printf("%s%s%s  Lesson %s\n\n", style(BOLD), q->id, style(PLAIN), title);
  term_wrap(stdout, q->text, 0);
  printf("\n");
}

static int ask(const Question *q) {
  char *line = NULL;
  size_t room = 0;
  int status = EXIT_PASS;
  if (!question_can_be_measured(q))
    return EXIT_GRADER;
  print_question(q);
  printf("Your guess, in %s (Enter: not now): ", q->unit);
  fflush(stdout);
  for (double number;;) {
    const ssize_t bytes = getline(&line, &room, stdin);
    const bool ended = bytes <= 0;
    if (!ended)
      line[strcspn(line, "\r\n")] = '\0';
    if (ended || line[strspn(line, " \t")] == '\0') {
      printf("\nNo guess, so nothing is shown. The question stays open.\n");
      break;
    }
    const char *problem = guess_problem(q, line, &number);
    if (!problem || !isatty(STDIN_FILENO)) {
      printf("\n");
      fflush(stdout);
      status = answer(q, line, false);
      break;
    }
    printf("%s\nYour guess: ", problem);
    fflush(stdout);
  }
  free(line);
  return status;
}

static int show_answered(const Question *q) {
  print_question(q);
  for (int i = 0; i < guess_count; i++)
    if (strcmp(guesses[i].id, q->id) == 0)
      print_answer(q, &guesses[i]);
  printf("\nYour first guess counts. Another one is kept as a second try: ./ferry predict %s NUMBER\n", q->id);
  return EXIT_PASS;
}

// ---- lists -----------------------------------------------------------------------------------------------------------------------

static void list_one(const Question *q) {
  const Guess *g = first_guess(q);
  char guess[64], truth[64], words[64], first[80];
  if (g) {
    number_words(g->guess, guess, sizeof guess);
    number_words(g->truth, truth, sizeof truth);
    guess_distance(g, words, sizeof words);
  }
  snprintf(first, sizeof first, "  %s %-5s ", g ? "✓" : " ", q->id);
  term_paragraph(stdout, first, 10, q->text);
  if (g)
    printf("          guess %s, measured %s: %s\n", guess, truth, words);
}

static int list(int lesson) {
  int open = 0;
  for (const Question *q = questions; q->id; q++)
    if (lesson == 0 || question_lesson(q) == lesson) {
      list_one(q);
      open += !first_guess(q);
    }
  if (lesson == 0)
    printf("\n%d open. ./ferry predict asks the next one; ./ferry predict 22.1 asks that one.\n", open);
  return EXIT_PASS;
}

static int reset(void) {
  char kept[4200];
  if (!guesses_reset(kept, sizeof kept))
    return EXIT_GRADER;
  if (*kept)
    printf("All questions are open again. Your earlier guesses are kept as %s\n", kept);
  else
    printf("There are no guesses.\n");
  return EXIT_PASS;
}

// ---- the command -------------------------------------------------------------------------------------------------------------------

typedef struct Wanted {
  const char *name, *number;
  bool list, chart, json, reset;
} Wanted;

static int parse(int argc, char **argv, Wanted *w) {
  for (int i = 1; i < argc; i++) {
    bool *flag = strcmp(argv[i], "--list") == 0    ? &w->list
                 : strcmp(argv[i], "--chart") == 0 ? &w->chart
                 : strcmp(argv[i], "--json") == 0  ? &w->json
                 : strcmp(argv[i], "--reset") == 0 ? &w->reset
                                                   : NULL;
    const bool negative = argv[i][0] == '-' && isdigit((unsigned char)argv[i][1]);
    if (flag)
      *flag = true;
    else if (argv[i][0] == '-' && !negative)
      return no_option(argv[0], argv[i]);
    else if (w->number)
      return usage_error(argv[0], "one question and one number: ./ferry predict 22.1 16");
    else if (w->name)
      w->number = argv[i];
    else
      w->name = argv[i];
  }
  if (w->list + w->chart + w->reset > 1 || ((w->chart || w->reset) && w->name))
    return usage_error(argv[0], "one of --list, --chart and --reset, alone");
  return EXIT_PASS;
}

static int of_lesson(const char *command, const char *name) {
  const int lesson = atoi(name);
  const Question *q = open_question(lesson);
  if (q)
    return ask(q);
  for (q = questions; q->id && question_lesson(q) != lesson; q++) {
  }
  if (!q->id)
    return no_question(command, name);
  list(lesson);
  printf("\nAll questions of lesson %d are answered. ./ferry predict --chart shows how near you were.\n", lesson);
  return EXIT_PASS;
}

int cmd_predict(int argc, char **argv) {
  Wanted w = {0};
  int status = parse(argc, argv, &w);
  if (status != EXIT_PASS)
    return status;
  const bool is_lesson = w.name && w.name[strspn(w.name, "0123456789")] == '\0';
  const Question *q = w.name && !is_lesson ? question_named(w.name) : NULL;
  if (w.name && !is_lesson && !q)
    return no_question(argv[0], w.name);
  if (w.number && !q)
    return usage_error(argv[0], "a number belongs to one question: ./ferry predict 22.1 16");
  if (w.reset)
    return reset();
  if (w.number)
    return answer(q, w.number, w.json);
  if (w.json)
    return predict_json(q);
  guess_count = guesses_read(guesses);
  if (w.chart) {
    chart_print(guesses, guess_count);
    return EXIT_PASS;
  }
  if (w.list)
    return list(is_lesson ? atoi(w.name) : 0);
  if (is_lesson)
    return of_lesson(argv[0], w.name);
  if (q)
    return first_guess(q) ? show_answered(q) : ask(q);
  if ((q = next_question()))
    return ask(q);
  printf("All questions are answered. ./ferry predict --chart shows how near you were.\n");
  return EXIT_PASS;
}
