// SPDX-License-Identifier: MIT
// The simulator's one plugin interface. An observer (the inspector, the modeled clock, vector clocks, traces, counts)
// fills in a struct sim_plugin and registers it. The simulator calls SIM_NOTIFY at each event, which costs a load and
// a branch without a plugin. (The model is Oclgrind's class Plugin.)
//
// Two things are exceptions:
// - The events within a block (block_begin to faulted) come millions of times a second, and the results of launch_begin
//   and block_begin decide how a block runs. At most one plugin has them, `sim_inspector`; it is called directly.
// - The thread sanitizer (runtime/tsan_fiber.h, base/tsan.h) is no plugin. Its fibers do not observe operations but
//   execute them, on threads of their own, and its annotation of a reference count must come directly before the
//   count's atomic operation. Other builds contain none of it.
#ifndef SIM_PLUGIN_H
#define SIM_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

struct cudasim_activity;
struct cudasim_launch_request;
struct sim_node;
struct sim_vector_clock;
struct sim_work;

// `rows` rows of `bytes` bytes each; each row begins `pitch` bytes after the previous one.
struct sim_region {
  const void *address;
  size_t bytes, pitch, rows;
};
static inline struct sim_region sim_bytes(const void *address, size_t bytes) {
  return (struct sim_region){address, bytes, bytes, 1};
}

// Each function may be NULL. Its comment says which thread calls it and with which lock.
struct sim_plugin {
  // ---- API calls, on the calling host thread, without a lock ----

  // A call has made the work, for this device.
  void (*work_created)(struct sim_work *work, int device);
  // A call other than those that queue one node: it launches a graph, or has a stream wait for an event.
  void (*call_made)(bool queues_work);
  // The call is about to queue the node in the stream with this handle (0: the device's legacy stream). `first`: of a
  // call that queues several nodes, and makes itself known by call_made, the first of them (perhaps this one); else
  // NULL.
  void (*node_queuing)(struct sim_node *node, unsigned long long stream, const struct sim_node *first);
  // The call, which began at `begin` (nanoseconds; 0: at node_queuing), has queued it. The node may have run.
  void (*node_queued)(struct sim_node *node, long long begin);
  // A kernel, a cuBLAS or cuFFT call, or a fill or copy within one device has been counted; or a copy of another kind.
  void (*kernel_counted)(void);
  void (*copy_counted)(int kind, size_t bytes);

  // ---- the life of an operation (base/work.h, runtime/node.h), in this order ----

  void (*node_created)(struct sim_node *node);
  void (*node_in_graph)(struct sim_node *node); // a graph's launch has created it
  // It will wait for `on`, which may be done. sim.lock is held.
  void (*node_depends)(struct sim_node *node, struct sim_node *on, bool done);
  // All its dependencies are known: it may run. sim.lock is held.
  void (*node_submitted)(struct sim_node *node);
  // On the thread that runs it, without a lock. node_begins only comes if there is work to run.
  void (*node_begins)(struct sim_node *node);
  void (*node_ends)(struct sim_node *node);
  // Its successors may run. sim.lock is held.
  void (*node_completed)(struct sim_node *node);
  // The calling host thread has waited for it or has asked and knows that it is done. No lock.
  void (*node_waited)(struct sim_node *node);
  // The running node calls a host function, which may tell any other thread. No lock.
  void (*host_function_begins)(const struct sim_node *node);
  void (*node_destroyed)(struct sim_node *node);

  // ---- launches and blocks: of `sim_inspector` alone ----

  // From the operating-system thread that runs the launch or block.
  // The result goes to launch_end and to every block of the launch; NULL: none of its blocks is inspected.
  void *(*launch_begin)(const struct cudasim_launch_request *request, unsigned int blocks);
  void (*launch_end)(void *launch);

  // True: the block is inspected, until block_end. Dynamic shared memory begins at `dynamic`.
  bool (*block_begin)(void *launch, unsigned int index, char *dynamic);
  void (*block_end)(void);
  // How many of the `most` blocks from this one on are not inspected; 0: this one is.
  unsigned int (*blocks_left)(void *launch, unsigned int index, unsigned int most);
  void (*thread_runs)(int thread); // from here on this one of the block's threads runs
  // The same, where a change of stacks resumes the thread: the function does it by sim_fiber_swap.
  void (*thread_goes_on)(int thread, void **save, void *load);
  void (*thread_done)(int thread);
  void (*barrier_opens)(const char *file, int line, bool votes); // all threads have come to it
  void (*warp_met)(int warp, unsigned int lanes);
  void (*fence)(bool of_block);
  void (*synchronizes)(const void *object,
                       bool releases); // the running thread, with those that come to the same object
  // The running thread has queued an asynchronous copy to `to`. A commit ends a group of copies; a wait is for all
  // groups but the last `prior` ones.
  void (*async_write)(const void *to, size_t bytes, const void *caller);
  void (*async_commit)(void);
  void (*async_wait)(size_t prior);
  // Thread 0 of the block has come to the launch's grid.sync() number `number`, or continues after it; the other
  // threads of the block wait.
  void (*grid_barrier)(unsigned int number, bool arrives);
  void (*pause)(bool begins); // a thread that polls lets others run meanwhile

  // The block is given up. A thread waits at file:line, at a barrier or, `of_warp`, in a function of its warp; another
  // elsewhere, or it has returned (other_file is NULL).
  void (*divergent)(int thread, const char *file, int line, int other, const char *other_file, int other_line,
                    bool of_warp);
  // The block is given up: it waits for the launch's grid.sync() at file:line, and this block has returned.
  void (*divergent_grid)(const char *file, int line, unsigned int returned);
  void (*livelocked)(void); // no thread of the block changes the memory that the running thread polls
  void (*faulted)(const void *address);

