// SPDX-License-Identifier: MIT
// From .cu to objects and programs: g++ -E, cu2cpp --program, g++ -c, and one link with the simulator.
#include "sim/compile/kernel_flags.h"
#include "tool/compile/nvcc.h"
#include "tool/compile/process.h"
#include "tool/print/usage.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Places {
  const char *converter, *archive, *include;
  char cccl[PATH_MAX]; // NVIDIA's headers of thrust; empty: none here
} Places;

static void find_places(Places *p) {
  p->converter = rooted(CONFIG_ROOT "/build/cu2cpp");
  p->archive = rooted(CONFIG_OBJECTS "/libcudasim.a");
  p->include = rooted(CONFIG_ROOT "/core/sim/include");
}

bool nvcc_find_cccl(char *path, size_t bytes) {
  const char *home = getenv("CUDA_HOME"), *const toolkits[] = {home && *home ? home : "/usr/local/cuda",
                                                               "/usr/local/cuda"};
  for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++) {
    char proof[PATH_MAX + 32];
    snprintf(path, bytes, "%s/include/cccl", toolkits[i]);
    snprintf(proof, sizeof proof, "%s/thrust/version.h", path);
    if (access(proof, R_OK) == 0)
      return true;
  }
  path[0] = '\0';
  return false;
}

typedef struct Builder {
  const NvccOptions *options;
  Places places;
  Words system;          // the compiler's own include folders, where one of them is to be left out
  char folder[PATH_MAX]; // temporary
  bool recursive;        // a function that is to be inlined calls itself
} Builder;

static int execute(const Builder *b, const Words *command, const char *out, const char *messages) {
  if (b->options->dry_run || b->options->verbose) {
    fprintf(stderr, "#$");
    for (size_t i = 0; i < command->count; i++)
      fprintf(stderr, " %s", command->items[i]);
    fprintf(stderr, "\n");
  }
  if (b->options->dry_run)
    return 0;
  int status = run_tool(command->items, ".", NULL, out, messages);
  if (status == 127)
    fprintf(stderr, "ferry nvcc: %s is not installed; ./ferry doctor explains how to install it\n", command->items[0]);
  return status;
}

// A toolkit's headers among the compiler's own (/usr/local/include) do not fit the simulator's: without that folder, what the
// simulator lacks is missing by its name. The compiler is asked for its folders only where that is so.
static void find_system_folders(Builder *b) {
  static const char local[] = "/usr/local/include";
  char said[PATH_MAX + 32], line[PATH_MAX + 16];
  if (access("/usr/local/include/cuda_runtime_api.h", R_OK) != 0)
    return;
  snprintf(said, sizeof said, "%s/folders", b->folder);
  const char *argv[] = {*CONFIG_CXX ? CONFIG_CXX : "g++", "-E", "-v", "-x", "c++", "/dev/null", NULL};
  if (run_tool(argv, ".", NULL, "/dev/null", said) != 0)
    return;
  FILE *file = fopen(said, "r");
  bool listed = false;
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "End of search list", 18) == 0)
      break;
    if (listed && line[0] == ' ' && strcmp(line + 1, local) != 0)
      words_addf(&b->system, "%s", line + 1);
    listed |= strncmp(line, "#include <...>", 14) == 0;
  }
  if (file)
    fclose(file);
}

static void begin_command(const Builder *b, Words *w, bool cuda) {
  words_add(w, *CONFIG_CXX ? CONFIG_CXX : "g++");
  words_addf(w, "-std=%s", b->options->standard);
  words_add(w, b->options->optimize);
  if (cuda) // with lines, for what the simulator says of a kernel that hangs
    words_split(w, "-g1 " NATIVE_FLAGS " -fno-math-errno -fno-trapping-math -ffp-contract=fast");
  if (cuda && strstr(CONFIG_CXX, "clang") == NULL) // the loop over a block's threads; clang does so by itself
    words_split(w, VECTORIZING_FLAGS);
  words_add_all(w, &b->options->compiler);
}

