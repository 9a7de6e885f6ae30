// SPDX-License-Identifier: MIT
// From a learner's source to a program that a test can run. Compiler and linker run in the sandbox like the answer itself:
// a source may make them read, write and eat whatever they can.
#include "answer_tools.h"
#include "case.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include "tool/compile/gpu.h"
#include "host_memory.h"
#include "inspect/instrument/instrument.h"
#include "sim/compile/kernel_flags.h"
#include "registry.h"
#include "symbols.h"
#include "tools_root.h"
#include "forbidden.h"
#include "worker.h"
#include "tool/print/language.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *NO_FILES[2];
enum { SOURCE_LIMIT = 256 << 10 };

const char *status_name(Status status) {
  static const char *const names[] = {N_("not run"), N_("pass"),          N_("fail"),         N_("crash"),
                                      N_("timeout"), N_("out of memory"), N_("output limit"), N_("compile error"),
                                      N_("missing"), N_("skipped"),       N_("grader error")};
  return names[status];
}

static bool is_kernel(const Answer *a) {
  return strcmp(exercise_extension(a->exercise), "cu") == 0;
}

static void driver_path(const Answer *a, const char *file, char *path, size_t bytes) {
  in_root(path, bytes, "tests/hidden/%s/%s", a->exercise->id, file);
}

static void driver_object(const Answer *a, char *path, size_t bytes) {
  const char *sim = is_kernel(a) ? "/sim" : "";
  in_root(path, bytes, CONFIG_BUILD "%s/tests/hidden/%s/driver.o", sim, a->exercise->id);
}

static void include_prototypes(const Answer *a, Command *c, char *header, size_t bytes) {
  driver_path(a, "answer.h", header, bytes);
  if (access(header, R_OK) == 0) {
    command_word(c, "%s", "-include");
    command_word(c, "%s", header);
  }
}

// An index outside of an array whose size is in its type ends the answer (judge.c names it): else it would read and write what
// happens to lie beside it, and be right or wrong by chance.
// What an answer reads before it has set it is the same at each run, and no 0 by luck.
static bool compile_c(Answer *a) {
  Command c = {0};
  char header[512];
  command_program(&c, CONFIG_CC);
  command_words(&c, "-std=c17 -D_GNU_SOURCE -O1 -fsanitize=bounds -fsanitize-undefined-trap-on-error "
                    "-ftrivial-auto-var-init=pattern -Wall -Wextra -Wno-unused-parameter "
                    "-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free "
                    "-Werror=implicit-function-declaration -Werror=int-conversion "
                    "-Werror=incompatible-pointer-types -Werror=return-type -fopenmp -I" CONFIG_ROOT
                    "/core -I" CONFIG_ROOT "/build/include " CONFIG_INCLUDES);
  include_prototypes(a, &c, header, sizeof header);
  command_words(&c, a->with_lines ? "-g1" : "");
  command_word(&c, "-c", "");
  command_word(&c, "%s.c", a->exercise->id);
  command_words(&c, "-o answer.o");
  return answer_run_compiler(a, &c, (const char *[2]){header, NULL});
}

// The runtime's header as make has compiled it; where that is not there, or not of this compiler, the header itself. What is switched
// off in it for some lines is not, once it comes from there.
static void include_precompiled(const Answer *a, Command *c) {
  const char *header = a->for_inspector ? CONFIG_PRECOMPILED "/inspected.h" : CONFIG_PRECOMPILED "/judged.h";
  if (a->for_stepper)
    command_words(c, "-include cuda_runtime.h -include cudasim_all_instrumented.h");
  if (a->for_stepper || access(rooted(header), R_OK) != 0)
    return;
  command_words(c, "-Wno-dangling-pointer -include");
  command_word(c, "%s", header);
}

