// What a program asked of its devices, told when it ends.
#ifndef SIM_COUNT_H
#define SIM_COUNT_H

// Called once, when the simulator begins.
void sim_count_start(void);

#endif
