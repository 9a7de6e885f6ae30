// SPDX-License-Identifier: MIT
// `ferry grade --known RESULTS.json`: what an earlier grading found out about an answer is taken over where nothing has changed: the
// answer's text, the exercise's hidden tests, Ferry itself, the number of devices. So an interrupted grading goes on, and a regrade
// judges what is new. The seed is in no file of results; --seed should be the same.
#include "case.h"
#include "base/fnv.h"
#include "merge.h"
#include "tool/compile/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 20 };

uint64_t answer_hash(const char *folder, const Exercise *e) {
  char path[4096];
  struct stat about;
  snprintf(path, sizeof path, "%s/%s.%s", folder, e->id, exercise_extension(e));
  if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
    return 0;
  char *text = file_read(path, NULL);
  const uint64_t hash = text ? hash_text((uint64_t)about.st_size, text) : 0;
  free(text);
  return hash;
}

// Of this program, whose bytes are hashed, and of the library that answers are linked with.
uint64_t grader_hash(void) {
  static uint64_t hash;
  struct stat library = {0};
  size_t bytes = 0;
  if (hash)
    return hash;
  char *program = file_read("/proc/self/exe", &bytes);
  stat(rooted(CONFIG_LIBRARY), &library);
  hash = fy_fnv(FY_FNV_BEGIN ^ (uint64_t)library.st_size ^ (uint64_t)library.st_mtim.tv_sec << 20 ^
                    (uint64_t)library.st_mtim.tv_nsec,
                program, bytes);
  free(program);
  return hash;
}

static bool is_worth_keeping(const Verdict *v) {
  return v->answer && (v->status == STATUS_PASS || v->status == STATUS_FAIL || v->status == STATUS_CRASH ||
                       v->status == STATUS_COMPILE_ERROR);
}

static Verdict *verdict_of(Grading *g, const MergedEntry *entry, const Learner **learner) {
  for (int i = 0; i < g->learner_count; i++)
    for (int e = 0; strcmp(g->learners[i].name, entry->learner) == 0 && e < g->exercise_count; e++)
      if (g->exercises[e] == entry->verdict.exercise) {
        *learner = &g->learners[i];
        return &g->learners[i].verdicts[e];
      }
  return NULL;
}

int grading_known(Grading *g, const char *path) {
  ResultFile file = {.path = path, .devices = -1};
  Merge m = {.files = &file, .file_count = 1, .known = true};
  int taken = 0;
  merge_read(&m, &file);
  if (m.complaints > 0)
    return -1;
  const bool same =
      file.grader == grader_hash() && file.devices == g->options.devices && file.secret_seed == g->secret_seed;
  for (int i = 0; i < m.entry_count; i++) {
    const Learner *l = NULL;
    Verdict *v = same && is_worth_keeping(&m.entries[i].verdict) ? verdict_of(g, &m.entries[i], &l) : NULL;
    if (v && m.entries[i].verdict.answer == answer_hash(l->folder, v->exercise)) {
      *v = m.entries[i].verdict;
      v->known = true;
      g->protections = g->protections ? g->protections & v->protections : v->protections;
      taken++;
    }
    free(m.entries[i].learner);
  }
  free(m.entries);
  json_free(file.json);
  return taken;
}