// All is looked at, a score's other blocks too (FERRY_INSPECT_SCORED in core/inspect), and nobody sees more than the exercise's functions.
static void include_all_instrumented(const Exercise *e, Command *c) {
  char seen[1024] = "";
  for (int i = 0; i < MAX_FUNCTIONS && e->functions[i]; i++)
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "CUDASIM_SEE(%s) ", e->functions[i]);
  command_word(c, "-DCUDASIM_SEEN=%s", seen);
  command_words(c, "-fwhole-program -include cudasim_all_instrumented.h");
}

static bool stack_is_a_threads(Answer *a) {
  char path[320];
  snprintf(path, sizeof path, "%s/answer.su", a->folder);
  char *usage = file_read(path, NULL);
  if (!usage)
    return answer_refuse(a, STATUS_GRADER_ERROR, "the compiler did not report the registers of a thread\n");
  a->diagnostics = forbidden_on_stack(a->exercise, usage);
  free(usage);
  if (a->diagnostics)
    a->status = STATUS_COMPILE_ERROR;
  return !a->diagnostics;
}

// What is inspected has room behind its shared arrays.
static bool assemble_with_guards(Answer *a) {
  Command c = {0};
  char assembly[320], padded[320];
  snprintf(assembly, sizeof assembly, "%s/answer.s", a->folder);
  snprintf(padded, sizeof padded, "%s/padded.s", a->folder);
  if (!inspect_pad_arrays(assembly, padded, true) || chmod(padded, 0644) != 0)
    return answer_refuse(a, STATUS_GRADER_ERROR, "copying the answer's assembly failed\n");
  command_program(&c, "g++");
  command_words(&c, "-c padded.s -o answer.o");
  return answer_run_tool(a, &c, NO_FILES, COMPILE_SECONDS, NULL);
}

// The answer with hooks before its statements, for ./ferry step.
static bool write_hooks(Answer *a) {
  Command c = {0};
  command_word(&c, "%s", CONFIG_ROOT "/build/cu2cpp");
  command_words(&c, "--step table");
  command_word(&c, "%s.cu", a->exercise->id);
  command_words(&c, "hooked.cu");
  return answer_run_tool(a, &c, NO_FILES, COMPILE_SECONDS, NULL);
}

static bool compile_for_simulator(Answer *a) {
  Command transform = {0}, c = {0};
  char header[512];
  if (a->for_stepper && !write_hooks(a))
    return false;
  command_word(&transform, "%s", CONFIG_ROOT "/build/cu2cpp");
  command_words(&transform, a->for_stepper ? "--gcc --hooked" : a->for_inspector ? "--gcc" : "--judge");
  const bool counting = a->for_inspector && !a->for_stepper && a->exercise->open; // a score is of instructions, too
  command_words(&transform, counting ? "--unroll" : "");
  command_word(&transform, "%s.cu", a->for_stepper ? "hooked" : a->exercise->id);
  command_word(&transform, "%s", "answer.cpp");
  if (!answer_run_tool(a, &transform, NO_FILES, COMPILE_SECONDS, NULL))
    return false;
  command_program(&c, a->for_inspector ? "g++" : CONFIG_CXX);
  command_words(&c, a->for_stepper ? STEP_FLAGS : a->for_inspector ? INSPECT_FLAGS : JUDGED_FLAGS);
  command_words(&c, counting ? COUNTING_FLAGS : "");
  command_words(&c, "-I" CONFIG_ROOT "/core/sim/include");
  include_precompiled(a, &c);
  include_prototypes(a, &c, header, sizeof header);
  if (a->for_inspector && !a->partly)
    include_all_instrumented(a->exercise, &c);
  command_words(&c, a->with_lines ? "-g1" : "");
  command_words(&c, a->for_inspector ? "-S answer.cpp -o answer.s" : "-c answer.cpp -o answer.o");
  if (a->for_inspector && a->exercise->open)
    command_words(&c, "-fstack-usage");
  if (!answer_run_compiler(a, &c, (const char *[2]){header, NULL}))
    return false;
  return !a->for_inspector || ((!a->exercise->open || stack_is_a_threads(a)) && assemble_with_guards(a));
}

