// SPDX-License-Identifier: MIT
// nvcc's command line.
#include "tool/compile/nvcc.h"
#include "tool/print/usage.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum Kind {
  PREPROCESSOR,  // for g++, as it stands
  PREPROCESSOR2, // the same, its value a word of its own
  FLAG_COMPILER, // no value; `to` for g++'s compiler
  COMPILER_LIST, // values with commas for the host compiler
  LINKER_LIST,
  LINKER,
  IGNORED, // no value
  RELAXED_CONSTEXPR,
  IGNORED_VALUE,
  ACTION,
  ACTION_DEPENDENCIES,
  OUTPUT,
  LANGUAGE,
  STANDARD,
  OPTIMIZE,
  SHARED,
  DRY_RUN,
  VERBOSE,
  REFUSED,
} Kind;

// Options whose value may be joined (-Ifolder), stand after = or be the next word.
static const struct Option {
  const char *name, *other;
  Kind kind;
  const char *to; // what g++ calls it; for ACTION a NvccAction's number
  bool joined;    // the value follows the name without anything in between
} options[] = {
    {"-I", "--include-path", PREPROCESSOR, "-I", true},
    {"-D", "--define-macro", PREPROCESSOR, "-D", true},
    {"-U", "--undefine-macro", PREPROCESSOR, "-U", true},
    {"-isystem", "--system-include", PREPROCESSOR2, "-isystem", false},
    {"-include", "--pre-include", PREPROCESSOR2, "-include", false},
    {"-L", "--library-path", LINKER, "-L", true},
    {"-l", "--library", LINKER, "-l", true},
    {"-o", "--output-file", OUTPUT, NULL, false},
    {"-x", "--x", LANGUAGE, NULL, false},
    {"-std", "--std", STANDARD, NULL, false},
    {"-O", "--optimize", OPTIMIZE, NULL, true},
    {"-c", "--compile", ACTION, "1", false},
    {"-dc", "--device-c", ACTION, "1", false},
    {"-dw", "--device-w", ACTION, "1", false},
    {"-E", "--preprocess", ACTION, "2", false},
    {"-M", "--generate-dependencies", ACTION_DEPENDENCIES, "-M", false},
    {"-MM", "--generate-nonsystem-dependencies", ACTION_DEPENDENCIES, "-MM", false},
    {"-lib", "--lib", ACTION, "4", false},
    {"-link", "--link", ACTION, "0", false},
    {"-MD", "--generate-dependencies-with-compile", FLAG_COMPILER, "-MD", false},
    {"-MMD", "--generate-nonsystem-dependencies-with-compile", FLAG_COMPILER, "-MMD", false},
    {"-MP", "--generate-dependency-targets", FLAG_COMPILER, "-MP", false},
    {"-MF", "--dependency-output", PREPROCESSOR2, "-MF", false},
    {"-MT", "--dependency-target-name", PREPROCESSOR2, "-MT", false},
    {"-g", "--debug", FLAG_COMPILER, "-g", false},
    {"-G", "--device-debug", FLAG_COMPILER, "-g", false},
    {"-pg", "--profile", FLAG_COMPILER, "-pg", false},
    {"-w", "--disable-warnings", FLAG_COMPILER, "-w", false},
    {"-Xcompiler", "--compiler-options", COMPILER_LIST, NULL, false},
    {"-Xlinker", "--linker-options", LINKER_LIST, NULL, false},
    {"-shared", "--shared", SHARED, NULL, false},
    {"-dryrun", "--dryrun", DRY_RUN, NULL, false},
    {"-v", "--verbose", VERBOSE, NULL, false},
    {"-arch", "--gpu-architecture", IGNORED_VALUE, NULL, false},
    {"-code", "--gpu-code", IGNORED_VALUE, NULL, false},
    {"-gencode", "--generate-code", IGNORED_VALUE, NULL, false},
    {"-rdc", "--relocatable-device-code", IGNORED_VALUE, NULL, false},
    {"-Xptxas", "--ptxas-options", IGNORED_VALUE, NULL, false},
    {"-Xnvlink", "--nvlink-options", IGNORED_VALUE, NULL, false},
    {"-Xcudafe", "--Xcudafe", IGNORED_VALUE, NULL, false},
    {"-ccbin", "--compiler-bindir", IGNORED_VALUE, NULL, false},
    {"-cudart", "--cudart", IGNORED_VALUE, NULL, false},
    {"-cudadevrt", "--cudadevrt", IGNORED_VALUE, NULL, false},
    {"-maxrregcount", "--maxrregcount", IGNORED_VALUE, NULL, false},
    {"-default-stream", "--default-stream", IGNORED_VALUE, NULL, false},
    {"-t", "--threads", IGNORED_VALUE, NULL, false},
    {"-m", "--machine", IGNORED_VALUE, NULL, false},
    {"-ftz", "--ftz", IGNORED_VALUE, NULL, false},
    {"-fmad", "--fmad", IGNORED_VALUE, NULL, false},
    {"-prec-div", "--prec-div", IGNORED_VALUE, NULL, false},
    {"-prec-sqrt", "--prec-sqrt", IGNORED_VALUE, NULL, false},
    {"-Werror", "--Werror", IGNORED_VALUE, NULL, false},
    {"-diag-suppress", "--diag-suppress", IGNORED_VALUE, NULL, false},
    {"-diag-error", "--diag-error", IGNORED_VALUE, NULL, false},
    {"-split-compile", "--split-compile", IGNORED_VALUE, NULL, false},
    {"-keep-dir", "--keep-dir", IGNORED_VALUE, NULL, false},
    {"-odir", "--output-directory", IGNORED_VALUE, NULL, false},
    {"-m64", NULL, IGNORED, NULL, false},
    {"-lineinfo", "--generate-line-info", IGNORED, NULL, false},
    {"-use_fast_math", "--use_fast_math", IGNORED, NULL, false},
    {"-extended-lambda", "--extended-lambda", IGNORED, NULL, false},
    {"-expt-extended-lambda", "--expt-extended-lambda", IGNORED, NULL, false},
    {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr", RELAXED_CONSTEXPR, NULL, false},
    {"-res-usage", "--resource-usage", IGNORED, NULL, false},
    {"-restrict", "--restrict", IGNORED, NULL, false},
    {"-keep", "--keep", IGNORED, NULL, false},
    {"-save-temps", "--save-temps", IGNORED, NULL, false},
    {"-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", IGNORED, NULL, false},
    {"-Wno-deprecated-declarations", NULL, IGNORED, NULL, false},
    {"-dlto", "--dlink-time-opt", IGNORED, NULL, false},
    {"-allow-unsupported-compiler", "--allow-unsupported-compiler", IGNORED, NULL, false},
    {"-source-in-ptx", "--source-in-ptx", IGNORED, NULL, false},
    {"-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", IGNORED, NULL, false},
    {"-dlink", "--device-link", REFUSED, "there is no device code to link: link the objects that -c or -dc created",
     false},
    {"-ptx", "--ptx", REFUSED, "no PTX is generated: kernels run on the CPU", false},
    {"-cubin", "--cubin", REFUSED, "no GPU code is generated: kernels run on the CPU", false},
    {"-fatbin", "--fatbin", REFUSED, "no GPU code is generated: kernels run on the CPU", false},
    {NULL, NULL, IGNORED, NULL, false},
};

// What the simulator brings along, and what nobody simulates. A library that is in neither list is the program's own.
static const char *const brought[] = {"cudart",   "cudart_static", "cudadevrt", "cuda",     "cublas",
                                      "cublasLt", "cublas_static", "nccl",      "culibos",  "nvToolsExt",
                                      "curand",   "cufft",         "cusparse",  "cusolver", NULL};
static const char *const missing[] = {"cufftw", "cudnn", "nvrtc",   "nvjpeg", "nvidia-ml",
                                      "cupti",  "npp",   "nvgraph", NULL};

static bool among(const char *const *names, const char *name, bool whole) {
  for (; *names; names++)
    if (whole ? strcmp(*names, name) == 0 : strncmp(*names, name, strlen(*names)) == 0)
      return true;
  return false;
}

static void add_library(NvccOptions *o, const char *name) {
  if (among(brought, name, true))
    return;
  if (among(missing, name, false))
    words_addf(&o->ignored, "-l%s (not simulated)", name);
  else
    words_addf(&o->inputs, "-l%s", name);
}

static void add_list(Words *w, const char *before, const char *list) {
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length)
      words_addf(w, "%s%.*s", before, (int)length, list);
    list += length + (list[length] == ',');
  }
}

