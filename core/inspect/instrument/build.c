// SPDX-License-Identifier: MIT
// Builds an instrumented program from a .cu file: stage by stage, each a compiler, an assembler or a linker as a child process.
//
// The stages of a file are in file_stages, at the end. Compiling it is a ladder of attempts (`attempts`), since what works best does not
// always work. It is the user's own program, which runs with the user's rights: nothing here is confined to a sandbox.
#include "inspect/instrument/instrument.h"
#include "sim/compile/kernel_flags.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include "tool/compile/nvcc.h"
#include "tool/compile/toolkit.h"
#include "tool/compile/process.h"
#include "tool/print/usage.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// cuda_runtime.h, which nvcc includes first, precompiled by make with INSPECT_FLAGS or AS_WRITTEN_FLAGS. If another compiler made it,
// g++ ignores it and takes the header itself.
#define PRECOMPILED_HEADER CONFIG_PRECOMPILED "/inspected.h"
#define PRECOMPILED_AS_WRITTEN CONFIG_PRECOMPILED "/as_written.h"

// ---- processes -----------------------------------------------------------------------------------------------------------

static bool explain(int status, const char *tool, const char *does) {
  if (status == 127)
    fprintf(stderr, "ferry inspect: %s is not installed. ./ferry doctor says how to install it.\n", tool);
  else if (status != 0)
    fprintf(stderr, "ferry inspect: %s failed: see the messages above\n", does);
  return status == 0;
}

static bool tool(const Words *c, const InspectBuild *b, const char *does) {
  return explain(run_tool(c->items, b->folder, NULL, NULL, NULL), c->items[0], does);
}

// ---- one file --------------------------------------------------------------------------------------------------------------

// The version of a file for blocks that --blocks leaves out, compiled as for a plain run (nvcc_build.c), but without contraction to
// fused multiply-adds: instrumented blocks have none, and all blocks of a launch must compute the same bits. It has this number.
enum { UNINSTRUMENTED = INSPECT_FILES + 1 };
#define UNINSTRUMENTED_FLAGS                                                                                           \
  "-std=c++17 -D_GNU_SOURCE -O2 -gdwarf-4 -g1 -w -DFERRY_SIM=1 -DCUDASIM_DUAL_VERSION "                                \
  "-ftls-model=local-exec " NATIVE_FLAGS " -fno-math-errno -fno-trapping-math -ffp-contract=off " VECTORIZING_FLAGS

// A source file, and the number in the names of the files that are made from it: kernels0.cpp, kernels0.s, kernels0.o.
typedef struct Unit {
  const char *source;
  int number;
} Unit;

// One way to compile a unit.
typedef struct Attempt {
  bool
      preprocessed; // translate launches after the preprocessor has run, as ./ferry nvcc does: slower, but nothing hides in a macro
  bool
      apart; // keep each kernel a function of its own, instead of inlining it into its launch: slower where not instrumented
} Attempt;
// Not inlined: a kernel that is only declared here, or that calls a recursive function.
static const Attempt attempts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

static const char *flags_of(const InspectBuild *b, const Unit *u) {
  return u->number == UNINSTRUMENTED ? "g++ " UNINSTRUMENTED_FLAGS
         : b->table[0]               ? "g++ " STEP_FLAGS
         : b->is_as_written          ? "g++ " AS_WRITTEN_FLAGS
                                     : "g++ " INSPECT_FLAGS;
}

// "kernels0.cpp"
static const char *numbered(const char *name, const Unit *u, const char *ending) {
  static char text[64];
  snprintf(text, sizeof text, "%s%d%s", name, u->number, ending);
  return text;
}

static void path_of(char path[PATH_MAX], const InspectBuild *b, const Unit *u, const char *ending) {
  snprintf(path, PATH_MAX, "%s/%s", b->folder, numbered("kernels", u, ending));
}

// Then no kernel is compiled for uninstrumented blocks.
static bool instruments_all_blocks(const InspectOptions *o, const Unit *u) {
  return u->number != UNINSTRUMENTED && !o->blocks && !o->kernel;
}

bool inspect_models_gpu(const InspectOptions *o) {
  return o->gpu || getenv("FERRY_SIM_GPU");
}