// Only the functions of the exercise are seen from outside: an answer's own memcpy, cudaMalloc or main is its own alone.
static bool keep_own_symbols(Answer *a) {
  Command look = {0}, keep = {0};
  char *listing = NULL;
  command_program(&look, "readelf");
  command_words(&look, "-SsW answer.o");
  if (!answer_run_tool(a, &look, NO_FILES, COMPILE_SECONDS, &listing))
    return false;
  char *refused = symbols_refused(a->exercise, listing, a->for_inspector);
  free(listing);
  if (refused) {
    a->status = STATUS_COMPILE_ERROR;
    a->diagnostics = refused;
    return false;
  }
  command_program(&keep, "objcopy");
  for (int i = 0; i < MAX_FUNCTIONS && a->exercise->functions[i]; i++)
    command_word(&keep, "--keep-global-symbol=%s", a->exercise->functions[i]);
  command_words(&keep, HOST_MEMORY_CALLS);
  // The one thing that runs before main calls an empty function (__tsan_init), or is none of the compiler's.
  command_words(&keep, a->for_inspector ? INSPECT_COPIES
                           " --remove-section=.init_array* --remove-section=.rela.init_array*"
                                        : "");
  command_word(&keep, "%s", "answer.o");
  return answer_run_tool(a, &keep, NO_FILES, COMPILE_SECONDS, NULL);
}

static bool link_program(Answer *a) {
  Command c = {0};
  char driver[512];
  bool kernel = is_kernel(a);
  driver_object(a, driver, sizeof driver);
  command_program(&c, CONFIG_CXX);
  command_words(&c, CONFIG_LINKER " -o program answer.o");
  command_words(&c, a->for_inspector ? "-Wl,--whole-archive " INSPECT_LIBRARY " -Wl,--no-whole-archive"
                    : a->with_lines  ? ""
                                     : "-Wl,--strip-debug");
  command_words(
      &c, kernel ? "-Wl,--wrap=sim_submit"
                 : "-Wl,--wrap=fy_count_copy,--wrap=fy_count_launch,--wrap=fy_count_synchronization "
                   "-Wl,--wrap=fy_event_record,--wrap=fy_event_wait,--wrap=fy_event_query,--wrap=fy_event_elapsed_time "
                   "-Wl,--wrap=fy_stream_query,--wrap=fy_stream_wait_stream,--wrap=fy_step,--wrap=fy_copy_bytes");
  command_word(&c, "%s", driver);
  command_word(&c, "%s", CONFIG_OBJECTS "/tests/grader/child.o");
  command_word(&c, "%s", CONFIG_OBJECTS "/tests/grader/wire.o");
  command_word(&c, "%s", CONFIG_OBJECTS "/tests/grader/host_memory.o");
  command_words(&c, HOST_MEMORY_WRAPPED);
  command_word(&c, "%s",
               kernel ? CONFIG_OBJECTS "/sim/tests/grader/buffers_cuda.o"
                      : CONFIG_OBJECTS "/tests/grader/buffers_tensor.o");
  command_word(&c, "%s",
               kernel ? CONFIG_OBJECTS "/tests/grader/ledger_sim.o" : CONFIG_OBJECTS "/tests/grader/event_trace.o");
  if (kernel)
    command_word(&c, "%s", CONFIG_OBJECTS "/tests/grader/misaligned.o");
  command_word(&c, "%s", CONFIG_LIBRARY);
  command_words(&c, CONFIG_LINK);
  return answer_run_tool(a, &c, (const char *[2]){driver, NULL}, COMPILE_SECONDS, NULL);
}

// What was linked is the grader's from here on: one test of an answer must not replace what the next one runs.
static bool take_program(Answer *a) {
  if (!sandbox_take(a->folder, "program"))
    return answer_refuse(a, STATUS_GRADER_ERROR, "copying the answer's program failed\n");
  return true;
}