// The simulator's headers are C++17.
static const char *at_least_17(const char *standard) {
  static const char *const old[] = {"c++98", "c++03", "c++11", "c++14", "c++1y", "c++0x", "c++1z", NULL};
  if (strncmp(standard, "gnu++", 5) == 0)
    return strcmp(standard, "gnu++20") == 0 || strcmp(standard, "gnu++23") == 0 ? standard : "gnu++17";
  return among(old, standard, true) ? "c++17" : standard;
}

static int refuse(const struct Option *option, const char *word) {
  fprintf(stderr, "ferry nvcc: %s: %s\n", word, option->to);
  return EXIT_USAGE;
}

// A toolkit's headers do not fit the simulator's, which are there anyway.
static bool is_toolkit(const char *folder) {
  char header[PATH_MAX + 32];
  snprintf(header, sizeof header, "%s/crt/host_config.h", folder);
  return access(header, R_OK) == 0;
}

static int apply_option(NvccOptions *o, const struct Option *option, const char *word, const char *value) {
  switch (option->kind) {
  case PREPROCESSOR:
    if (strcmp(option->to, "-I") == 0 && is_toolkit(value))
      words_addf(&o->ignored, "-I%s (a toolkit's headers)", value);
    else
      words_addf(&o->preprocessor, "%s%s", option->to, value);
    break;
  case PREPROCESSOR2:
    if (strcmp(option->to, "-isystem") == 0 && is_toolkit(value)) {
      words_addf(&o->ignored, "-isystem %s (a toolkit's headers)", value);
      break;
    }
    words_add(&o->preprocessor, option->to);
    words_add(&o->preprocessor, value);
    break;
  case FLAG_COMPILER:
    words_add(strncmp(option->to, "-M", 2) == 0 ? &o->preprocessor : &o->compiler, option->to);
    break;
  case COMPILER_LIST:
    add_list(&o->compiler, "", value);
    break;
  case LINKER_LIST:
    add_list(&o->linker, "-Wl,", value);
    break;
  case LINKER:
    if (option->to[1] == 'l')
      add_library(o, value);
    else
      words_addf(&o->linker, "-L%s", value);
    break;
  case RELAXED_CONSTEXPR:
    o->relaxed_constexpr = true;
    break;
  case IGNORED:
    words_add(&o->ignored, word);
    break;
  case IGNORED_VALUE:
    words_addf(&o->ignored, "%s%s%s", option->name, "=", value);
    break;
  case ACTION_DEPENDENCIES:
    o->action = NVCC_DEPENDENCIES;
    words_add(&o->preprocessor, option->to);
    break;
  case ACTION:
    o->action = (NvccAction)(option->to[0] - '0');
    break;
  case OUTPUT:
    o->output = value;
    break;
  case LANGUAGE:
    o->language = value;
    break;
  case STANDARD:
    o->standard = at_least_17(value);
    break;
  case OPTIMIZE:
    o->optimize = strcmp(value, "0") == 0 ? "-O0" : strcmp(value, "1") == 0 ? "-O1" : "-O2";
    break;
  case SHARED:
    o->shared = true;
    words_add(&o->linker, "-shared");
    break;
  case DRY_RUN:
    o->dry_run = true;
    break;
  case VERBOSE:
    o->verbose = true;
    break;
  case REFUSED:
    return refuse(option, word);
  }
  return EXIT_PASS;
}

