// SPDX-License-Identifier: MIT
// Whether answers run on a real GPU.
#ifndef TOOL_GPU_H
#define TOOL_GPU_H

#include <stdbool.h>

// By FERRY_CUDA as in the library: real, sim, off; unset: a GPU when there is one and the backend for it is built.
bool gpu_wanted(void);
int gpu_count(void); // GPUs of this machine

#endif
