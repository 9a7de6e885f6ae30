// SPDX-License-Identifier: MIT
// What an answer may use of the library: what the headers of ferry.h declare, and not the functions with which it counts. A
// call of fy_count_launch would make a kernel out of nothing.
#include "symbols.h"
#include "case.h"
#include "tool/compile/config.h"
#include "registry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, HEADERS_BYTES = 1 << 20 };

static const char *const public_but_unlisted[] = {"fy_where_file", "fy_where_line"};
static const char *const startup_sections[] = {".init_array", ".fini_array", ".preinit_array", ".ctors",
                                               ".dtors",      ".init",       ".fini"};
static const char *const never[] = {"main",
                                    "drive",
                                    "cudasim_get_stats",
                                    "cudasim_reset_stats",
                                    "cudasim_observe",
                                    "cudasim_trace",
                                    "cudasim_name_array",
                                    "cudasim_fault",
                                    "fy_reset_peak_memory_stats"};
static const char *const never_prefixes[] = {"driver_", "child_",    "message_",    "buffers_", "wire_",
                                             "sim_",    "fy_count_", "ledger_",     "trace_",   "__real_",
                                             "__wrap_", "inspect_",  "host_memory_"};
// What the compiler makes an inspected kernel call; an answer that has its own would be blind to itself.
static const char *const never_defined[] = {"__tsan_", "__sanitizer_", "__ubsan_", "inspect_"};

static bool is_listed(const char *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0)
      return true;
  return false;
}
#define IS_LISTED(list, name) is_listed(list, sizeof(list) / sizeof(list)[0], name)

static size_t add_file(char *text, size_t used, const char *path) {
  FILE *file = fopen(path, "r");
  size_t n = file ? fread(text + used, 1, HEADERS_BYTES - used - 1, file) : 0;
  if (file)
    fclose(file);
  return n;
}

// The text of every header that ferry.h includes, ferry.h first.
static char *public_headers(void) {
  char *text = calloc(1, HEADERS_BYTES), path[512], name[256];
  size_t used = text ? add_file(text, 0, rooted(CONFIG_ROOT "/core/ferry.h")) : 0;
  if (used == 0)
    fatal_error("%s cannot be read", rooted(CONFIG_ROOT "/core/ferry.h"));
  for (const char *at = text, *end = text + used; (at = strstr(at, "#include \"")) && at < end; at++) {
    if (sscanf(at, "#include \"%255[^\"]\"", name) != 1)
      continue;
    char line[300];
    snprintf(line, sizeof line, "#include \"%s\"", name);
    if (strstr(text, line) < at) // has been added
      continue;
    snprintf(path, sizeof path, "%s/core/%s", root_folder(), name);
    used += add_file(text, used, path);
    end = text + used; // what those include is public, too
  }
  return text;
}

// Declared there, on a line such as "FY_API FyTensor *fy_add(FyTensor *a, FyTensor *b);".
static bool is_public(const char *name) {
  static char *headers;
  if (!headers)
    headers = public_headers();
  size_t length = strlen(name);
  for (const char *at = headers; (at = strstr(at, name)); at++) {
    const char *line = at;
    while (line > headers && line[-1] != '\n')
      line--;
    bool whole = at[length] == '(' && (at[-1] == ' ' || at[-1] == '*');
    if (whole && strncmp(line, "FY_API ", 7) == 0)
      return true;
  }
  return IS_LISTED(public_but_unlisted, name);
}

static bool begins_with(const char *const *prefixes, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return false;
}
#define BEGINS_WITH(prefixes, name) begins_with(prefixes, sizeof(prefixes) / sizeof(prefixes)[0], name)

// ---- performance challenges ----------------------------------------------------------------------------------------------------
// The inspector scores them, and sees what the answer's own code does to memory and what the runtime does. Of all else an answer may
// call only what moves no memory, and nothing that runs code of the host's beside a kernel.

static const char memory_and_output[] =
    " malloc calloc realloc free memcpy memmove memset memcmp printf vprintf puts putchar fprintf vfprintf fputs fputc "
    "fwrite fflush"
    " perror stdout stderr exit abort __assert_fail __errno_location __stack_chk_fail __tls_get_addr __dso_handle"
    " __gxx_personality_v0 _Unwind_Resume _GLOBAL_OFFSET_TABLE_ ";
// For double; with an f or an l behind it for float and long double. modf, remquo and nan read or write what a pointer leads to.
static const char mathematics[] = " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp "
                                  "exp10 exp2 expm1 fabs fdim floor fma fmax fmin"
                                  " fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 "
                                  "logb lrint lround nearbyint nextafter"
                                  " nexttoward pow remainder rint round scalbln scalbn sin sincos sinh sqrt tan tanh "
                                  "tgamma trunc y0 y1 yn __signbit __fpclassify"
                                  " __isnan __isinf __finite ";
// The compiler's own: new and delete, exceptions, types; arithmetic of large integers and short floats; what the inspector hears of.
static const char *const compilers[] = {"_Znw",   "_Zna",  "_Zdl",    "_Zda",         "_ZTI",    "_ZTV",   "_ZTS",
                                        "__cxa_", "__mul", "__div",   "__udiv",       "__mod",   "__umod", "__ash",
                                        "__lshr", "__fix", "__float", "__extend",     "__trunc", "__pow",  "__popcount",
                                        "__clz",  "__ctz", "__tsan_", "__sanitizer_", "__ubsan_"};
