// From a .cu file to a program that looks at its own kernels, and its runs. No sandbox: it is the user's own file, run as the
// user would run it. Answers to exercises are inspect_answer.c's.
#include "grader/case.h"
#include "tool/compile/config.h"
#include "inspect/report/inspection.h"
#include "sim/compile/kernel_flags.h"
#include "tool/compile/nvcc.h"
#include "tool/compile/process.h"
#include "grader/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 96 };
// CUDA's header, first as nvcc has it, and as make has compiled it with INSPECT_FLAGS; what is of another compiler g++ leaves, and takes
// the header itself.
#define PRECOMPILED_HEADER CONFIG_PRECOMPILED "/inspected.h"

typedef struct Command {
  const char *argv[ARGUMENTS];
  char text[8192];
  size_t used;
  int count;
} Command;

static void words(Command *c, const char *list) {
  while (*list) {
    size_t length = strcspn(list, " ");
    if (length && (c->count == ARGUMENTS - 1 || c->used + length + 1 > sizeof c->text))
      fatal_error("a command line is too long");
    if (length) {
      c->argv[c->count++] = memcpy(c->text + c->used, list, length);
      c->text[c->used + length] = '\0';
      c->used += length + 1;
    }
    list += length + (list[length] == ' ');
  }
}

static void word(Command *c, const char *before, const char *value) {
  int length = snprintf(c->text + c->used, sizeof c->text - c->used, "%s%s", before, value);
  if (c->count == ARGUMENTS - 1 || (size_t)length + 1 > sizeof c->text - c->used)
    fatal_error("a command line is too long");
  c->argv[c->count++] = c->text + c->used;
  c->used += (size_t)length + 1;
}

// ---- processes -----------------------------------------------------------------------------------------------------------

static bool tool(const Command *c, const InspectBuild *b, const char *does) {
  int status = run_tool(c->argv, b->folder, NULL, NULL, NULL);
  if (status == 127)
    fprintf(stderr, "ferry inspect: %s is not installed; ./ferry doctor says what installs it\n", c->argv[0]);
  else if (status != 0)
    fprintf(stderr, "ferry inspect: %s failed: see above\n", does);
  return status == 0;
}

// ---- building ------------------------------------------------------------------------------------------------------------

// A copy as a plain run has it (nvcc_build.c), for blocks that nobody looks at: it has this number.
enum { PLAIN = INSPECT_FILES + 1 };
#define PLAIN_FLAGS                                                                                                    \
  "-std=c++17 -D_GNU_SOURCE -O2 -gdwarf-4 -g1 -w -DFERRY_SIM=1 -DCUDASIM_DUAL_VERSION -ftls-model=local-exec "         \
  "-march=native "                                                                                                     \
  "-fno-math-errno -fno-trapping-math -ffp-contract=fast " VECTORIZING_FLAGS

static const char *flags_of(int number) {
  return number == PLAIN ? "g++ " PLAIN_FLAGS : "g++ " INSPECT_FLAGS;
}

// The file's number in the folder: "/kernels0.cpp".
static const char *numbered(const char *name, int number, const char *ending) {
  static char text[64];
  snprintf(text, sizeof text, "%s%d%s", name, number, ending);
  return text;
}

// Then no kernel is compiled for blocks that are left alone.
static bool looks_at_all(const InspectOptions *o, int number) {
  return number != PLAIN && !o->blocks && !o->kernel;
}

static bool plays_gpu(const InspectOptions *o) {
  return o->gpu || getenv("FERRY_SIM_GPU");
}

bool inspect_has_loops(const InspectOptions *o) {
  return !o->exercise && !o->program && !plays_gpu(o);
}

// How cu2cpp takes the kernels of the copy with this number.
static const char *splitting(const InspectOptions *o, int number) {
  return number == PLAIN ? "--split" : inspect_has_loops(o) ? "--split --told" : "";
}

static bool transform(const InspectBuild *b, const InspectOptions *o, const char *source, int number) {
  Command c = {0};
  word(&c, "", CONFIG_ROOT "/build/cu2cpp");
  words(&c, "--gcc");
  words(&c, splitting(o, number));
  word(&c, "", source);
  word(&c, b->folder, numbered("/kernels", number, ".cpp"));
  return tool(&c, b, "the transformation of the launches");
}

