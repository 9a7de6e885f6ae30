// SPDX-License-Identifier: MIT
// Predict, then measure: questions whose answer is a number that Ferry measures when it is asked for it, and the learner's guesses.
//
//   questions.c   the table of all questions
//   measure.c     the true number: a command of ./ferry, and a number in its output
//   guesses.c     work/.predictions, a line per guess
//   chart.c       how near the guesses were
//   cmd_predict.c the command, predict_json.c the same for programs
#ifndef TOOL_PREDICT_PREDICT_H
#define TOOL_PREDICT_PREDICT_H

#include <stdbool.h>
#include <stddef.h>

// A number in a command's output: in the first line that contains all of `row`, `also` and the number of the line of the program's source
// that begins with `source`, the number `nth` (0: the first) after `after`. NULL: no such condition; `after` NULL: after `row`.
typedef struct Pick {
  const char *row, *also, *source, *after;
  int nth;
} Pick;

typedef struct Question {
  const char *id;      // "22.2": the lesson, and a number that no other question of it ever had
  const char *section; // of the lesson, its anchor
  const char *text, *unit;
  const char *command; // of ./ferry: "inspect FILE ..." or "chapter N ..."; its output has the number
  const char *gpu;     // the GPU that is modeled, or NULL
  Pick of, by;         // the number, divided by another one if `by` has a row
  double times;        // then multiplied by this; 0: by 1
  double most;         // a guess above this cannot be meant; 0: MOST_GUESS
} Question;

#define MOST_GUESS 1e15

extern const Question questions[]; // by lesson; ends with a NULL id
int question_lesson(const Question *q);
const Question *question_named(const char *id);

// ---- measure.c -------------------------------------------------------------------------------------------------------------

// The command as a person would type it.
void question_command(const Question *q, char *command, size_t bytes);
// Whether its program is here. False after a message.
bool question_can_be_measured(const Question *q);
// The number, from work/.measured if it has been measured with the same program and the same ./ferry. False after a message.
bool question_measure(const Question *q, double *truth);

// ---- guesses.c -------------------------------------------------------------------------------------------------------------

typedef struct Guess {
  char id[16];
  int number;     // 1: the first guess at its question
  long long when; // seconds since 1970
  double guess, truth;
} Guess;

enum { MOST_GUESSES = 2048 };

// "1,000", "17 %", "4/3" or "2^10". False: it is none.
bool guess_parse(const char *text, double *number);
// What is wrong with a guess at this question (NULL: nothing), for a message.
const char *guess_problem(const Question *q, const char *text, double *number);
// All guesses, oldest first. Lines of a damaged file that are none are left out, after a message.
int guesses_read(Guess guesses[MOST_GUESSES]);
// The guess gets its number. A damaged file is set aside. False after a message.
bool guess_add(Guess *new);
// The file is renamed, and so kept; "": there was none. False after a message.
bool guesses_reset(char *kept, size_t bytes);
// max(guess / truth, truth / guess); infinite where one of them is 0.
double guess_factor(const Guess *g);
// "exactly right", "12 % too high", "3.1 times too low".
void guess_distance(const Guess *g, char *words, size_t bytes);
// A number as people read it: 1,048,576, 16.5, 0.0123.
void number_words(double number, char *words, size_t bytes);

// ---- chart.c ---------------------------------------------------------------------------------------------------------------

void chart_print(const Guess *guesses, int count);

// ---- predict_json.c ----------------------------------------------------------------------------------------------------------

// All questions with their guesses, or (`only`) one. The true number only where it has been guessed.
int predict_json(const Question *only);

#endif