// For a real GPU: nvcc compiles answer, driver and buffers_cuda.cu together, without the library, whose simulator would take the
// place of NVIDIA's runtime. The linker sends the calls that count through buffers_cuda.cu.
static bool build_with_nvcc(Answer *a) {
  Command c = {0};
  char header[512], driver[512];
  if (!*CONFIG_NVCC)
    return answer_refuse(a, STATUS_GRADER_ERROR,
                         "running kernels on a GPU needs nvcc; set FERRY_CUDA=sim to use the simulator\n");
  driver_path(a, "driver.cu", driver, sizeof driver);
  command_program(&c, CONFIG_NVCC);
  command_words(&c,
                "-std=c++17 -O2 -arch=native -cudart static -I" CONFIG_ROOT "/core -I" CONFIG_ROOT
                "/tests/grader -Xlinker --wrap=cudaLaunchKernel,--wrap=__cudaLaunchKernel,--wrap=cudaDeviceSynchronize"
                ",--wrap=cudaMalloc,--wrap=cudaMemcpy,--wrap=cudaMemcpyAsync -o program");
  include_prototypes(a, &c, header, sizeof header);
  command_word(&c, "%s.cu", a->exercise->id);
  command_word(&c, "%s", driver);
  command_words(&c, CONFIG_ROOT "/tests/grader/buffers_cuda.cu " CONFIG_OBJECTS "/tests/grader/child.o " CONFIG_OBJECTS
                                "/tests/grader/wire.o");
  return answer_run_tool(a, &c, (const char *[2]){header, driver}, NVCC_SECONDS, NULL);
}

// ---- the source ----------------------------------------------------------------------------------------------------------

// What an answer may include by its name: it stands beside the exercises, and beside the learner's file.
static bool copy_header(const Answer *a) {
  char to[512];
  size_t bytes;
  char *text = is_kernel(a) ? file_read(rooted(CONFIG_ROOT "/exercises/" COUNTED_HEADER), &bytes) : NULL;
  snprintf(to, sizeof to, "%s/" COUNTED_HEADER, a->folder);
  int out = text ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
  bool written = !text || (out >= 0 && write(out, text, bytes) == (ssize_t)bytes);
  if (out >= 0)
    close(out);
  free(text);
  return written;
}

// A regular file of a decent size; a link might lead to a file of the grader's.
static bool copy_source(Answer *a, const char *source) {
  char to[512];
  static char text[SOURCE_LIMIT + 1];
  struct stat about;
  int in = open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (in < 0 && errno == ENOENT)
    return answer_refuse(a, STATUS_MISSING, "there is no such file\n");
  if (in < 0 || fstat(in, &about) != 0 || !S_ISREG(about.st_mode)) {
    if (in >= 0)
      close(in);
    return answer_refuse(a, STATUS_COMPILE_ERROR, "it is not a regular file (links are not followed)\n");
  }
  size_t used = 0;
  for (ssize_t n; used < sizeof text && (n = read(in, text + used, sizeof text - used)) > 0;)
    used += (size_t)n;
  close(in);
  if (used > SOURCE_LIMIT)
    return answer_refuse(a, STATUS_COMPILE_ERROR, "it is longer than 256 KiB\n");
  a->text = strndup(text, used);
  if (a->exercise->open && a->text &&
      ((a->diagnostics = forbidden_in_source(a->text)) || (a->diagnostics = forbidden_in_registers(a->text)))) {
    a->status = STATUS_COMPILE_ERROR;
    return false;
  }
  snprintf(to, sizeof to, "%s/%s.%s", a->folder, a->exercise->id, exercise_extension(a->exercise));
  int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), error = errno;
  char *whole = realpath(to, NULL);
  snprintf(a->source, sizeof a->source, "%s", whole ? whole : to);
  snprintf(a->title, sizeof a->title, "%s.%s", a->exercise->id, exercise_extension(a->exercise));
  free(whole);
  ssize_t done = out >= 0 ? write(out, text, used) : -1;
  bool written = done == (ssize_t)used;
  error = out < 0 ? error : done < 0 ? errno : ENOSPC;
  if (out >= 0)
    close(out);
  if (written && copy_header(a))
    return true;
  char why[256];
  snprintf(why, sizeof why, "the answer could not be copied: %s\n", strerror(error));
  return answer_refuse(a, STATUS_GRADER_ERROR, why);
}

