// SPDX-License-Identifier: MIT
// NVIDIA's compiler: of the CUDA toolkit that the Makefile found, or of NVIDIA's packages on PyPI, which `./ferry doctor --nvcc` installs.
#ifndef TOOL_COMPILE_TOOLKIT_H
#define TOOL_COMPILE_TOOLKIT_H

#include <stdbool.h>
#include <stddef.h>

// The path of "nvcc" or "nvdisasm". False: it is not installed.
bool toolkit_find(const char *program, char *path, size_t bytes);

// Where the packages from PyPI are, or will be: $XDG_DATA_HOME/ferry/nvcc or ~/.local/share/ferry/nvcc. False: there is no home folder.
bool toolkit_packages(char *folder, size_t bytes);

#endif
