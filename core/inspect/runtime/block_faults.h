// SPDX-License-Identifier: MIT
// The events of struct sim_plugin (sim/base/plugin.h) with these names.
#ifndef INSPECT_BLOCK_FAULTS_H
#define INSPECT_BLOCK_FAULTS_H

#include <stdbool.h>

void block_divergent(int thread, const char *file, int line, int other, const char *other_file, int other_line,
                     bool of_warp);
void block_divergent_grid(const char *file, int line, unsigned int returned);
void block_livelocked(void);
void block_faulted(const void *address);

#endif
