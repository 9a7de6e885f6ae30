// SPDX-License-Identifier: MIT
// `ferry doctor --nvcc`: NVIDIA's compiler from PyPI, for registers and SASS in ./ferry inspect. It needs no GPU and no CUDA toolkit.
#include "tool/commands.h"
#include "tool/compile/process.h"
#include "tool/compile/toolkit.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// nvcc runs cicc (nvvm) and ptxas, and includes the headers of the other packages.
#define PACKAGES                                                                                                       \
  "nvidia-cuda-nvcc>=13.2,<14 nvidia-nvvm>=13.2,<14 nvidia-cuda-crt>=13.2,<14 nvidia-cuda-runtime>=13.2,<14 "          \
  "nvidia-cuda-cccl>=13.2,<14 nvidia-cuda-nvdisasm>=13.2,<14"

static bool make_folders(const char *path) {
  char copy[2100];
  snprintf(copy, sizeof copy, "%s", path);
  for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = '\0';
    if (mkdir(copy, 0777) != 0 && errno != EEXIST)
      return false;
    *slash = '/';
  }
  return true;
}

static int run(const char *first, const char *words, const char *last) {
  Words w = {0};
  words_add(&w, first);
  words_split(&w, words);
  if (last)
    words_add(&w, last);
  return run_tool(w.items, "/", NULL, NULL, NULL);
}

static bool install(const char *fresh) {
  char pip[2200];
  snprintf(pip, sizeof pip, "%s/bin/pip", fresh);
  if (run("python3", "-m venv --clear", fresh) != 0) {
    fprintf(stderr,
            "ferry doctor: a Python environment could not be created in %s; on Debian and Ubuntu: sudo apt-get "
            "install python3-venv\n",
            fresh);
    return false;
  }
  if (run(pip, "install --quiet --disable-pip-version-check --only-binary :all: " PACKAGES, NULL) != 0) {
    fprintf(stderr,
            "ferry doctor: the packages could not be installed (see the message of pip). They exist for Linux on "
            "x86-64 and aarch64, and the download needs access to PyPI.\n");
    return false;
  }
  return true;
}

int install_nvcc(void) {
  char nvcc[2300], nvdisasm[2300], folder[2048], fresh[2100];
  if (toolkit_find("nvcc", nvcc, sizeof nvcc) && toolkit_find("nvdisasm", nvdisasm, sizeof nvdisasm)) {
    printf("Already installed: %s and %s\n", nvcc, nvdisasm);
    return EXIT_PASS;
  }
  if (!toolkit_packages(folder, sizeof folder)) {
    fprintf(stderr, "ferry doctor: no folder to install to: set HOME or XDG_DATA_HOME\n");
    return EXIT_GRADER;
  }
  printf("Installing NVIDIA's compiler (nvcc, ptxas, nvdisasm; 350 MB) from PyPI to\n%s\n"
         "NVIDIA's license applies: https://docs.nvidia.com/cuda/eula/\n",
         folder);
  fflush(stdout);
  snprintf(fresh, sizeof fresh, "%s.new", folder);
  if (!make_folders(folder)) {
    fprintf(stderr, "ferry doctor: %s cannot be created: %s\n", folder, strerror(errno));
    return EXIT_GRADER;
  }
  const bool installed = install(fresh);
  if (installed)
    run("rm", "-rf", folder);
  if (!installed || rename(fresh, folder) != 0 || !toolkit_find("nvcc", nvcc, sizeof nvcc)) {
    if (installed)
      fprintf(stderr, "ferry doctor: nvcc is not among what was installed to %s\n", folder);
    run("rm", "-rf", fresh);
    return EXIT_GRADER;
  }
  printf("Done. ./ferry inspect FILE.cu now counts registers; --sass shows the machine code of each line.\n"
         "To remove it again: rm -r %s\n",
         folder);
  return EXIT_PASS;
}
