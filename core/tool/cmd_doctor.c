// SPDX-License-Identifier: MIT
// `ferry doctor`: what is here, what is missing, and the command that installs it.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include "tool/compile/gpu.h"
#include "tool/compile/toolkit.h"
#include "tool/packages.h"
#include "grader/sandbox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int missing;

static void line(bool there, bool needed, const char *name, const char *what) {
  const char *mark = there ? "ok     " : needed ? "MISSING" : "absent ";
  printf("  %s%s%s %-14s %s\n", style(there ? GREEN : needed ? RED : YELLOW), mark, style(PLAIN), name, what);
  missing += !there && needed;
}

// The first line that a command prints, "" when there is none.
static const char *first_line(const char *command) {
  static char text[256];
  FILE *output = popen(command, "r");
  text[0] = '\0';
  if (output && !fgets(text, sizeof text, output))
    text[0] = '\0';
  if (output)
    pclose(output);
  text[strcspn(text, "\n")] = '\0';
  return text;
}

// A program that is needed (or only wished for), the question for its version, and the Debian package.
static void tool(const char *name, const char *question, bool needed, const char *package, const char *without) {
  char instead[256];
  const char *version = first_line(question);
  snprintf(instead, sizeof instead, "install it: %s%s%s", package_install(package), *without ? "; without it, " : "",
           without);
  line(*version, needed, name, *version ? version : instead);
}

static void library(const char *name, const char *header, const char *option, bool needed, const char *package,
                    const char *without) {
  char command[1024], what[256];
  snprintf(
      command, sizeof command,
      "printf '#include <%s>\\nint main(void) { return 0; }\\n' | %s %s -x c - -o /dev/null -L%s/build/bundle/lib %s "
      "2>/dev/null && echo found",
      header, CONFIG_CC, rooted(CONFIG_INCLUDES), root_folder(), option);
  bool there = *first_line(command);
  snprintf(what, sizeof what, "install it: %s%s%s", package_install(package), *without ? "; without it, " : "",
           without);
  line(there, needed, name, there ? "found" : what);
}

static void tools(void) {
  printf("%sTo build and to check answers%s\n", style(BOLD), style(PLAIN));
  tool(CONFIG_CC, CONFIG_CC " --version 2>/dev/null", true, CONFIG_CC, "");
  tool(CONFIG_CXX, CONFIG_CXX " --version 2>/dev/null", true, "g++", "");
  tool("binutils", "readelf --version 2>/dev/null && objcopy --version >/dev/null 2>&1", true, "binutils", "");
  if (CONFIG_INSTALLED) // with its libraries
    return;
  tool("make", "make --version 2>/dev/null", true, "make", "");
  library("oneDNN", "dnnl.h", "-ldnnl", true, "libdnnl-dev", "");
  library("protobuf-c", "protobuf-c/protobuf-c.h", "-lprotobuf-c", true, "libprotobuf-c-dev", "");
  library("zlib", "zlib.h", "-lz", true, "zlib1g-dev", "");
  library("libmicrohttpd", "microhttpd.h", "-lmicrohttpd", false, "libmicrohttpd-dev",
          "./ferry book --live is left out (run make after installing it)");
  tool("gnuplot", "gnuplot --version 2>/dev/null", false, "gnuplot-nox", "no plots are drawn");
}

static void gpu(void) {
  printf("\n%sGPU%s\n", style(BOLD), style(PLAIN));
  char path[2300], command[2400], what[400] = "", disassembler[2300];
  if (toolkit_find("nvcc", path, sizeof path)) {
    snprintf(command, sizeof command, "'%s' --version 2>/dev/null | tail -n 2", path);
    snprintf(what, sizeof what, "%s%s", first_line(command), *CONFIG_NVCC ? "" : " (from PyPI, for ./ferry inspect)");
  }
  line(*what, false, "nvcc",
       *what ? what : "no CUDA toolkit: registers stay unknown. ./ferry doctor --nvcc installs NVIDIA's compiler");
  const bool sass = toolkit_find("nvdisasm", disassembler, sizeof disassembler);
  line(sass, false, "nvdisasm", sass ? disassembler : "./ferry doctor --nvcc installs it, for ./ferry inspect --sass");
  const char *card = first_line("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null");
  line(*card, false, "GPU, driver",
       *card ? card : "none; exercises run on simulated devices, and their results say so");
  bool plugin = access(rooted(CONFIG_ROOT "/build/libferry-cuda.so"), R_OK) == 0;
  line(plugin, false, "CUDA backend", plugin ? "built" : "not built; with nvcc installed, make plugin builds it");
  printf("  exercises run on %s%s%s\n", style(BOLD), gpu_wanted() ? "the GPU" : "the simulator", style(PLAIN));
}

static void protections(const char *level) {
  char folder[256], on[768], off[512], why[768];
  printf("\n%sProtections while an answer runs%s\n", style(BOLD), style(PLAIN));
  if (!answers_begin(level, why, sizeof why)) {
    line(false, true, "sandbox", why);
    return;
  }
  if (!sandbox_folder(folder, sizeof folder)) {
    line(false, true, "temporary", "a folder cannot be created in $TMPDIR or /tmp");
    return;
  }
  const char *argv[] = {"/bin/sh", "-c", ":", NULL}, *environment[] = {NULL};
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .scratch = true,
                    .seconds = 5,
                    .memory = 256u << 20,
                    .file_bytes = 1 << 20,
                    .output_bytes = 4096};
  SandboxResult r = sandbox_run(&job);
  sandbox_describe(r.protections, on, sizeof on, off, sizeof off);
  bool works = r.end == SANDBOX_EXITED && r.status == 0;
  line(works, true, "sandbox", works ? on : r.output);
  if (works && *off)
    line(false, false, "sandbox", off);
  if (*sandbox_refused())
    printf("  refused here: %s\n", sandbox_refused());
  if (works && !(r.protections & (PROTECT_PID_NAMESPACE | PROTECT_BUBBLEWRAP)))
    printf("  For more protection: allow user namespaces, or %s\n", package_install("bubblewrap"));
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
}

int cmd_doctor(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--nvcc") == 0)
    return install_nvcc();
  const char *level = argc == 3 && strcmp(argv[1], "--sandbox") == 0 ? argv[2] : NULL;
  if (argc > 1 && !level)
    return usage_error(argv[0], "it takes --nvcc, --sandbox LEVEL, or nothing");
  if (level && !sandbox_level_named(level))
    return begin_sandbox(argv[0], level);
  tools();
  gpu();
  protections(level);
  printf("\n%s\n",
         missing ? "Something that you need is missing; see above." : "Everything that you need is installed.");
  return missing ? EXIT_ANSWER : EXIT_PASS;
}