bool answer_build_is_whole(Answer *a) {
  char driver[512], why[1024];
  driver_object(a, driver, sizeof driver);
  if (build_is_whole(driver, why, sizeof why))
    return true;
  free(a->diagnostics);
  return answer_refuse(a, STATUS_GRADER_ERROR, why);
}

static bool ready; // and so are the processes that come from this one

bool answers_begin(const char *level, char *why, size_t bytes) {
  static const char *asked;
  asked = level ? level : asked;
  if (ready)
    return true;
  sandbox_hide(root_folder());
  ready = sandbox_choose(asked, gpu_wanted(), why, bytes) && tools_root_prepare(gpu_wanted(), why, bytes);
  return ready;
}

// ---- the same answer, as the inspector wants it ---------------------------------------------------------------------------

static bool wants_inspection(const Exercise *e) {
  for (int i = 0; i < MAX_TESTS && e->tests[i].name; i++)
    if (test_is_inspected(&e->tests[i]))
      return true;
  return false;
}

static void build_for_inspector(Answer *a) {
  if (access(rooted(INSPECT_LIBRARY), R_OK) != 0)
    answer_refuse(a, STATUS_GRADER_ERROR, "the inspector has not been built: run make\n");
  else if (compile_for_simulator(a) && keep_own_symbols(a) && link_program(a))
    take_program(a);
}

static void say_built(const Answer *a, int to) {
  uint32_t head[4] = {(uint32_t)a->status, a->protections, a->diagnostics ? (uint32_t)strlen(a->diagnostics) : 0,
                      a->starved};
  if (write(to, head, sizeof head) == (ssize_t)sizeof head && head[2])
    head[0] = (uint32_t)write(to, a->diagnostics, head[2]);
}

static bool read_all(int from, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = read(from, (char *)to + done, bytes - done);
    if (n <= 0)
      return false;
    done += (size_t)n;
  }
  return true;
}

bool answer_make_folder(Answer *a, const char *source) {
  if (!sandbox_folder(a->folder, sizeof a->folder)) {
    a->folder[0] = '\0';
    return answer_refuse(a, STATUS_GRADER_ERROR, "a temporary folder could not be created\n");
  }
  snprintf(a->program, sizeof a->program, "%s/program", a->folder);
  return copy_source(a, source);
}

void answer_build_inspected(Answer *a, const Exercise *exercise, const char *source, bool partly) {
  *a = (Answer){.exercise = exercise, .for_inspector = true, .partly = partly};
  if (answer_make_folder(a, source) && answer_build_is_whole(a))
    build_for_inspector(a);
}

void answer_build_stepped(Answer *a, const Exercise *exercise, const char *source) {
  *a = (Answer){.exercise = exercise, .for_inspector = true, .for_stepper = true, .partly = true};
  if (answer_make_folder(a, source) && answer_build_is_whole(a))
    build_for_inspector(a);
}

// Beside this process, if the sandbox lets it.
static void begin_for_inspector(Answer *a, const char *source) {
  Answer *b = a->inspected = calloc(1, sizeof *b);
  if (!b)
    fatal_error("no memory for an answer");
  *b = (Answer){.exercise = a->exercise, .for_inspector = true};
  if (!answer_make_folder(b, source))
    return;
  const pid_t grader = getpid(), builder = sandbox_side_by_side() ? worker_begin(&b->builder_says) : -1;
  if (builder < 0) {
    build_for_inspector(b);
    return;
  }
  if (builder == 0) {
    sandbox_help(grader);
    build_for_inspector(b);
    say_built(b, b->builder_says);
    _exit(0);
  }
  b->builder = builder;
}