// Functions of the host's that the runtime would call, with device memory open to them.
static const char *const callbacks[] = {"LaunchHostFunc", "AddCallback", "HostNode", "UserObject"};

// `length` bytes of a name, in a list between blanks.
static bool has_name(const char *list, const char *name, size_t length) {
  for (const char *at = list; (at = strstr(at, " ")) && at[1]; at++)
    if (strncmp(at + 1, name, length) == 0 && at[1 + length] == ' ')
      return true;
  return false;
}

static bool moves_no_memory(const char *name) {
  const size_t length = strlen(name);
  const bool suffixed = length > 0 && (name[length - 1] == 'f' || name[length - 1] == 'l');
  return has_name(memory_and_output, name, length) || has_name(mathematics, name, length) ||
         (suffixed && has_name(mathematics, name, length - 1)) ||
         begins_with(compilers, sizeof compilers / sizeof compilers[0], name) ||
         (strncmp(name, "_ZSt", 4) == 0 && strstr(name, "__throw_"));
}

static bool calls_back(const char *name) {
  for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++)
    if (strstr(name, callbacks[i]))
      return true;
  return false;
}

// ---- what an answer may use --------------------------------------------------------------------------------------------------

// By which a thread of the host begins: it would find device memory open while a kernel runs.
static const char *const threads[] = {"pthread_create", "thrd_create", "clone", "GOMP_", "_ZNSt6thread"};

static bool may_use(const Exercise *exercise, const char *name) {
  bool kernel = strcmp(exercise_extension(exercise), "cu") == 0;
  // The simulator's runtime goes by CUDA's names behind a prefix.
  bool runtime = strncmp(name, "sim_cuda", 8) == 0 || strncmp(name, "sim_cublas", 10) == 0 ||
                 strncmp(name, "cuda", 4) == 0 || strncmp(name, "cublas", 6) == 0;
  if (IS_LISTED(never, name))
    return false;
  if (runtime)
    return kernel && !(exercise->open && calls_back(name));
  if (exercise->open)
    return moves_no_memory(name);
  if (BEGINS_WITH(never_prefixes, name) || (kernel && BEGINS_WITH(threads, name)))
    return false;
  if (strncmp(name, "fy_", 3) == 0)
    return !kernel && is_public(name);
  return true;
}

typedef struct Findings {
  bool defined[MAX_FUNCTIONS];
  char forbidden[256], startup[64];
  bool indirect, inspected; // inspected: .init_array will be taken out
} Findings;

// "  [ 5] .init_array  INIT_ARRAY ..."
static void read_section(const char *line, Findings *f) {
  char name[256];
  if (sscanf(line, " [%*[^]]] %255s", name) != 1)
    return;
  for (size_t i = 0; i < sizeof startup_sections / sizeof startup_sections[0]; i++) {
    size_t length = strlen(startup_sections[i]);
    if (f->inspected && strcmp(startup_sections[i], ".init_array") == 0)
      continue;
    if (strncmp(name, startup_sections[i], length) == 0 && (name[length] == '\0' || name[length] == '.'))
      snprintf(f->startup, sizeof f->startup, "%s", startup_sections[i]);
  }
}

// "   12: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND fy_add"; of some symbols with a note: "DEFAULT [VARIANT_PCS]  UND fy_add".
static void read_symbol(const Exercise *exercise, const char *line, Findings *f) {
  char type[32], bind[32], where[32], name[1024];
  int at = 0;
  if (sscanf(line, " %*d: %*x %*s %31s %31s %*s %n", type, bind, &at) != 2 || at == 0)
    return;
  if (line[at] == '[')
    at += (int)strcspn(line + at, "]") + 1;
  if (at > (int)strlen(line) || sscanf(line + at, " %31s %1023s", where, name) != 2)
    return;
  if (strcmp(type, "IFUNC") == 0 || strcmp(type, "<OS") == 0)
    f->indirect = true;
  if (strcmp(where, "UND") == 0) {
    const char *known_as = strncmp(name, "sim_cu", 6) == 0 ? name + 4 : name; // behind the simulator's prefix
    if (!may_use(exercise, name) && !f->forbidden[0])
      snprintf(f->forbidden, sizeof f->forbidden, "%.250s", known_as);
    return;
  }
  if (BEGINS_WITH(never_defined, name) && !f->forbidden[0])
    snprintf(f->forbidden, sizeof f->forbidden, "%.250s", name);
  for (int i = 0; i < MAX_FUNCTIONS && exercise->functions[i]; i++)
    f->defined[i] |= strcmp(bind, "LOCAL") != 0 && strcmp(exercise->functions[i], name) == 0;
}

static char *say(const char *format, const char *what) {
  char *text;
  return asprintf(&text, format, what) < 0 ? strdup("refused\n") : text;
}

char *symbols_refused(const Exercise *exercise, const char *listing, bool inspected) {
  Findings f = {.inspected = inspected};
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
    return say("the answer has code that would run before main (%s): remove global objects with constructors, and "
               "<iostream>\n",
               f.startup[0] ? f.startup : "an indirect function");
  if (f.forbidden[0] && exercise->open)
    return say("the answer uses %s, which is not allowed in a performance challenge: the inspector could not count "
               "what it does. "
               "Use only the CUDA runtime, functions of math.h, printf, malloc, memcpy and memset\n",
               f.forbidden);
  if (f.forbidden[0])
    return say("the answer uses %s, which answers must not use: use only functions that ferry.h (in kernel exercises: "
               "cuda_runtime.h) declares\n",
               f.forbidden);
  return NULL;
}