bool inspect_runs_loops(const InspectOptions *o) {
  return !o->program && !o->step && !inspect_models_gpu(o);
}

static const char *splitting(const InspectOptions *o, const Unit *u) {
  return u->number == UNINSTRUMENTED ? "--split" : inspect_runs_loops(o) ? "--split --instrument" : "";
}

// It has been checked as it was, and has hooks for ./ferry step now.
static bool is_hooked(const InspectJob *j, const Unit *u) {
  return j->build.table[0] && u->number == 0;
}

// Only with --gpu: with FERRY_SIM_GPU, as the lessons have it, a loop is counted as it is written.
static bool counts_instructions(const InspectJob *j, const Unit *u) {
  return u->number != UNINSTRUMENTED && !j->build.table[0] && !j->build.is_as_written && j->options.gpu;
}

static bool translate_source(const InspectJob *j, const Unit *u) {
  Words c = {0};
  char to[PATH_MAX];
  path_of(to, &j->build, u, ".cpp");
  words_add(&c, CONFIG_ROOT "/build/cu2cpp");
  words_split(&c, "--gcc --relaxed-constexpr");
  words_split(&c, is_hooked(j, u) ? "--hooked" : "");
  words_split(&c, counts_instructions(j, u) ? "--unroll" : "");
  words_split(&c, splitting(&j->options, u));
  words_add(&c, u->source);
  words_add(&c, to);
  return tool(&c, &j->build, "the translation of kernel launches");
}

static void given_flags(Words *c, const InspectOptions *o) {
  for (int i = 0; i < o->flag_count; i++)
    words_add(c, o->flags[i]);
}

static void preprocessor_flags(Words *c, const InspectOptions *o) {
  words_split(c, o->bare ? "-include cudasim_bare_launch.h" : ""); // before the file's macros
  given_flags(c, o);
}

// What the file includes in quotation marks lies beside it.
static void quoted_folder(Words *c, const InspectJob *j, const Unit *u) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", j->build.bare[0] || j->build.table[0] ? j->build.source : u->source);
  *strrchr(folder, '/') = '\0';
  words_add(c, "-iquote");
  words_add(c, folder);
}

static bool preprocess_and_translate(const InspectJob *j, const Unit *u, bool apart) {
  Words first = {0}, second = {0};
  char cccl[PATH_MAX];
  words_split(&first, flags_of(&j->build, u));
  words_split(&first, apart ? "-DCUDASIM_KERNELS_APART" : "");
  quoted_folder(&first, j, u);
  words_split(&first, "-isystem " CONFIG_ROOT "/core/sim/include");
  if (nvcc_find_cccl(cccl, sizeof cccl))
    words_addf(&first, "-isystem%s", cccl);
  words_split(&first, instruments_all_blocks(&j->options, u) ? "-include cudasim_all_instrumented.h" : "");
  words_split(&first, NVCC_MACROS " -x c++ -E -o");
  words_add(&first, numbered("kernels", u, ".ii"));
  preprocessor_flags(&first, &j->options);
  words_add(&first, u->source);
  words_add(&second, CONFIG_ROOT "/build/cu2cpp");
  words_split(&second, "--gcc --program --relaxed-constexpr");
  if (!is_hooked(j, u)) {
    words_split(&second, "--source");
    words_add(&second, u->source);
  }
  words_split(&second, splitting(&j->options, u));
  words_add(&second, numbered("kernels", u, ".ii"));
  words_add(&second, numbered("kernels", u, ".cpp"));
  return tool(&first, &j->build, "the preprocessor") && tool(&second, &j->build, "the translation of kernel launches");
}

static void compile_source_flags(Words *c, const InspectJob *j, const Unit *u, bool apart) {
  words_split(c, apart ? "-DCUDASIM_KERNELS_APART" : "");
  words_split(c, nvcc_file_looks_through_casts(u->source) ? "-fno-strict-aliasing" : "");
  words_add(c, "-I" CONFIG_ROOT "/build/sim/core");
  words_add(c, "-I" CONFIG_ROOT "/core/sim/include");
  words_add(c, "-I" CONFIG_ROOT "/core");
  words_add(c, "-I" CONFIG_ROOT "/build/include");
  quoted_folder(c, j, u);
  words_split(c, CONFIG_INCLUDES);
  const char *precompiled = j->build.is_as_written ? PRECOMPILED_AS_WRITTEN : PRECOMPILED_HEADER;
  const bool fits =
      !apart && !j->build.table[0] && u->number != UNINSTRUMENTED && access(rooted(precompiled), R_OK) == 0;
  words_add(c, "-include"); // nvcc includes it by itself
  words_add(c, fits ? precompiled : "cuda_runtime.h");
  preprocessor_flags(c, &j->options);
  words_split(c, instruments_all_blocks(&j->options, u) ? "-include cudasim_all_instrumented.h" : "");
}

