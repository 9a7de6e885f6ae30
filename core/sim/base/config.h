// SPDX-License-Identifier: MIT
// What the environment asks of the simulator; README.md describes each variable.
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum { SIM_MAX_DEVICES = 16, SIM_MAX_WORKERS = 16 };

enum sim_mode {
  SIM_THREADS, // worker threads run what is ready
  SIM_LAZY,    // the waiting thread runs what it waits for, and nothing else
  SIM_SYNC     // every call runs its operation before it returns
};

enum sim_order { SIM_ASCENDING, SIM_DESCENDING, SIM_RANDOM };

// Whether host code is kept from device memory while no operation runs: always, or as far as that costs little time (memory.c).
enum sim_guard { SIM_NO_GUARD, SIM_GUARD, SIM_CHEAP_GUARD };

enum { SIM_BUFFER_SHARED = 1, SIM_BUFFER_GLOBAL = 2 };

// An inaccessible page on one side of each allocation of device memory.
enum sim_guard_page { SIM_NO_GUARD_PAGE, SIM_GUARD_PAGE_AFTER, SIM_GUARD_PAGE_BEFORE };

struct model_gpu;

struct sim_config {
  int devices;
  enum sim_mode mode;
  enum sim_order order;  // in which the threads of a block begin
  unsigned int seed;     // of SIM_RANDOM
  enum sim_order blocks; // in which a grid's blocks run
  unsigned int blocks_seed;
  enum sim_guard_page guard_page;
  enum sim_guard guard;
  unsigned int store_buffer; // of SIM_BUFFER_SHARED and SIM_BUFFER_GLOBAL: engine/store_buffer.h
  bool ahead;                // lazy mode: whatever other streams can do is done first
  int polls;                 // lazy mode: queries of one thing that run nothing, before one does
  unsigned int delays;       // threads mode: operations begin after a delay drawn from this; 0: at once
  size_t memory_bytes;       // of each device
  int workers;
  bool zeroed;                 // fresh device memory is zero, not NaN
  bool split;                  // kernels that cu2cpp --split has made loops of run as such
  bool check;                  // pointers passed to kernels are looked up at the launch
  int nccl_seconds;            // how long a rank waits for others
  bool count;                  // when the program ends, it says what it asked of its devices
  int report_seconds;          // a block without progress for so long is reported; 0: never
  int end_seconds;             // such a block fails; 0: never
  const struct model_gpu *gpu; // that the devices model; NULL: none
};

// True in a program that ./ferry nvcc has built. What every GPU lets pass is a warning there, not an error.
bool sim_config_is_program(void);

// Reads the environment. A bad value is reported with its variable's name and ends the program with status 2.
struct sim_config sim_config_read(void);

#endif
