// SPDX-License-Identifier: MIT
// Grading many answers: what is graded, and what has come out so far.
#ifndef GRADER_GRADE_H
#define GRADER_GRADE_H

#include "judge.h"
#include "registry.h"
#include "tool/compile/files.h"
#include "tool/print/text.h"
#include "tool/print/usage.h"

typedef struct Learner {
  char *name, *folder;
  double began;      // when the first of its answers was; 0: not yet
  Verdict *verdicts; // one for each exercise that is graded
} Learner;

typedef struct Grading {
  Learner *learners;
  int learner_count;
  const Exercise **exercises;
  int exercise_count;
  JudgeOptions options;
  bool secret_seed, complete;
  int jobs;
  double limit; // seconds for all answers of a learner
  const char *json, *junit, *csv, *gradescope, *classroom50, *canvas, *moodle, *page; // paths, or NULL
  unsigned protections;                                                               // in force in every run so far
  const char *level; // where that was on other machines; NULL: this run's
  int part, parts;   // --part 2/8; 0: everything
  char **class;      // with --part: the names of all learners, not of this part's alone
  int class_count;
  bool merged;
  uint64_t grader; // of merged files: theirs, if it is the same in all
} Grading;

// Runs everything, several at a time, and calls `done` after each answer.
void grading_run(Grading *g, void (*done)(Grading *g, Learner *l, Verdict *v));

// Reads files that --json wrote, and puts together in `g` what one grading of everything would have come to. `class` is the folder
// whose learners have to be there, or NULL. -1, or an exit status after messages about all that is wrong with them.
int grading_merge(Grading *g, char **paths, int count, char **class, int class_count);

// Takes over what the file says of answers that have not changed (known.c); how many, or -1 after a message. Hashes of an answer's file,
// and of this grader.
int grading_known(Grading *g, const char *path);
uint64_t answer_hash(const char *folder, const Exercise *e);
uint64_t grader_hash(void);

// What an exercise was judged by: a number that changes with its hidden tests.
uint64_t exercise_version(const Exercise *e);

// Points: each exercise is worth 1. An answer that the grader could not judge counts neither for nor against.
double learner_score(const Grading *g, const Learner *l);
int learner_max(const Grading *g, const Learner *l);

// Every file that is wanted; those that cannot be written twice (file_is_stream) only the `last` time. False after a message.
bool write_results(const Grading *g, bool last);

void write_json(const Grading *g, Text *t);
void write_junit(const Grading *g, Text *t);
void write_csv(const Grading *g, Text *t);
// In the formats of platforms (docs/instructors.md). The first two are of one learner.
void write_gradescope(const Grading *g, Text *t);
void write_classroom50(const Grading *g, Text *t);
void write_canvas(const Grading *g, Text *t);
void write_moodle(const Grading *g, Text *t);
void write_page(const Grading *g, Text *t); // HTML, for the instructor

// Which protections were in force, after `before`, and which were not; nothing before anything has been run.
void protections_add(Text *t, const char *before, const char *level, unsigned protections);

// What a learner may read about an answer: how many tests pass, the names of mistakes and what to do about them, and what the compiler
// says. No hidden test shows: neither its name nor its inputs, nor an expected value.
void feedback_add(Text *t, const Verdict *v);

#endif