static void keep_errors(const InspectBuild *b, int number, Command *c) {
  char converted[PATH_MAX];
  snprintf(converted, sizeof converted, "%s%s", b->folder, numbered("/kernels", number, ".cpp"));
  nvcc_keep_errors(converted, c->argv);
}

// `apart`: for kernels that are launched here and defined in another file. What the compiler says goes to the file `said`, or is
// seen where that is NULL.
static bool compile_as(const InspectBuild *b, const InspectOptions *o, const char *source, int number, bool apart,
                       const char *said) {
  Command c = {0};
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", source);
  *strrchr(folder, '/') = '\0';
  words(&c, flags_of(number));
  words(&c, apart ? "-DCUDASIM_KERNELS_APART" : "");
  words(&c, nvcc_file_looks_through_casts(source) ? "-fno-strict-aliasing" : "");
  word(&c, "-I", CONFIG_ROOT "/build/sim/core");
  word(&c, "-I", CONFIG_ROOT "/core/sim/include");
  word(&c, "-I", CONFIG_ROOT "/core");
  word(&c, "-I", CONFIG_ROOT "/build/include");
  word(&c, "", "-iquote");
  word(&c, "", folder);
  words(&c, CONFIG_INCLUDES);
  const bool precompiled = !apart && number != PLAIN && access(PRECOMPILED_HEADER, R_OK) == 0;
  words(&c, precompiled ? "-include " PRECOMPILED_HEADER : "-include cuda_runtime.h"); // nvcc includes it by itself
  words(&c, looks_at_all(o, number) ? "-include cudasim_all_told.h" : "");
  word(&c, "", "-S");
  word(&c, "", numbered("kernels", number, ".cpp"));
  word(&c, "", "-o");
  word(&c, "", numbered("kernels", number, ".s"));
  keep_errors(b, number, &c);
  return said ? run_tool(c.argv, b->folder, NULL, NULL, said) == 0 : tool(&c, b, "the compilation");
}

// A program as ./ferry nvcc takes it: after the preprocessor, launches find their kernels as calls do.
static bool compile_program(const InspectBuild *b, const InspectOptions *o, const char *source, int number, bool apart,
                            const char *said) {
  Command first = {0}, second = {0}, third = {0};
  words(&first, flags_of(number));
  words(&first, apart ? "-DCUDASIM_KERNELS_APART" : "");
  char cccl[PATH_MAX];
  words(&first, "-isystem " CONFIG_ROOT "/core/sim/include");
  if (nvcc_find_cccl(cccl, sizeof cccl))
    word(&first, "-isystem", cccl);
  words(&first, looks_at_all(o, number) ? "-include cudasim_all_told.h" : "");
  words(&first, NVCC_MACROS " -x c++ -E -o");
  word(&first, "", numbered("kernels", number, ".ii"));
  word(&first, "", source);
  word(&second, "", CONFIG_ROOT "/build/cu2cpp");
  words(&second, "--gcc --program");
  words(&second, splitting(o, number));
  word(&second, "", numbered("kernels", number, ".ii"));
  word(&second, "", numbered("kernels", number, ".cpp"));
  words(&third, flags_of(number));
  words(&third, "-fpreprocessed -S");
  word(&third, "", numbered("kernels", number, ".cpp"));
  word(&third, "", "-o");
  word(&third, "", numbered("kernels", number, ".s"));
  if (!tool(&first, b, "the preprocessor") || !tool(&second, b, "the transformation of the launches"))
    return false;
  char preprocessed[PATH_MAX];
  snprintf(preprocessed, sizeof preprocessed, "%s%s", b->folder, numbered("/kernels", number, ".ii"));
  if (nvcc_file_looks_through_casts(preprocessed))
    words(&third, "-fno-strict-aliasing");
  keep_errors(b, number, &third);
  return said ? run_tool(third.argv, b->folder, NULL, NULL, said) == 0 : tool(&third, b, "the compilation");
}

