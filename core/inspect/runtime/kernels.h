// SPDX-License-Identifier: MIT
// The kernels that were launched (kernels.c).
#ifndef INSPECT_KERNELS_H
#define INSPECT_KERNELS_H

#include "inspect/inspect.h"

struct cudasim_launch_request;

struct kernel *kernel_of(const struct cudasim_launch_request *request);
struct kernel *kernels_at(size_t i); // NULL: past the last one
void kernel_count_launch(struct launch *launch, const struct cudasim_launch_request *request);
void kernels_want(const char *name); // instrument only this one; called before any launch
bool kernel_is_wanted(const struct cudasim_launch_request *request);
struct barrier *kernel_barrier_at(struct kernel *k, const char *file, int line);

#endif
