// SPDX-License-Identifier: MIT
// `ferry nvcc` and `ferry cuda`: nvcc's command line, and CUDA programs built for the simulated device with g++ alone.
#ifndef TOOL_NVCC_H
#define TOOL_NVCC_H

#include "tool/compile/process.h"
#include <stdbool.h>
#include <stddef.h>

// nvcc's macros, of the device that is simulated; CUDA's header before the source.
#define NVCC_MACROS                                                                                                    \
  "-DCUDASIM_PROGRAM -D__CUDACC__ -D__NVCC__ -D__CUDA_ARCH__=900 -D__CUDA_ARCH_LIST__=900 "                            \
  "-D__CUDACC_VER_MAJOR__=13 -D__CUDACC_VER_MINOR__=0 -D__CUDACC_VER_BUILD__=0 -D__CUDACC_RDC__ "                      \
  "-D__CUDACC_EXTENDED_LAMBDA__ -D__CUDACC_RELAXED_CONSTEXPR__ -include cuda_runtime.h"

// The processor that programs are compiled for. On ARM, compilers know "native" only for some processors.
#ifdef __aarch64__
#define NATIVE_FLAGS "-march=armv8-a"
#else
#define NATIVE_FLAGS "-march=native"
#endif

typedef enum NvccAction { NVCC_LINK, NVCC_COMPILE, NVCC_PREPROCESS, NVCC_DEPENDENCIES, NVCC_ARCHIVE } NvccAction;

typedef struct NvccOptions {
  NvccAction action;
  const char *output;                   // NULL: nvcc's default
  const char *language;                 // of -x; NULL: by the file's name
  const char *standard;                 // c++17
  const char *optimize;                 // -O2
  Words preprocessor, compiler, linker; // words for g++
  Words inputs;                         // sources, objects, libraries, in order
  Words ignored;                        // what has no meaning here
  bool shared, dry_run, verbose, relaxed_constexpr;
} NvccOptions;

// From nvcc's words to those of g++. An exit status, EXIT_PASS when all is well.
int nvcc_parse(NvccOptions *o, int argc, char **argv);

// Does what they say. An exit status: 0, 1 when a tool has failed.
int nvcc_build(const NvccOptions *o);

// Runs it, for `ferry COMMAND`. Its own status; 128 and the signal's number when one has ended it, as a shell has it.
int run_program(const char *command, const char *program, char **arguments);

// Whether the preprocessed text of a program, system headers left out, has casts that let a pointer look at memory as what it was not
// written as: such a text is compiled with -fno-strict-aliasing. (Casts over several lines, and those by void *, are not seen.)
bool nvcc_looks_through_casts(const char *text);
bool nvcc_file_looks_through_casts(const char *path);

// Where NVIDIA's headers of thrust are, in a CUDA toolkit. False, and "": there are none.
bool nvcc_find_cccl(char *path, size_t bytes);

// g++'s messages without those that are about what the simulator has made of a launch. Reads `path`, writes on stderr.
void nvcc_show_messages(const char *path);
// Where cu2cpp has written the file so that a call of a kernel without <<<>>> is an error, by way of a warning: takes -w, which turns
// warnings off, out of the command that compiles it.
void nvcc_keep_errors(const char *path, const char **argv);

#endif
