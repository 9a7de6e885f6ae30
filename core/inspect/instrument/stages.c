// SPDX-License-Identifier: MIT
// The stages of `./ferry inspect`, in order, from the command to the report (inspect_run_stages, at the end):
//
//   build      for each file (file_stages in build.c): translate kernel launches and compile to assembly, by the first of
//              `attempts` that works; rewrite the assembly; assemble; redirect memcpy. Then link with build/libinspect.a, which
//              is the rest of core/inspect.
//   nvcc       ask it for registers, where it is installed: a modeled GPU has fewer resident blocks where a thread has many registers.
//              With --sass, also for machine code. It works while the program runs.
//   run        twice at the same time, with threads in ascending and in descending order (run.c). Each run leaves a record
//              (runtime/record_writer.c), which is read (report/record_reader.c), its addresses resolved to source lines
//              (report/locations.c).
//   report     merge the findings of both runs, and show everything: terminal, JSON, HTML, SARIF (report/).
//
// This is how a user's own program is built and run. For an answer to an exercise tests/grader/inspect_answer.c does both, in the sandbox.
#include "inspect/instrument/instrument.h"
#include "model/gpu.h"
#include "tool/compile/files.h"
#include "tool/compile/process.h"
#include "tool/compile/toolkit.h"
#include "tool/print/usage.h"
#include <string.h>
#include <unistd.h>

static int build(InspectJob *j) {
  return j->subject->build(j) ? EXIT_PASS : EXIT_GRADER;
}

static int run_ascending(InspectJob *j) {
  return j->subject->run(j, false) ? EXIT_PASS : EXIT_GRADER;
}

static int run_descending(InspectJob *j) {
  return j->options.once || j->subject->run(j, true) ? EXIT_PASS : EXIT_GRADER;
}

static int merge_findings(InspectJob *j) {
  inspection_finish(&j->inspection);
  return EXIT_PASS;
}

static int no_sass(const InspectJob *j) {
  char path[2300];
  if (j->options.program)
    fprintf(stderr, "ferry inspect: --sass needs a file, not a program that is already built\n");
  else if (!toolkit_find("nvcc", path, sizeof path) || !toolkit_find("nvdisasm", path, sizeof path))
    fprintf(stderr,
            "ferry inspect: --sass needs nvcc and nvdisasm, which are not installed. ./ferry doctor --nvcc installs "
            "them (350 MB, no GPU needed).\n");
  else
    fprintf(stderr, "ferry inspect: nvcc could not compile %s, so there is no SASS of it\n", j->inspection.title);
  return EXIT_GRADER;
}

// For the modeled GPU, or for the oldest that nvcc 13 knows.
static bool ask_for(const InspectJob *j, int capability) {
  char flags[100];
  const InspectBuild *b = &j->build;
  snprintf(flags, sizeof flags, "-std=c++17 -O2 -w -arch=sm_%d -lineinfo -Xptxas -v -cubin", capability);
  return j->subject->ask_nvcc(j, flags, b->ptxas, b->sass[0] ? b->sass : NULL);
}

static bool ask_for_gpu(const InspectJob *j) {
  enum { OLDEST = 75, DEFAULT = 90 };
  const struct model_gpu *gpu = j->inspection.gpu ? model_gpu_named(j->inspection.gpu) : NULL;
  const int own = gpu ? 10 * gpu->architecture->major + gpu->architecture->minor : DEFAULT;
  return ask_for(j, own) || (own < OLDEST && ask_for(j, OLDEST));
}

static int hear_nvcc(InspectJob *j) {
  InspectBuild *b = &j->build;
  if (b->asking && wait_for_tool(b->asking) != EXIT_PASS)
    b->ptxas[0] = b->sass[0] = '\0';
  b->asking = 0;
  return j->options.sass && !b->sass[0] ? no_sass(j) : EXIT_PASS;
}

// While the program runs, unless its modeled times depend on the answer.
static int ask_nvcc(InspectJob *j) {
  InspectBuild *b = &j->build;
  if (j->options.program || (!j->options.sass && j->options.no_registers))
    return hear_nvcc(j);
  snprintf(b->ptxas, sizeof b->ptxas, "%s/ptxas", b->folder);
  if (j->options.sass)
    snprintf(b->sass, sizeof b->sass, "%s/sass", b->folder);
  fflush(NULL);
  b->asking = fork();
  if (b->asking == 0)
    _exit(ask_for_gpu(j) ? EXIT_PASS : EXIT_GRADER);
  return inspect_models_gpu(&j->options) ? hear_nvcc(j) : EXIT_PASS;
}

static int read_compiled(InspectJob *j) {
  const int status = hear_nvcc(j);
  if (status != EXIT_PASS)
    return status;
  if (j->build.ptxas[0])
    inspection_registers(&j->inspection, j->build.ptxas);
  if (j->build.sass[0])
    inspection_sass(&j->inspection, j->build.sass);
  return EXIT_PASS;
}

static bool was_launched(const Inspection *i, const char *kernel) {
  for (int k = 0; k < i->kernel_count; k++)
    if (strncmp(i->kernels[k].launch, kernel, strlen(kernel)) == 0)
      return true;
  return false;
}

static int report(InspectJob *j) {
  const InspectOptions *o = &j->options;
  const Inspection *i = &j->inspection;
  if (o->kernel && !was_launched(i, o->kernel)) {
    fprintf(stderr, "ferry inspect: no kernel %s was launched. Leave out --kernel to see all kernels.\n", o->kernel);
    return EXIT_USAGE;
  }
  if (i->launched && !o->table && !o->gcc)
    inspect_wrapped(0, "Checked only for these launches: %s%sarrays of zeros, of a permutation and of random numbers.",
                    i->launched, *i->launched ? ", each with " : "");
  const int proof = o->bare && !o->no_proof ? inspect_report_proof(j) : EXIT_PASS;
  if (o->gcc)
    inspect_print_gcc(i);
  else if (o->table)
    inspect_print_table(i, o->kernel);
  else
    inspect_print(i);
  if ((o->json && !inspect_write_json(i, o->json)) || (o->html && !inspect_write_html(i, o->html)) ||
      (o->sarif && !inspect_write_sarif(i, o->sarif))) {
    fprintf(stderr, "ferry inspect: the report cannot be written: %s\n", file_problem());
    return EXIT_GRADER;
  }
  return inspection_errors(i) ? EXIT_ANSWER : proof;
}

int inspect_run_stages(InspectJob *j) {
  static int (*const stages[])(InspectJob *) = {
      build,          // translate launches, compile to assembly, rewrite it, assemble, link: build.c
      ask_nvcc,       // for registers and SASS, where it is installed
      run_ascending,  // and count what the kernels do
      run_descending, // findings only: another order shows other races
      merge_findings, // of both runs
      read_compiled,  // what nvcc made of the kernels, into the report
      report,         // terminal, JSON, HTML, SARIF
  };
  int status = EXIT_PASS;
  for (size_t n = 0; n < sizeof stages / sizeof stages[0] && status == EXIT_PASS; n++)
    status = stages[n](j);
  if (j->build.asking)
    wait_for_tool(j->build.asking);
  return status;
}