static void compile_preprocessed_flags(Words *c, const InspectJob *j, const Unit *u) {
  char preprocessed[PATH_MAX];
  path_of(preprocessed, &j->build, u, ".ii");
  words_split(c, "-fpreprocessed");
  words_split(c, nvcc_file_looks_through_casts(preprocessed) ? "-fno-strict-aliasing" : "");
}

// To assembly. The compiler's messages go to the file `messages`; those of the last attempt
// are shown.
static bool compile(const InspectJob *j, const Unit *u, Attempt a, const char *messages, bool last) {
  Words c = {0};
  char translated[PATH_MAX];
  if (a.preprocessed && !preprocess_and_translate(j, u, a.apart))
    return false;
  words_split(&c, flags_of(&j->build, u));
  if (counts_instructions(j, u) && messages) // the compiler announces it
    words_split(&c, COUNTING_FLAGS);
  if (a.preprocessed)
    compile_preprocessed_flags(&c, j, u);
  else
    compile_source_flags(&c, j, u, a.apart);
  words_add(&c, "-S");
  words_add(&c, numbered("kernels", u, ".cpp"));
  words_add(&c, "-o");
  words_add(&c, numbered("kernels", u, ".s"));
  path_of(translated, &j->build, u, ".cpp");
  nvcc_keep_errors(translated, c.items);
  const int status = run_tool(c.items, j->build.folder, NULL, NULL, messages);
  if (!last)
    return status == 0;
  nvcc_show_messages(messages);
  return explain(status, c.items[0], "the compilation");
}

// ---- the stages of a file --------------------------------------------------------------------------------------------------

// The file with hooks before its statements, for ./ferry step.
static bool write_hooks(const InspectJob *j, char source[PATH_MAX]) {
  Words c = {0};
  char to[PATH_MAX];
  snprintf(to, sizeof to, "%s/hooked.cu", j->build.folder);
  words_add(&c, CONFIG_ROOT "/build/cu2cpp");
  words_split(&c, "--step");
  words_add(&c, j->build.table);
  words_add(&c, source);
  words_add(&c, to);
  if (!tool(&c, &j->build, "the translation of the source (cu2cpp)"))
    return false;
  snprintf(source, PATH_MAX, "%s", to);
  return true;
}

static bool translate_and_compile(InspectJob *j, const Unit *u) {
  InspectBuild *b = &j->build;
  char messages[300];
  snprintf(messages, sizeof messages, "%s/messages", b->folder);
  if (!b->nvcc && !translate_source(j, u))
    return false;
  for (size_t n = 0; n < sizeof attempts / sizeof attempts[0]; n++)
    if ((!b->nvcc || attempts[n].preprocessed) && compile(j, u, attempts[n], messages, false)) {
      b->nvcc = attempts[n].preprocessed;
      return true;
    }
  return compile(j, u, (Attempt){true, true}, messages, true); // shows why, of launches in the reader's words
}

// For blocks that --blocks leaves out. Without it they run the instrumented version.
static bool compile_plain(const InspectJob *j, const Unit *plain) {
  char messages[300];
  snprintf(messages, sizeof messages, "%s/messages", j->build.folder);
  return (j->build.nvcc || translate_source(j, plain)) &&
         compile(j, plain, (Attempt){j->build.nvcc, false}, messages, false);
}

static bool merge_versions(const InspectJob *j, const Unit *u, const Unit *plain) {
  char instrumented[PATH_MAX], uninstrumented[PATH_MAX];
  path_of(instrumented, &j->build, u, ".s");
  path_of(uninstrumented, &j->build, plain, ".s");
  return inspect_merge_versions(instrumented, uninstrumented);
}

