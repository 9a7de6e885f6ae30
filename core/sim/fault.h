// Memory faults: in a kernel they become an error of the device, on the host a message.
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

void sim_fault_init(void);

// Gives the calling thread a stack for the signal handler, so that a kernel may overflow its own.
void sim_fault_prepare_thread(void);

#endif
