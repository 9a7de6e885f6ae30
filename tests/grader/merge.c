// SPDX-License-Identifier: MIT
// `ferry grade --merge`: merges the results of parts. If the files do not fit together, it reports every problem and writes nothing.
#include "merge.h"
#include "sandbox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- whether they belong together --------------------------------------------------------------------------------------------

static int by_learner(const void *a, const void *b) {
  const MergedEntry *x = a, *y = b;
  int order = strcmp(x->learner, y->learner);
  order = order ? order : strcmp(x->verdict.exercise->id, y->verdict.exercise->id);
  return order ? order : (x->file > y->file) - (x->file < y->file);
}

// Once for each two files that have the same learner's results.
static void find_duplicates(Merge *m) {
  const char *said = NULL;
  for (int i = 1; i < m->entry_count; i++) {
    const MergedEntry *a = &m->entries[i - 1], *b = &m->entries[i];
    if (strcmp(a->learner, b->learner) != 0 || a->verdict.exercise != b->verdict.exercise)
      continue;
    if (said && strcmp(said, b->learner) == 0)
      continue;
    said = b->learner;
    if (a->file == b->file)
      complain(m, "%s contains results of %s twice; remove one of them", a->file->path, b->learner);
    else
      complain(m, "both %s and %s contain results of %s; leave out one of the files", a->file->path, b->file->path,
               b->learner);
  }
}

static void compare_files(Merge *m) {
  const ResultFile *first = NULL;
  for (int i = 0; i < m->file_count; i++) {
    const ResultFile *f = &m->files[i];
    if (!f->json || f->devices < 0)
      continue;
    first = first ? first : f;
    if (f->devices != first->devices)
      complain(m,
               "%s was graded with %d simulated devices, and %s with %d; grade one of them again with the other's "
               "FERRY_SIM_DEVICES",
               first->path, first->devices, f->path, f->devices);
    if (f->secret_seed != first->secret_seed)
      complain(
          m, "%s was graded with --seed, and %s without, so their inputs differ; grade all parts with the same --seed",
          f->secret_seed ? f->path : first->path, f->secret_seed ? first->path : f->path);
    if (!f->class != !first->class)
      complain(m, "%s is one part of a class (--part), but %s is not; merge either parts or files without --part",
               f->class ? f->path : first->path, f->class ? first->path : f->path);
    if (f->class && first->class && f->parts != first->parts)
      complain(m, "%s is part %d of %d, but %s is part %d of %d; grade all parts with the same number of parts",
               first->path, first->part, first->parts, f->path, f->part, f->parts);
  }
}

static bool same_names(const Json *a, const Json *b) {
  const Json *x = a->first, *y = b->first;
  for (; x && y && strcmp(x->string, y->string) == 0; x = x->next)
    y = y->next;
  return !x && !y;
}

static bool is_there(const Merge *m, const char *learner) {
  for (int i = 0; i < m->entry_count; i++)
    if (strcmp(m->entries[i].learner, learner) == 0)
      return true;
  return false;
}

// Exactly the learners of the class have results.
static void check_class(Merge *m, char **class, int class_count) {
  for (int i = 0; i < class_count; i++)
    if (!is_there(m, class[i]))
      complain(m, "%s has no results in these files; add the file with this learner's results", class[i]);
  const char *before = NULL;
  for (int i = 0; i < m->entry_count; i++) {
    const char *learner = m->entries[i].learner;
    bool known = before && strcmp(before, learner) == 0;
    for (int j = 0; j < class_count && !known; j++)
      known = strcmp(class[j], learner) == 0;
    if (!known)
      complain(m, "%s in %s is not a learner of the class; leave out these results, or add the learner's folder",
               learner, m->entries[i].file->path);
    before = learner;
  }
}

// Every part is there once, all are of one class, and each learner of the class is in one of them.
static void check_parts(Merge *m) {
  const ResultFile *first = NULL;
  for (int i = 0; i < m->file_count && !first; i++)
    first = m->files[i].class ? &m->files[i] : NULL;
  if (!first)
    return;
  for (int part = 1; part <= first->parts && m->complaints < MOST_COMPLAINTS; part++) {
    bool found = false;
    for (int i = 0; i < m->file_count; i++)
      found |= m->files[i].class && m->files[i].part == part;
    if (!found)
      complain(m, "part %d of %d is missing; create it with ./ferry grade --class DIR --part %d/%d --json FILE", part,
               first->parts, part, first->parts);
  }
  for (int i = 0; i < m->file_count; i++)
    if (m->files[i].class && !same_names(m->files[i].class, first->class))
      complain(m, "%s and %s list different learners of the class; grade both again", first->path, m->files[i].path);
  int count = 0;
  char **names = NULL;
  for (const Json *name = first->class->first; name; name = name->next)
    count++;
  names = merge_allocate((size_t)count, sizeof *names);
  count = 0;
  for (const Json *name = first->class->first; name; name = name->next)
    names[count++] = name->string;
  if (m->complaints == 0)
    check_class(m, names, count);
  free(names);
}

