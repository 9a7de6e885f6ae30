// SPDX-License-Identifier: MIT
// Results of parts on their way to one: what `ferry grade --merge` has read. merge_read.c reads, merge.c compares and puts together.
#ifndef GRADER_MERGE_H
#define GRADER_MERGE_H

#include "grade.h"
#include "tool/print/json.h"

typedef struct ResultFile {
  const char *path;
  Json *json;
  int devices, part, parts; // devices: -1 where the file is no good
  bool secret_seed;
  uint64_t grader;   // which one wrote it
  const Json *class; // of a part: the names of all learners
} ResultFile;

// A learner's verdict on one exercise, and the file that it is from.
typedef struct MergedEntry {
  char *learner;
  const ResultFile *file;
  Verdict verdict;
} MergedEntry;

typedef struct Merge {
  ResultFile *files;
  int file_count;
  MergedEntry *entries;
  int entry_count, room;
  int complaints;
  bool known; // an earlier grading, maybe interrupted: what does not fit is left out without a complaint
} Merge;

// Reads f->path into `f` and its results into `m`; complains about what is wrong with it.
void merge_read(Merge *m, ResultFile *f);

// On stderr; after the first twenty, it only counts.
enum { MOST_COMPLAINTS = 20 };
void complain(Merge *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Zeroed memory and copies, or the end of the grader.
void *merge_allocate(size_t count, size_t size);
char *merge_copy(const char *text);

#endif
