// SPDX-License-Identifier: MIT
// `ferry predict --json`: the questions and the guesses, for the live book. It changes nothing.
#include "tool/commands.h"
#include "tool/predict/predict.h"
#include "tool/print/text.h"
#include <stdio.h>
#include <string.h>

static Guess guesses[MOST_GUESSES];

static void add_guesses(Text *t, const Question *q, int count) {
  const char *between = "";
  char words[64];
  text_add(t, "[");
  for (const Guess *g = guesses; g < guesses + count; g++)
    if (strcmp(g->id, q->id) == 0) {
      guess_distance(g, words, sizeof words);
      text_add(t, "%s{\"try\": %d, \"when\": %lld, \"guess\": %.17g, \"truth\": %.17g, \"distance\": \"%s\"", between,
               g->number, g->when, g->guess, g->truth, words);
      number_words(g->guess, words, sizeof words);
      text_add(t, ", \"guess_words\": \"%s\"", words);
      number_words(g->truth, words, sizeof words);
      text_add(t, ", \"truth_words\": \"%s\"}", words);
      between = ", ";
    }
  text_add(t, "]");
}

static void add_question(Text *t, const Question *q, int count) {
  char command[1024];
  question_command(q, command, sizeof command);
  text_add(t, "{\"id\": \"%s\", \"lesson\": %d, \"text\": ", q->id, question_lesson(q));
  text_json(t, q->text);
  text_add(t, ", \"unit\": ");
  text_json(t, q->unit);
  text_add(t, ", \"command\": ");
  text_json(t, command);
  text_add(t, ", \"guesses\": ");
  add_guesses(t, q, count);
  text_add(t, "}");
}

int predict_json(const Question *only) {
  const int count = guesses_read(guesses);
  Text t = {0};
  if (only)
    add_question(&t, only, count);
  else
    text_add(&t, "{\"questions\": [");
  for (const Question *q = questions; !only && q->id; q++) {
    text_add(&t, q == questions ? "\n  " : ",\n  ");
    add_question(&t, q, count);
  }
  text_add(&t, only ? "\n" : "]}\n");
  fwrite(t.at, 1, t.used, stdout);
  text_free(&t);
  return EXIT_PASS;
}