static bool compile_once(const InspectBuild *b, const InspectOptions *o, const char *source, int number, bool apart,
                         const char *said) {
  return b->nvcc ? compile_program(b, o, source, number, apart, said) : compile_as(b, o, source, number, apart, said);
}

// Where some blocks are left alone they run the plain copy. Where that cannot be made they run the other.
static bool compile_beside(const InspectBuild *b, const InspectOptions *o, const char *source) {
  char told[PATH_MAX], plain[PATH_MAX], said[300];
  snprintf(said, sizeof said, "%s/said", b->folder);
  snprintf(told, sizeof told, "%s%s", b->folder, numbered("/kernels", 0, ".s"));
  snprintf(plain, sizeof plain, "%s%s", b->folder, numbered("/kernels", PLAIN, ".s"));
  return (b->nvcc || transform(b, o, source, PLAIN)) && compile_once(b, o, source, PLAIN, false, said) &&
         inspect_share_variables(told, plain);
}

// A kernel's code is to stand in its launch. Where it cannot, since only its declaration is there or a function calls itself, it
// stays a function, which is looked at as well, and is slower where it is not.
static bool compile_either_way(const InspectBuild *b, const InspectOptions *o, const char *source, int number,
                               const char *said) {
  return compile_once(b, o, source, number, false, said) || compile_once(b, o, source, number, true, said);
}

// What only the preprocessor makes plain, as a kernel in a macro's argument, ./ferry nvcc understands: it takes longer.
static bool compile_as_nvcc(InspectBuild *b, const InspectOptions *o, const char *source, int number,
                            const char *said) {
  if (b->nvcc)
    return false;
  b->nvcc = true;
  b->nvcc = compile_either_way(b, o, source, number, said);
  return b->nvcc;
}

static bool compile(InspectBuild *b, const InspectOptions *o, const char *source, int number, bool beside) {
  char said[300];
  snprintf(said, sizeof said, "%s/said", b->folder);
  if (!compile_either_way(b, o, source, number, said) && !compile_as_nvcc(b, o, source, number, said))
    return (b->nvcc || transform(b, o, source, number)) && compile_once(b, o, source, number, true, NULL); // says why
  b->beside = beside && compile_beside(b, o, source);
  return true;
}

bool inspect_ask_ptxas(const InspectBuild *b, const InspectOptions *o, char *said, size_t bytes) {
  Command c = {0};
  if (!*CONFIG_NVCC || o->program || o->no_registers)
    return false;
  snprintf(said, bytes, "%s/ptxas", b->folder);
  if (b->answer)
    return inspect_answer_registers(b, said);
  word(&c, "", CONFIG_NVCC);
  words(&c, "-std=c++17 -O2 -w -arch=sm_90 -Xptxas -v -cubin -o /dev/null");
  word(&c, "-I", CONFIG_ROOT "/core");
  word(&c, "", b->source);
  return run_tool(c.argv, b->folder, NULL, NULL, said) == 0;
}

static bool assemble(const InspectBuild *b, int number) {
  char assembly[PATH_MAX], guarded[PATH_MAX];
  Command c = {0};
  snprintf(assembly, sizeof assembly, "%s/%s", b->folder, numbered("kernels", number, ".s"));
  snprintf(guarded, sizeof guarded, "%s/%s", b->folder, numbered("guarded", number, ".s"));
  if (!inspect_guard_arrays(assembly, guarded, false)) {
    fprintf(stderr, "ferry inspect: %s cannot be written: %s\n", guarded, strerror(errno));
    return false;
  }
  words(&c, "g++ -c");
  word(&c, "", numbered("guarded", number, ".s"));
  word(&c, "", "-o");
  word(&c, "", numbered("kernels", number, ".o"));
  return tool(&c, b, "the assembler");
}

// Beside a plain copy it is that one's constructors that run.
static bool take_copies(const InspectBuild *b, int number) {
  Command c = {0};
  words(&c, "objcopy " INSPECT_COPIES);
  if (b->beside)
    words(&c, "--remove-section=.init_array* --remove-section=.rela.init_array*");
  word(&c, "", numbered("kernels", number, ".o"));
  return tool(&c, b, "objcopy");
}