// ---- the whole -----------------------------------------------------------------------------------------------------------------

static void choose_exercises(Merge *m, Grading *g) {
  g->exercises = merge_allocate((size_t)exercise_count(), sizeof *g->exercises);
  for (int e = 0; e < exercise_count(); e++)
    for (int i = 0; i < m->entry_count; i++)
      if (m->entries[i].verdict.exercise == exercise_at(e)) {
        g->exercises[g->exercise_count++] = exercise_at(e);
        break;
      }
}

// Entries are in the order of learners, then of exercises.
static void add_learners(Merge *m, Grading *g) {
  g->learners = merge_allocate((size_t)m->entry_count, sizeof *g->learners);
  for (int i = 0; i < m->entry_count;) {
    Learner *l = &g->learners[g->learner_count++];
    *l = (Learner){.name = merge_copy(m->entries[i].learner),
                   .verdicts = merge_allocate((size_t)g->exercise_count, sizeof(Verdict))};
    for (int e = 0; e < g->exercise_count; e++) {
      bool here = i < m->entry_count && strcmp(m->entries[i].learner, l->name) == 0 &&
                  m->entries[i].verdict.exercise == g->exercises[e];
      if (here)
        l->verdicts[e] = m->entries[i++].verdict;
      else
        complain(m, "%s has no result for %s, but other learners have one; grade this exercise for all learners",
                 l->name, g->exercises[e]->id);
    }
  }
}

// The protections that every grading had, and the sandbox levels.
static void add_protections(Grading *g) {
  static char levels[128];
  for (int i = 0; i < g->learner_count; i++)
    for (int j = 0; j < g->exercise_count; j++) {
      const Verdict *v = &g->learners[i].verdicts[j];
      if (!v->protections)
        continue;
      g->protections = g->protections ? g->protections & v->protections : v->protections;
      if (!strstr(levels, v->level))
        snprintf(levels + strlen(levels), sizeof levels - strlen(levels), "%s%s", *levels ? " and " : "", v->level);
    }
  g->level = levels;
}

int grading_merge(Grading *g, char **paths, int count, char **class, int class_count) {
  Merge m = {.files = merge_allocate((size_t)count, sizeof(ResultFile)), .file_count = count};
  for (int i = 0; i < count; i++) {
    m.files[i] = (ResultFile){.path = paths[i], .devices = -1};
    merge_read(&m, &m.files[i]);
  }
  bool readable = m.complaints == 0; // otherwise, everything that an unreadable file lacks would be reported as missing
  if (m.entry_count > 0)
    qsort(m.entries, (size_t)m.entry_count, sizeof *m.entries, by_learner);
  find_duplicates(&m);
  compare_files(&m);
  if (readable && m.complaints == 0) {
    check_parts(&m);
    if (class && m.complaints == 0)
      check_class(&m, class, class_count);
  }
  if (m.complaints == 0) {
    choose_exercises(&m, g);
    add_learners(&m, g);
    add_protections(g);
    g->options.devices = m.files[0].devices;
    g->secret_seed = m.files[0].secret_seed;
    g->complete = g->merged = true;
    g->grader = m.files[0].grader;
    for (int i = 1; i < count; i++)
      g->grader = m.files[i].grader == g->grader ? g->grader : 0;
    if (g->learner_count == 0)
      complain(&m, "%s contains no results", paths[0]);
  }
  for (int i = 0; i < count; i++)
    json_free(m.files[i].json);
  for (int i = 0; i < m.entry_count; i++)
    free(m.entries[i].learner);
  free(m.entries);
  free(m.files);
  if (m.complaints > MOST_COMPLAINTS)
    fprintf(stderr, "ferry grade --merge: and %d more problems\n", m.complaints - MOST_COMPLAINTS);
  if (m.complaints > 0)
    fprintf(stderr, "ferry grade --merge: nothing was written\n");
  return m.complaints > 0 ? EXIT_USAGE : -1;
}