// CUDA's headers come before the source, as nvcc has it, and CUDA's macros say what nvcc's would.
static void add_preprocessing(const Builder *b, Words *w, bool cuda) {
  words_add_all(w, &b->options->preprocessor);
  words_add(w, "-isystem");
  words_add(w, b->places.include);
  if (cuda && *b->places.cccl) {
    words_add(w, "-isystem");
    words_add(w, b->places.cccl);
  }
  if (b->system.count)
    words_add(w, "-nostdinc");
  for (size_t i = 0; i < b->system.count; i++) {
    words_add(w, "-isystem");
    words_add(w, b->system.items[i]);
  }
  words_add(w, "-D_GNU_SOURCE");
  if (!cuda) {
    words_add(w, "-DCUDASIM_HOST");
    return;
  }
  words_split(w, NVCC_MACROS);
  if (b->recursive)
    words_add(w, "-DCUDASIM_RECURSIVE");
}

static const char *extension(const char *file) {
  const char *dot = strrchr(file, '.'), *slash = strrchr(file, '/');
  return dot && (!slash || dot > slash) ? dot : "";
}

static bool is_source(const NvccOptions *o, const char *file) {
  static const char *const known[] = {".cu", ".cpp", ".cc", ".cxx", ".c++", ".C", ".c", NULL};
  const char *end = extension(file);
  for (const char *const *k = known; *k; k++)
    if (strcmp(*k, end) == 0)
      return true;
  return o->language && *end != '\0' && strcmp(end, ".o") != 0 && strcmp(end, ".a") != 0 && file[0] != '-';
}

static bool is_cuda(const NvccOptions *o, const char *file) {
  return o->language ? strcmp(o->language, "cu") == 0 : strcmp(extension(file), ".cu") == 0;
}

// ---- one source ----------------------------------------------------------------------------------------------------------

static int preprocess(const Builder *b, const char *source, const char *out) {
  Words w = {0};
  bool cuda = is_cuda(b->options, source);
  begin_command(b, &w, cuda);
  if (b->options->action != NVCC_DEPENDENCIES)
    words_add(&w, "-E");
  add_preprocessing(b, &w, cuda);
  if (cuda || b->options->language)
    words_split(&w, "-x c++");
  words_add(&w, source);
  if (out) {
    words_add(&w, "-o");
    words_add(&w, out);
  }
  return execute(b, &w, NULL, NULL);
}

// `split_kernels`: kernels with barriers get a second version, which runs a block at once.
static int convert(const Builder *b, const char *source, const char *raw, const char *converted, bool split_kernels) {
  Words w = {0};
  words_add(&w, b->places.converter);
  words_split(&w, b->options->relaxed_constexpr ? "--relaxed-constexpr --source" : "--source");
  words_add(&w, source);
  if (split_kernels)
    words_add(&w, "--split");
  words_add(&w, "--program");
  words_add(&w, raw);
  words_add(&w, converted);
  return execute(b, &w, NULL, NULL);
}

static bool contains(const char *file, const char *words) {
  char *text = file_read(file, NULL);
  const bool found = text && strstr(text, words);
  free(text);
  return found;
}

// `messages`: where what the compiler says goes.
static int try_cuda(const Builder *b, const char *source, const char *object, const char *messages) {
  char raw[PATH_MAX + 32], converted[PATH_MAX + 32];
  snprintf(raw, sizeof raw, "%s/raw.ii", b->folder);
  snprintf(converted, sizeof converted, "%s/program.ii", b->folder);
  int status = preprocess(b, source, raw);
  status = status ? status : convert(b, source, raw, converted, true);
  if (status != 0)
    return status;
  Words w = {0};
  begin_command(b, &w, true);
  words_add(&w, b->options->shared ? "-ftls-model=initial-exec" : "-ftls-model=local-exec");
  if (nvcc_file_looks_through_casts(raw)) // costs the loops over threads that are vectorized otherwise
    words_add(&w, "-fno-strict-aliasing");
  words_split(&w, "-fpreprocessed -c -o");
  words_add(&w, object);
  words_add(&w, converted);
  nvcc_keep_errors(converted, w.items);
  status = execute(b, &w, NULL, messages);
  if (status != 0 &&
      contains(converted, "if (::cudasim::whole_block(")) { // errors are told of the kernels as they were written
    if (getenv("CU2CPP_TELL"))
      fprintf(stderr, "%s: the loops that were generated from kernels do not compile\n", source);
    status = convert(b, source, raw, converted, false);
    status = status ? status : execute(b, &w, NULL, messages);
  }
  return status;
}