static void begin_inspected(Answer *a) {
  const char *source = a->inspect_later;
  a->inspect_later = NULL;
  if (source)
    begin_for_inspector(a, source);
}

Answer *answer_inspected(Answer *a) {
  uint32_t head[4];
  begin_inspected(a);
  Answer *b = a->inspected;
  if (!b || !b->builder)
    return b;
  if (!read_all(b->builder_says, head, sizeof head)) {
    answer_refuse(b, STATUS_GRADER_ERROR, "the process that compiles an answer for the inspector has crashed\n");
  } else {
    b->status = (Status)head[0];
    b->protections = head[1];
    b->starved = head[3] != 0;
    b->diagnostics = head[2] ? calloc(1, (size_t)head[2] + 1) : NULL;
    if (b->diagnostics && !read_all(b->builder_says, b->diagnostics, head[2]))
      b->diagnostics[0] = '\0';
  }
  close(b->builder_says);
  while (waitpid(b->builder, NULL, 0) < 0 && errno == EINTR) {
  }
  b->builder = 0;
  return b;
}

// ---- the whole ---------------------------------------------------------------------------------------------------------

void answer_build(Answer *a, const Exercise *exercise, const char *source, bool late) {
  char why[768], line[800];
  *a = (Answer){.exercise = exercise, .real_gpu = gpu_wanted()};
  if (!answers_begin(NULL, why, sizeof why)) {
    snprintf(line, sizeof line, "no sandbox is available: %s\n", why);
    answer_refuse(a, STATUS_GRADER_ERROR, line);
    return;
  }
  if (!answer_make_folder(a, source))
    return;
  if (a->real_gpu && gpu_count() == 0) {
    answer_refuse(a, STATUS_GRADER_ERROR,
                  "FERRY_CUDA=real is set, but this machine has no GPU; set FERRY_CUDA=sim to use the simulator\n");
    return;
  }
  if (a->real_gpu && is_kernel(a)) {
    if (build_with_nvcc(a))
      take_program(a);
    return;
  }
  if (!answer_build_is_whole(a))
    return;
  if (is_kernel(a) && wants_inspection(exercise))
    a->inspect_later = source;
  if (!late)
    begin_inspected(a);
  if (is_kernel(a) ? !compile_for_simulator(a) : !compile_c(a))
    return;
  if (keep_own_symbols(a) && link_program(a))
    take_program(a);
}

bool answer_build_with_lines(Answer *with_lines, const Answer *a) {
  *with_lines = (Answer){.exercise = a->exercise, .with_lines = true};
  if (!sandbox_folder(with_lines->folder, sizeof with_lines->folder)) {
    with_lines->folder[0] = '\0';
    return answer_refuse(with_lines, STATUS_GRADER_ERROR, "a temporary folder could not be created\n");
  }
  snprintf(with_lines->program, sizeof with_lines->program, "%s/program", with_lines->folder);
  return copy_source(with_lines, a->source) &&
         (is_kernel(a) ? compile_for_simulator(with_lines) : compile_c(with_lines)) && keep_own_symbols(with_lines) &&
         link_program(with_lines) && take_program(with_lines);
}

void answer_free(Answer *a) {
  a->inspect_later = NULL;
  if (answer_inspected(a))
    answer_free(a->inspected);
  free(a->inspected);
  a->inspected = NULL;
  if (a->folder[0])
    sandbox_folder_remove(a->folder);
  free(a->text);
  free(a->diagnostics);
  free(a->warning);
  a->text = a->diagnostics = a->warning = NULL;
}