  // ---- the program ----

  void (*exits)(void); // main has returned, or exit was called: on the main thread, while operations still run
  void (*dies)(void);  // by a fault of the host's code: from a signal handler

  // ---- memory: from any thread ----

  // Device memory is allocated by `caller`; a copy, a fill or a library function reads or writes exactly these bytes.
  void (*allocated)(void *address, size_t bytes, const void *caller);
  void (*host_allocated)(void *address, size_t bytes, bool managed, const void *caller); // pinned; kernels may use it
  void (*freed)(void *address);
  void (*freed_in_stream)(void *address); // by the operation that this thread executes; `freed` comes next
  void (*given_back)(void *address);      // as the program has it; a graph may use it again
  void (*reset)(int device);              // as CUDA's does, it frees what is allocated
  void (*wrote)(const struct sim_region *region);
  void (*was_read)(const struct sim_region *region); // by a function of a library
  // The operation with this clock, a copy that the host does not wait for, will read or write this host memory.
  void (*host_queued)(const struct sim_region *region, bool writes, const void *caller,
                      const struct sim_vector_clock *clock);
  void (*copied)(const struct sim_region *to, const struct sim_region *from);
  // A launch was refused: its argument at `position` (from 0) is no memory that a kernel may use.
  void (*refused)(const struct cudasim_launch_request *request, int position, const void *caller);
};

// Registers a plugin, which lives as long as the program; again: nothing. Events that have begun on other threads may miss it.
void sim_plugin_register(const struct sim_plugin *plugin);

enum { SIM_MAX_PLUGINS = 8 };
extern const struct sim_plugin *sim_plugins[SIM_MAX_PLUGINS + 1]; // the registered ones, then NULL
extern const struct sim_plugin *sim_inspector; // the registered one that has launch_begin; NULL: none

// SIM_NOTIFY(freed, (pointer)): calls the event's function of each plugin that has one.
#define SIM_NOTIFY(event, arguments)                                                                                   \
  do {                                                                                                                 \
    const struct sim_plugin *sim_plugin;                                                                               \
    for (int sim_i = 0; __builtin_expect((sim_plugin = sim_plugin_at(sim_i)) != NULL, 0); sim_i++)                     \
      if (sim_plugin->event)                                                                                           \
        sim_plugin->event arguments;                                                                                   \
  } while (0)
static inline const struct sim_plugin *sim_plugin_at(int i) {
  return __atomic_load_n(&sim_plugins[i], __ATOMIC_ACQUIRE);
}
#define SIM_WROTE(address, bytes)                                                                                      \
  do {                                                                                                                 \
    const struct sim_region sim_region = sim_bytes(address, bytes);                                                    \
    SIM_NOTIFY(wrote, (&sim_region));                                                                                  \
  } while (0)

// ---- what a plugin may ask ----

void sim_finish_work(void); // waits for all operations of all devices

// Has operations carry vector clocks (runtime/vector_clock.c). Before the first operation; without it they have none.
void sim_vector_clocks_start(void);

// The vector clock of an operation (runtime/vector_clock.c): of each component below `components`, the operations up
// to times[component] are ordered before it. It is itself the operation `time` of `component`, and `times` says so.
struct sim_vector_clock {
  unsigned int component, time, components, *times;
  unsigned long submission; // an operation submitted later has a higher one
  bool unknown; // it waits for an operation that is not submitted yet: more is ordered before it than `times` says
};
// Of the operation that this thread runs; NULL: it runs none.
const struct sim_vector_clock *sim_running_vector_clock(void);
// The caller of the CUDA, cuBLAS or cuFFT function whose work this thread runs; NULL: unknown, or it runs none.
const void *sim_running_caller(void);
bool sim_host_computes(void);          // what a GPU does in the program's order (thrust), in memory that kernels use
bool sim_running_host_function(void);  // of cudaLaunchHostFunc or cudaStreamAddCallback
const char *sim_running_library(void); // "cublas gemm", of a library's function; NULL: it executes none
// The host has waited for that operation, or for a later one of the component.
bool sim_vector_clock_host_knows(unsigned int component, unsigned int time);
bool sim_vector_clock_host_is_behind(void); // some operation has been submitted that the host has not waited for
// Raises `clock` to the host's, with the last submission. The result changes when the host waits for something.
unsigned long sim_vector_clock_of_host(struct sim_vector_clock *clock);
// How often the host has waited for all operations: those completed before the last time happen before every later one.
unsigned long sim_vector_clock_epoch(void);
// Where the simulator keeps what the threads of the blocks exchange that this thread runs, and how many bytes; while it runs one.
const void *sim_block_state(size_t *bytes);
// The loops of a kernel's instrumented copy begin, if they are to run and count from here: whose turn it is, the inspector knows.
bool sim_loops_begin(unsigned int origin);
// Who runs next, for an inspector that decides it (core/inspect/step), in a block that runs on fibers in ascending order. Whether this
// thread of the running block could: it waits for nothing, and has not returned.
bool sim_thread_can_run(unsigned int thread);
// The running thread lets that one run, and comes back here when its turn has come again.
void sim_let_run(unsigned int thread);
extern bool sim_inspects_all; // blocks that are not looked at run the code that tells, too

#endif