static int compile_cuda(const Builder *b, const char *source, const char *object) {
  char messages[PATH_MAX + 32];
  snprintf(messages, sizeof messages, "%s/messages", b->folder);
  int status = try_cuda(b, source, object, messages);
  if (status != 0 && contains(messages, "inlining failed in call to")) { // nvcc takes __forceinline__ for a wish there
    Builder recursive = *b;
    recursive.recursive = true;
    status = try_cuda(&recursive, source, object, messages);
  }
  nvcc_show_messages(messages);
  return status;
}

static int compile_host(const Builder *b, const char *source, const char *object) {
  Words w = {0};
  bool c = strcmp(extension(source), ".c") == 0;
  if (c) {
    words_add(&w, CONFIG_CC);
    words_add(&w, b->options->optimize);
    words_add_all(&w, &b->options->compiler);
  } else {
    begin_command(b, &w, false);
  }
  Builder own = *b;
  if (c)
    own.system = (Words){0}; // those are C++'s
  add_preprocessing(&own, &w, false);
  words_split(&w, "-c -o");
  words_add(&w, object);
  words_add(&w, source);
  return execute(b, &w, NULL, NULL);
}

static int compile(const Builder *b, const char *source, const char *object) {
  return is_cuda(b->options, source) ? compile_cuda(b, source, object) : compile_host(b, source, object);
}

// ---- all of them ---------------------------------------------------------------------------------------------------------

static int compile_each(const Builder *b) {
  int status = 0;
  for (size_t i = 0; status == 0 && i < b->options->inputs.count; i++) {
    const char *file = b->options->inputs.items[i], *slash = strrchr(file, '/');
    char object[PATH_MAX];
    if (!is_source(b->options, file))
      continue;
    const char *name = slash ? slash + 1 : file;
    snprintf(object, sizeof object, "%.*s.o", (int)(strlen(name) - strlen(extension(name))), name);
    if (b->options->action == NVCC_COMPILE)
      status = compile(b, file, b->options->output ? b->options->output : object);
    else
      status = preprocess(b, file, b->options->output);
  }
  return status;
}

static int link_all(const Builder *b) {
  Words w = {0};
  if (b->options->action == NVCC_ARCHIVE)
    words_split(&w, "ar rcs");
  else
    words_split(&w, *CONFIG_CXX ? CONFIG_CXX " -o" : "g++ -o");
  words_add(&w, b->options->output ? b->options->output : b->options->action == NVCC_ARCHIVE ? "a.a" : "a.out");
  for (size_t i = 0; i < b->options->inputs.count; i++) {
    const char *file = b->options->inputs.items[i];
    if (!is_source(b->options, file)) {
      words_add(&w, file);
      continue;
    }
    char object[PATH_MAX + 32];
    snprintf(object, sizeof object, "%s/%zu.o", b->folder, i);
    int status = compile(b, file, object);
    if (status != 0)
      return status;
    words_add(&w, object);
  }
  if (b->options->action != NVCC_ARCHIVE) {
    words_add_all(&w, &b->options->compiler);
    words_add_all(&w, &b->options->linker);
    words_add(&w, "-Wl,--as-needed");
    if (!b->options->shared)
      words_add(&w, b->places.archive);
    words_split(&w, CONFIG_LINK);
  }
  return execute(b, &w, NULL, NULL);
}

static void tell_ignored(const NvccOptions *o) {
  if (!o->ignored.count)
    return;
  fprintf(stderr, "ferry nvcc: note: ignored, because they have no effect on a simulated device:");
  for (size_t i = 0; i < o->ignored.count; i++)
    fprintf(stderr, " %s", o->ignored.items[i]);
  fprintf(stderr, "\n");
}

int nvcc_build(const NvccOptions *o) {
  Builder b = {.options = o};
  const char *tmp = getenv("TMPDIR");
  find_places(&b.places);
  nvcc_find_cccl(b.places.cccl, sizeof b.places.cccl);
  tell_ignored(o);
  snprintf(b.folder, sizeof b.folder, "%s/ferry-nvcc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(b.folder)) {
    perror("ferry nvcc: no temporary folder");
    return EXIT_GRADER;
  }
  find_system_folders(&b);
  int status = o->action == NVCC_LINK || o->action == NVCC_ARCHIVE ? link_all(&b) : compile_each(&b);
  const char *argv[] = {"rm", "-rf", "--", b.folder, NULL};
  run_tool(argv, "/", NULL, NULL, NULL);
  return status ? EXIT_ANSWER : EXIT_PASS;
}
