// What the simulator tells an inspector that is linked in (core/inspect); without one `sim_inspector` is NULL, and each place
// that would tell it something tests that pointer and goes on.
#ifndef SIM_INSPECTOR_H
#define SIM_INSPECTOR_H

#include <stdbool.h>
#include <stddef.h>

struct cudasim_launch_request;
struct sim_stamp;

// Memory in rows of so many bytes, of which each begins `pitch` bytes behind the one before.
struct sim_region {
  const void *address;
  size_t bytes, pitch, rows;
};
static inline struct sim_region sim_bytes(const void *address, size_t bytes) {
  return (struct sim_region){address, bytes, bytes, 1};
}

// Functions of a launch and of a block come from the operating-system thread that runs it; those about memory from any.
struct sim_inspector {
  // The result goes to launch_end and to every block of the launch; NULL: no block of it is looked at.
  void *(*launch_begin)(const struct cudasim_launch_request *request, unsigned int blocks);
  void (*launch_end)(void *launch);

  // True: what the block's threads do is looked at, until block_end. Dynamic shared memory begins at `dynamic`.
  bool (*block_begin)(void *launch, unsigned int index, char *dynamic);
  void (*block_end)(void);
  // How many of the `most` blocks from this one on are not looked at; 0: this one is.
  unsigned int (*blocks_left)(void *launch, unsigned int index, unsigned int most);
  void (*thread_runs)(int thread); // from here on this one of the block's threads runs
  // The same, and changes to its stack, as sim_fiber_swap does; where that is all there is to changing.
  void (*thread_goes_on)(int thread, void **save, void *load);
  void (*thread_done)(int thread);
  void (*barrier_opens)(const char *file, int line, bool votes); // all threads have come to it
  void (*warp_met)(int warp, unsigned int lanes);
  void (*fence)(bool of_block);
  void (*synchronizes)(const void *object,
                       bool releases); // the running thread, with those that come to the same object
  // An asynchronous copy that the running thread has asked for will have written this when the thread has waited for it: it waits for all
  // but the last `prior` groups of copies, each of which ends with a commit.
  void (*async_write)(const void *to, size_t bytes, const void *caller);
  void (*async_commit)(void);
  void (*async_wait)(size_t prior);
  // Thread 0 of the block has come to the launch's grid.sync() number `number`, or goes on behind it; the block's others wait.
  void (*grid_barrier)(unsigned int number, bool arrives);
  void (*pause)(bool begins); // a thread that polls lets others run meanwhile

  // The block is given up. A thread waits at file:line, at a barrier or, `of_warp`, in a function of its warp; another elsewhere, or it
  // has returned (other_file is NULL).
  void (*divergent)(int thread, const char *file, int line, int other, const char *other_file, int other_line,
                    bool of_warp);
  void (*dies)(void);       // the program, by a fault of the host's code
  void (*livelocked)(void); // what the running thread polls nobody changes
  void (*faulted)(const void *address);

  // Device memory: who allocated it; what a copy, a fill or a function of a library did to it, and to no byte beside it.
  void (*allocated)(void *address, size_t bytes, const void *caller);
  void (*host_allocated)(void *address, size_t bytes, bool managed, const void *caller); // pinned; kernels may use it
  void (*freed)(void *address);
  void (*freed_in_stream)(void *address); // by the operation that this thread executes; `freed` comes next
  void (*given_back)(void *address);      // as the program has it; a graph may use it again
  void (*reset)(int device);              // as CUDA's does, it frees what is allocated
  void (*wrote)(const struct sim_region *region);
  void (*was_read)(const struct sim_region *region); // by a function of a library
  // A copy that the host does not wait for will read or write this memory of the host's, when what has this stamp runs.
  void (*host_queued)(const struct sim_region *region, bool writes, const void *caller, const struct sim_stamp *stamp);
  void (*copied)(const struct sim_region *to, const struct sim_region *from);
  // A launch was refused: its argument at `position` (from 0) is no memory that a kernel may use.
  void (*refused)(const struct cudasim_launch_request *request, int position, const void *caller);
};

extern const struct sim_inspector *sim_inspector;

// What is ordered before an operation (stamp.c): of each of the chains from 0 to `chains` - 1 what has this number or a lower one;
// it is itself number `number` of chain `chain`, and it says so, too.
struct sim_stamp {
  unsigned int chain, number, chains, *seen;
  unsigned long submission; // what is submitted later has a higher one
  bool unknown;             // it waits for what was not submitted yet: more is ordered before it than this says
};
const struct sim_stamp *sim_running_stamp(void); // of what this thread executes; NULL: it executes nothing
// Who called the function of CUDA, cuBLAS or cuFFT whose work this thread executes; NULL: nobody knows, or it executes none.
const void *sim_running_caller(void);
bool sim_host_computes(void);          // what a GPU does in the program's order (thrust), in memory that kernels use
bool sim_running_host_function(void);  // of cudaLaunchHostFunc or cudaStreamAddCallback
const char *sim_running_library(void); // "cublas gemm", of a library's function; NULL: it executes none
bool sim_stamp_host_knows(unsigned int chain, unsigned int number); // that it is done: it has waited for it
bool sim_stamp_host_is_behind(void);                                // it does not know of all that they are
// What the host knows, with the last submission there was. The result is another one when it has waited for something since.
unsigned long sim_stamp_of_host(struct sim_stamp *stamp);
// How often the host has waited for everything there was: what was done before is ordered before all that comes.
unsigned long sim_stamp_epoch(void);
// Where the simulator keeps what the threads of the blocks exchange that this thread runs, and how many bytes; while it runs one.
const void *sim_block_state(size_t *bytes);
// The loops of a kernel's instrumented copy begin, if they are to run and count from here: whose turn it is, the inspector knows.
bool sim_loops_begin(unsigned int origin);
extern bool sim_inspects_all; // blocks that are not looked at run the code that tells, too

#define SIM_WROTE(address, bytes)                                                                                      \
  do {                                                                                                                 \
    const struct sim_region sim_region = sim_bytes(address, bytes);                                                    \
    SIM_TELL(wrote(&sim_region));                                                                                      \
  } while (0)
#define SIM_TELL(...)                                                                                                  \
  do {                                                                                                                 \
    if (__builtin_expect(sim_inspector != NULL, 0))                                                                    \
      sim_inspector->__VA_ARGS__;                                                                                      \
  } while (0)

#endif
