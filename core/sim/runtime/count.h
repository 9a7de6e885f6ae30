// SPDX-License-Identifier: MIT
// FERRY_SIM_COUNT: prints at the program's end what it asked of its devices.
#ifndef SIM_COUNT_H
#define SIM_COUNT_H

// Called once, when the simulator begins.
void sim_count_start(void);

#endif
