// Nobody waits for ever without a word: a block in which nothing happens for long is reported, and on request ended.
#ifndef SIM_WATCHDOG_H
#define SIM_WATCHDOG_H

struct sim_executor;

// Called when a block begins and when it has ended, on the thread that runs it.
void sim_watch_begin(struct sim_executor *e);
void sim_watch_end(void);

#endif