static bool compile_uninstrumented(InspectJob *j, const Unit *u) {
  const Unit plain = {u->source, UNINSTRUMENTED};
  j->build.dual = j->build.dual && compile_plain(j, &plain) && merge_versions(j, u, &plain);
  return true;
}

static bool rewrite_assembly(InspectJob *j, const Unit *u) {
  char assembly[PATH_MAX], padded[PATH_MAX];
  path_of(assembly, &j->build, u, ".s");
  path_of(padded, &j->build, u, ".padded.s");
  if (inspect_pad_arrays(assembly, padded, false))
    return true;
  fprintf(stderr, "ferry inspect: %s cannot be written: %s\n", padded, strerror(errno));
  return false;
}

static bool assemble(InspectJob *j, const Unit *u) {
  Words c = {0};
  words_split(&c, "g++ -c");
  words_add(&c, numbered("kernels", u, ".padded.s"));
  words_add(&c, "-o");
  words_add(&c, numbered("kernels", u, ".o"));
  return tool(&c, &j->build, "the assembler");
}

// memcpy and its like become the inspector's. Of two versions, only the uninstrumented one runs constructors.
static bool redirect_copies(InspectJob *j, const Unit *u) {
  Words c = {0};
  words_split(&c, "objcopy " INSPECT_COPIES);
  if (j->build.dual)
    words_split(&c, "--remove-section=.init_array* --remove-section=.rela.init_array*");
  words_add(&c, numbered("kernels", u, ".o"));
  return tool(&c, &j->build, "objcopy");
}

static bool make_object(InspectJob *j, const Unit *u) {
  return rewrite_assembly(j, u) && assemble(j, u) && redirect_copies(j, u);
}

static bool (*const file_stages[])(InspectJob *, const Unit *) = {
    translate_and_compile,  // cu2cpp and g++ -S, by the first of `attempts` that works
    compile_uninstrumented, // with --blocks
    make_object,            // pad_arrays.c, the assembler, objcopy
};

// ---- the program -------------------------------------------------------------------------------------------------------------

static bool link_program(const InspectJob *j) {
  const InspectBuild *b = &j->build;
  char messages[300];
  Words c = {0};
  words_add(&c, CONFIG_CXX);
  words_split(&c, CONFIG_LINKER " -o program");
  for (int n = 0; n <= j->options.with_count; n++)
    words_add(&c, numbered("kernels", &(Unit){.number = n}, ".o"));
  if (b->dual)
    words_add(&c, numbered("kernels", &(Unit){.number = UNINSTRUMENTED}, ".s"));
  words_add(&c, "-Wl,--whole-archive," INSPECT_LIBRARY ",--no-whole-archive");
  words_add(&c, CONFIG_LIBRARY);
  words_split(&c, CONFIG_LINK);
  snprintf(messages, sizeof messages, "%s/messages", b->folder);
  return b->dual ? run_tool(c.items, b->folder, NULL, NULL, messages) == 0
                 : tool(&c, b, "linking (--with FILE.cu adds a file)");
}

static bool build(InspectJob *j, bool dual) {
  for (int n = 0; n <= j->options.with_count; n++) {
    const char *file = n ? j->options.with[n - 1] : j->build.bare[0] ? j->build.bare : j->build.source;
    char source[PATH_MAX];
    if (!realpath(file, source)) {
      fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", file, strerror(errno));
      return false;
    }
    j->build.dual = dual;
    if (n == 0 && j->build.table[0] && !write_hooks(j, source))
      return false;
    for (size_t s = 0; s < sizeof file_stages / sizeof file_stages[0]; s++)
      if (!file_stages[s](j, &(Unit){source, n}))
        return false;
  }
  return link_program(j);
}

static bool build_either(InspectJob *j) {
  const bool dual = j->options.blocks && j->options.with_count == 0; // two versions that cannot be linked: one
  snprintf(j->build.program, sizeof j->build.program, "%s/program", j->build.folder);
  return build(j, dual) || (j->build.dual && build(j, false));
}

