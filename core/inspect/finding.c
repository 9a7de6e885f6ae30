// SPDX-License-Identifier: MIT
// The list of findings. Each pair of program locations is one finding: how often it occurred, and the threads of its
// first occurrence.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/inspect.h"

const struct finding_observer *finding_observer;

#define FINDING_ID(kind, id) [kind] = (id),
const char *const finding_ids[FINDINGS] = {FINDING_KINDS(FINDING_ID)};
#undef FINDING_ID

static struct finding **findings;
static size_t finding_count, finding_room;

// Writes no record: at exit another thread, which waits for this one, would write it.
_Noreturn void inspect_give_up(const char *why) {
  fprintf(stderr, "ferry inspect: %s\n", why);
  fflush(NULL);
  _exit(1);
}

static void *or_exit(void *memory) {
  if (memory == NULL)
    inspect_give_up("out of memory: --blocks N instruments fewer blocks");
  return memory;
}

void *inspect_resize(void *memory, size_t bytes) {
  return or_exit(realloc(memory, bytes ? bytes : 1));
}

void *inspect_allocate(size_t bytes) {
  return or_exit(calloc(bytes ? bytes : 1, 1));
}

char *inspect_copy(const char *text, size_t most) {
  return or_exit(strndup(text, most));
}

void *inspect_allocate_aligned(size_t alignment, size_t bytes) {
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
  return memset(or_exit(aligned_alloc(alignment, whole)), 0, whole);
}

static bool races(enum finding_kind kind) {
  return kind <= FIND_EQUAL;
}

// Of two racing accesses, either may come first.
static bool same_locations(const struct finding *f, const struct location *p) {
  bool straight = f->first == p->first && f->second == p->second;
  bool crossed = races(f->kind) && f->first == p->second && f->second == p->first;
  return (straight || crossed) && f->line == p->line && f->other_line == p->other_line;
}

static struct finding *find(enum finding_kind kind, const struct kernel *kernel, const struct location *location) {
  for (size_t i = 0; i < finding_count; i++)
    if (findings[i]->kind == kind && findings[i]->kernel == kernel && same_locations(findings[i], location))
      return findings[i];
  return NULL;
}

bool finding_has(enum finding_kind kind, struct kernel *kernel, struct location location) {
  return find(kind, kernel, &location) != NULL;
}

static void note_block(struct finding *f) {
  const struct launch *launch = inspect_current ? inspect_current->launch : NULL;
  if (launch == NULL || launch->kernel != f->kernel)
    return;
  const unsigned int block = block_of(launch, inspect_current->instance), *grid = launch->grid;
  f->in_block = true;
  f->launch = launch->number;
  f->launch_of_name = launch->number_of_name;
  f->block[0] = block % grid[0];
  f->block[1] = block / grid[0] % grid[1];
  f->block[2] = block / grid[0] / grid[1];
}

struct finding *finding_add(enum finding_kind kind, struct kernel *kernel, struct location location, const char *format,
                            ...) {
  struct finding *f = find(kind, kernel, &location);
  if (f) {
    f->count++;
    if (finding_observer)
      finding_observer->found(f);
    return f;
  }
  if (finding_count == finding_room) {
    finding_room = finding_room ? 2 * finding_room : 64;
    findings = inspect_resize(findings, finding_room * sizeof *findings);
  }
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (inspect_launch_text && length < (int)sizeof text)
    snprintf(text + length, sizeof text - (size_t)length, ", in the launch with %s", inspect_launch_text);
  f = findings[finding_count++] = inspect_allocate(sizeof *f);
  *f = (struct finding){.kind = kind,
                        .kernel = kernel,
                        .first = location.first,
                        .second = location.second,
                        .third = location.third,
                        .file = location.file,
                        .line = location.line,
                        .other_line = location.other_line,
                        .count = 1,
                        .detail = inspect_copy(text, sizeof text)};
  note_block(f);
  if (finding_observer)
    finding_observer->found(f);
  return f;
}

const struct finding *finding_at(size_t i) {
  return i < finding_count ? findings[i] : NULL;
}
