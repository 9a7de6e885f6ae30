// What an answer may use of the library: the public functions, which core/make/where.awk lists, and not the ones with which it
// counts. A call of fy_count_launch would make a kernel out of nothing.
#include "symbols.h"
#include "case.h"
#include "config.h"
#include "registry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

static const char *const public_but_unlisted[] = {"fy_trap_open_", "fy_trap_close_", "fy_where_file", "fy_where_line"};
static const char *const startup_sections[] = {".init_array", ".fini_array", ".preinit_array", ".ctors",
                                               ".dtors",      ".init",       ".fini"};
static const char *const never[] = {"main", "drive", "cudasim_get_stats", "cudasim_reset_stats"};
static const char *const never_prefixes[] = {"driver_", "child_", "message_", "place_", "wire_", "sim_", "fy_count_"};

static bool is_listed(const char *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0)
      return true;
  return false;
}
#define IS_LISTED(list, name) is_listed(list, sizeof(list) / sizeof(list)[0], name)

// The header says "#define fy_add(...) (FY_HERE, ...)" for each public function.
static bool is_public(const char *name) {
  static char *header;
  char wanted[NAME_BYTES * 2 + 16];
  if (!header) {
    FILE *file = fopen(CONFIG_ROOT "/build/include/ferry_where.h", "r");
    header = calloc(1, 1 << 20);
    if (!file || !header || fread(header, 1, (1 << 20) - 1, file) == 0)
      grader_panic("%s is not there; run make", CONFIG_ROOT "/build/include/ferry_where.h");
    fclose(file);
  }
  if (strlen(name) >= (size_t)NAME_BYTES * 2)
    return false;
  snprintf(wanted, sizeof wanted, "#define %s(", name);
  return strstr(header, wanted) || IS_LISTED(public_but_unlisted, name);
}

static bool may_use(const Exercise *exercise, const char *name) {
  bool kernel = strcmp(exercise_extension(exercise), "cu") == 0;
  // The simulator's runtime goes by CUDA's names behind a prefix.
  bool runtime = strncmp(name, "sim_cuda", 8) == 0 || strncmp(name, "sim_cublas", 10) == 0 ||
                 strncmp(name, "cuda", 4) == 0 || strncmp(name, "cublas", 6) == 0;
  if (IS_LISTED(never, name))
    return false;
  if (runtime)
    return kernel;
  for (size_t i = 0; i < sizeof never_prefixes / sizeof never_prefixes[0]; i++)
    if (strncmp(name, never_prefixes[i], strlen(never_prefixes[i])) == 0)
      return false;
  if (strncmp(name, "fy_", 3) == 0)
    return !kernel && is_public(name);
  return true;
}

typedef struct Findings {
  bool defined[MAX_FUNCTIONS];
  char forbidden[256], startup[64];
  bool indirect;
} Findings;

// "  [ 5] .init_array  INIT_ARRAY ..."
static void read_section(const char *line, Findings *f) {
  char name[256];
  if (sscanf(line, " [%*[^]]] %255s", name) != 1)
    return;
  for (size_t i = 0; i < sizeof startup_sections / sizeof startup_sections[0]; i++) {
    size_t length = strlen(startup_sections[i]);
    if (strncmp(name, startup_sections[i], length) == 0 && (name[length] == '\0' || name[length] == '.'))
      snprintf(f->startup, sizeof f->startup, "%s", startup_sections[i]);
  }
}

// "   12: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND fy_add"
static void read_symbol(const Exercise *exercise, const char *line, Findings *f) {
  char type[32], bind[32], where[32], name[1024];
  if (sscanf(line, " %*d: %*x %*s %31s %31s %*s %31s %1023s", type, bind, where, name) != 4)
    return;
  if (strcmp(type, "IFUNC") == 0 || strcmp(type, "<OS") == 0)
    f->indirect = true;
  if (strcmp(where, "UND") == 0) {
    if (!may_use(exercise, name) && !f->forbidden[0])
      snprintf(f->forbidden, sizeof f->forbidden, "%.250s", name);
    return;
  }
  for (int i = 0; i < MAX_FUNCTIONS && exercise->functions[i]; i++)
    f->defined[i] |= strcmp(bind, "LOCAL") != 0 && strcmp(exercise->functions[i], name) == 0;
}

static char *say(const char *format, const char *what) {
  char *text;
  return asprintf(&text, format, what) < 0 ? strdup("refused\n") : text;
}

char *symbols_refused(const Exercise *exercise, const char *listing) {
  Findings f = {0};
  for (const char *at = listing; at && *at;) {
    char line[LINE_BYTES];
    const char *end = strchr(at, '\n');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), at);
    read_section(line, &f);
    read_symbol(exercise, line, &f);
    at = end ? end + 1 : NULL;
  }
  for (int i = 0; i < MAX_FUNCTIONS && exercise->functions[i]; i++)
    if (!f.defined[i])
      return say("the answer does not define %s\n", exercise->functions[i]);
  if (f.startup[0] || f.indirect)
    return say(
        "the answer has code that would run before main (%s): constructors, and <iostream>, are not for answers\n",
        f.startup[0] ? f.startup : "an indirect function");
  if (f.forbidden[0])
    return say(
        "the answer uses %s, which is not for answers: take what ferry.h (for kernels: cuda_runtime.h) declares\n",
        f.forbidden);
  return NULL;
}