static bool has_value(Kind kind) {
  return kind <= PREPROCESSOR2 || kind == COMPILER_LIST || kind == LINKER_LIST || kind == LINKER ||
         kind == IGNORED_VALUE || (kind >= OUTPUT && kind <= OPTIMIZE);
}

// The option that `word` is, and where its value begins in it (NULL: in the next word).
static const struct Option *option_of(const char *word, const char **value) {
  const struct Option *found = NULL;
  *value = NULL;
  for (const struct Option *option = options; option->name; option++)
    for (int turn = 0; turn < 2; turn++) {
      const char *name = turn ? option->other : option->name;
      size_t length = name ? strlen(name) : 0;
      if (!name || strncmp(word, name, length) != 0)
        continue;
      bool whole = word[length] == '\0', equals = word[length] == '=' && has_value(option->kind);
      if (whole || equals) {
        *value = equals ? word + length + 1 : NULL;
        return option;
      }
      if (!turn && option->joined && !found) {
        found = option;
        *value = word + length;
      }
    }
  return found;
}

static void print_version(void) {
  printf("nvcc: NVIDIA (R) Cuda compiler driver's command line, for the simulated CUDA device of Ferry\n"
         "Cuda compilation tools, release 13.0, V13.0.0 (simulated: kernels run on this machine's processor)\n");
}

int nvcc_parse(NvccOptions *o, int argc, char **argv) {
  if (!o->standard)
    *o = (NvccOptions){.standard = "c++17", .optimize = "-O2"};
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i], *value;
    if (word[0] != '-') {
      words_add(&o->inputs, word);
      continue;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
      print_version();
      exit(EXIT_PASS);
    }
    const struct Option *option = option_of(word, &value);
    if (!option) { // g++ may know it, as under nvcc's own --forward-unknown-to-host-compiler
      words_add(strncmp(word, "-Wl,", 4) == 0 ? &o->linker : &o->compiler, word);
      continue;
    }
    if (has_value(option->kind) && !value) {
      if (i + 1 == argc)
        return usage_error("nvcc", "%s needs a value", word);
      value = argv[++i];
    }
    int status = apply_option(o, option, word, value);
    if (status != EXIT_PASS)
      return status;
  }
  return o->inputs.count ? EXIT_PASS : usage_error("nvcc", "which files? ./ferry nvcc -o PROGRAM FILE.cu");
}
