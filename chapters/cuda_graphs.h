// Chapter 15's part on CUDA graphs.
#ifndef CHAPTERS_CUDA_GRAPHS_H
#define CHAPTERS_CUDA_GRAPHS_H

#include "common.h"

// Seven sections on a CUDA device; on the CPU, which has no graphs, one that says what is left out.
void cuda_graph_sections(FyDevice device);

#endif
