// Chapter 15's part on choosing algorithms.
#ifndef CHAPTERS_ALGORITHMS_H
#define CHAPTERS_ALGORITHMS_H

#include "common.h"

// Three sections: what is timed and chosen, what a first step costs, what changing shapes cost. A simulated device is not
// timed, so that they then compute on the CPU, and say so.
void algorithm_sections(FyDevice device);

#endif