static bool link_program(const InspectBuild *b, const InspectOptions *o) {
  char said[300];
  Command c = {0};
  word(&c, "", CONFIG_CXX);
  words(&c, CONFIG_LINKER " -o program");
  for (int n = 0; n <= o->with_count; n++)
    word(&c, "", numbered("kernels", n, ".o"));
  if (b->beside)
    word(&c, "", numbered("kernels", PLAIN, ".s"));
  word(&c, "-Wl,--whole-archive,", INSPECT_LIBRARY ",--no-whole-archive");
  word(&c, "", CONFIG_LIBRARY);
  words(&c, CONFIG_LINK);
  snprintf(said, sizeof said, "%s/said", b->folder);
  return b->beside ? run_tool(c.argv, b->folder, NULL, NULL, said) == 0
                   : tool(&c, b, "linking (--with FILE.cu adds a file)");
}

static bool build(InspectBuild *b, const InspectOptions *o, bool beside) {
  for (int n = 0; n <= o->with_count; n++) {
    const char *file = n ? o->with[n - 1] : b->source;
    char source[PATH_MAX];
    if (!realpath(file, source)) {
      fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", file, strerror(errno));
      return false;
    }
    if ((!b->nvcc && !transform(b, o, source, n)) || !compile(b, o, source, n, beside) || !assemble(b, n) ||
        !take_copies(b, n))
      return false;
  }
  return link_program(b, o);
}

bool inspect_compile(InspectBuild *b, const InspectOptions *o) {
  if (!realpath(o->program ? o->program : o->file, b->source)) {
    fprintf(stderr, "ferry inspect: %s cannot be read: %s\n", o->program ? o->program : o->file, strerror(errno));
    return false;
  }
  b->nvcc = o->nvcc;
  // One of those that a later ./ferry removes when this one is killed.
  if (!sandbox_folder_own(b->folder, sizeof b->folder) || chmod(b->folder, 0700) != 0) {
    fprintf(stderr, "ferry inspect: no temporary folder can be made in $TMPDIR or /tmp: %s\n", strerror(errno));
    b->folder[0] = '\0';
    return false;
  }
  if (o->program) {
    snprintf(b->program, sizeof b->program, "%s", b->source);
    return true;
  }
  snprintf(b->program, sizeof b->program, "%s/program", b->folder);
  const bool beside = o->blocks && o->with_count == 0; // some blocks are left alone
  return build(b, o, beside) || (b->beside && build(b, o, false));
}

void inspect_clean(InspectBuild *b) {
  const char *argv[] = {"rm", "-rf", "--", b->folder, NULL};
  if (b->folder[0])
    run_tool(argv, "/", NULL, NULL, NULL);
  b->folder[0] = '\0';
}

// ---- running -------------------------------------------------------------------------------------------------------------

static void set(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static void begin_child(const InspectOptions *o, const char *order, bool quiet, const char *record, const char *mix) {
  set("FERRY_INSPECT_MIX", mix);
  if (o->gpu)
    set("FERRY_SIM_GPU", o->gpu);
  set("FERRY_INSPECT_RECORD", record);
  set("FERRY_INSPECT_KERNEL", o->kernel);
  set("FERRY_INSPECT_BLOCKS", o->blocks);
  set("FERRY_SIM_ORDER", order);
  const bool again = strcmp(order, "descending") == 0; // what is counted is taken from the other run
  set("FERRY_INSPECT_COUNTS", again && !plays_gpu(o) ? "0" : NULL);
  set("FERRY_CUDA", "sim");
  if (quiet) {
    redirect_to("/dev/null", O_WRONLY, 1);
    redirect_to("/dev/null", O_WRONLY, 2);
  }
}

int inspect_run(const InspectBuild *b, const InspectOptions *o, const char *order, bool quiet, char *record,
                size_t bytes) {
  snprintf(record, bytes, "%s/record", b->folder);
  unlink(record);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    begin_child(o, order, quiet, record, b->mix[0] ? b->mix : NULL);
    o->arguments[0] = (char *)(uintptr_t)b->program;
    execv(b->program, o->arguments);
    _exit(127);
  }
  return pid < 0 ? -1 : wait_for_tool(pid);
}
