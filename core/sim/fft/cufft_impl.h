// SPDX-License-Identifier: MIT
// What the files of the simulated cuFFT share.
#ifndef SIM_CUFFT_IMPL_H
#define SIM_CUFFT_IMPL_H

#include <stdbool.h>

#include "cufftXt.h"

enum { CUFFT_MAX_RANK = 3, CUFFT_MAX_GPUS = 16 };

struct cufft_layout {
  int embed[CUFFT_MAX_RANK]; // elements of each dimension as they lie in memory
  int stride, distance;
};

// A device function of the program's that reads or writes an element.
struct cufft_callback {
  void (*routine)(void); // in truth a cufftCallbackLoadC or another; NULL: none
  void *info;
};

struct cufft_plan {
  bool made, packed; // packed: without a layout of the program's own
  int rank, n[CUFFT_MAX_RANK], batch;
  cufftType type;
  struct cufft_layout in, out;
  cudaStream_t stream;
  struct cufft_callback load, store;
  size_t shared;                 // bytes that the callbacks' last argument points to
  int gpus, gpu[CUFFT_MAX_GPUS]; // gpus: 0 for a plan of one device
};

// The plan of a handle, or NULL.
struct cufft_plan *sim_cufft_find(cufftHandle handle);

bool sim_cufft_from_real(cufftType type);
bool sim_cufft_to_real(cufftType type);
bool sim_cufft_in_double(cufftType type);

// Queues one transform (of all of the plan's batch) in the plan's stream. sign: CUFFT_FORWARD or CUFFT_INVERSE.
cufftResult sim_cufft_execute(cufftHandle plan, cufftType type, const void *in, void *out, int sign);

#endif