// In a process of its own, which works in a folder of its own. Its messages are those of the other build.
static pid_t begin_as_written(const InspectJob *j, bool (*builds)(InspectJob *)) {
  fflush(NULL);
  const pid_t pid = fork();
  if (pid != 0)
    return pid;
  InspectJob own = *j;
  own.build.is_as_written = true;
  snprintf(own.build.folder, sizeof own.build.folder, "%.200s/as_written", j->build.folder);
  redirect_to("/dev/null", O_WRONLY, 1);
  redirect_to("/dev/null", O_WRONLY, 2);
  mkdir(own.build.folder, 0700);
  _exit(builds(&own) ? EXIT_PASS : EXIT_GRADER);
}

static bool build_both(InspectJob *j, bool (*builds)(InspectJob *), bool twice) {
  const pid_t as_written = twice ? begin_as_written(j, builds) : -1;
  const bool built = builds(j);
  j->build.as_written[0] = '\0';
  if (as_written > 0 && wait_for_tool(as_written) == EXIT_PASS)
    snprintf(j->build.as_written, sizeof j->build.as_written, "%s/as_written/program", j->build.folder);
  return built;
}

// ---- for a sampled run -----------------------------------------------------------------------------------------------------

static bool copy(const char *from, const char *to) {
  size_t bytes = 0;
  char *text = file_read(from, &bytes);
  const bool copied = text && file_write(to, text, bytes);
  free(text);
  return copied;
}

// The assembly of the instrumented version is in the folder, and that of the other one in plain.s of the folder that both programs share.
static bool build_dual(InspectJob *j) {
  InspectBuild *b = &j->build;
  const Unit u = {b->source, 0}, plain = {b->source, UNINSTRUMENTED};
  char shared[PATH_MAX], own[PATH_MAX];
  snprintf(shared, sizeof shared, "%s/%splain.s", b->folder, b->is_as_written ? "../" : "");
  path_of(own, b, &plain, ".s");
  b->dual = true;
  return copy(shared, own) && merge_versions(j, &u, &plain) && make_object(j, &u) && link_program(j);
}

bool inspect_build_sampled(InspectJob *j) {
  InspectBuild *b = &j->build;
  const Unit plain = {b->source, UNINSTRUMENTED};
  char shared[PATH_MAX], compiled[PATH_MAX];
  snprintf(shared, sizeof shared, "%s/plain.s", b->folder);
  path_of(compiled, b, &plain, ".s");
  b->sampled =
      compile_plain(j, &plain) && rename(compiled, shared) == 0 && build_both(j, build_dual, b->as_written[0] != '\0');
  return b->sampled;
}

bool inspect_build_program(InspectJob *j) {
  const InspectOptions *o = &j->options;
  InspectBuild *b = &j->build;
  const char *given = o->program ? o->program : o->file;
  if (!realpath(given, b->source)) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", given, strerror(errno));
    return false;
  }
  b->nvcc = o->nvcc;
  if (o->program)
    snprintf(b->program, sizeof b->program, "%s", b->source);
  if (o->bare && !inspect_write_bare(j))
    return false;
  if (!o->program && !build_both(j, build_either, !o->once && !o->step))
    return false;
  if (!inspect_runs_loops(o) && !inspect_write_mix(b, b->mix, sizeof b->mix))
    b->mix[0] = '\0';
  return true;
}

static bool disassemble(const char *folder, const char *cubin, const char *sass) {
  char nvdisasm[2300];
  if (!toolkit_find("nvdisasm", nvdisasm, sizeof nvdisasm))
    return false;
  return run_tool((const char *[]){nvdisasm, "-gi", "-c", cubin, NULL}, folder, NULL, sass, NULL) == 0;
}

static bool ask_nvcc(const InspectJob *j, const char *flags, const char *used, const char *sass) {
  static const char cubin[] = "kernels.cubin"; // in the build's folder
  char nvcc[2300];
  Words c = {0};
  if (!toolkit_find("nvcc", nvcc, sizeof nvcc))
    return false;
  words_add(&c, nvcc);
  words_split(&c, flags);
  words_add(&c, "-o");
  words_add(&c, cubin);
  words_add(&c, "-I" CONFIG_ROOT "/core");
  given_flags(&c, &j->options);
  words_add(&c, j->build.source);
  return run_tool(c.items, j->build.folder, NULL, NULL, used) == 0 &&
         (!sass || disassemble(j->build.folder, cubin, sass));
}

const InspectSubject inspect_own_program = {inspect_build_program, inspect_run_program, ask_nvcc};
