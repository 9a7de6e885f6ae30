// SPDX-License-Identifier: MIT
// What the parts of the inspector share that are linked into an instrumented program. A block is instrumented while
// its thread holds the inspector's lock (inspect_hold), so one thread at a time uses everything here but the first
// test of each callback.
//
//   runtime/callbacks.c     what instrumented code calls: each access, each basic block
//     access.h              the fast path of an access, inline; lane.c: the slow path, and each lane's trace until its warp is complete
//     async.c               asynchronous copies to shared memory
//     block_state.c         what the simulator reports: blocks, threads, barriers; launches.c: launches, and which of their blocks are
//                           instrumented; kernels.c: data of each kernel
//     loops.c               kernels that run as loops over their block's threads
//     bare.c                launches of a kernel that has no program
//     record_writer.c       the file that ./ferry reads
//   shadow/memory.c         address spaces, allocation and initialization, shadow words
//     shadow_word.h, race.c data races, after FastTrack (Flanagan and Freund, PLDI 2009)
//     strong.c              atomic and volatile accesses
//     vector_clock.c        happens-before within a warp; sync.c: by fences and atomics; launch_history.c: between launches, copies and
//                           the host; host.c: the host's own accesses
//   simt/simt_stack.c       from the traces of lanes to warp instructions (Fung et al., MICRO 2007); control_flow.c: post-dominators
//     coalescing.c          sectors and bank conflicts of a warp instruction
//     counts.c              totals for a modeled GPU (core/model)
//   program.c, mix.c        the program's own symbols; the instruction mix of its basic blocks
//   registers.c             a thread's registers, as ptxas has said
//   finding.c               what was found
#ifndef INSPECT_INSPECT_H
#define INSPECT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inspect/finding.h"

enum { WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP, MAX_DEPTH = 16 };

// ---- events ----------------------------------------------------------------------------------------------------------------

// An event of a lane has an id: a program counter and a kind. An access has one of five sizes: 1 << (kind - first
// kind of its five).
enum event_kind {
  EVENT_BLOCK,
  EVENT_BEGIN, // also a basic block: a thread's iteration of a work-item loop (loops.c). It belongs to no source line
  EVENT_ENTER,
  EVENT_LEAVE,
  EVENT_READ,
  EVENT_WRITE = EVENT_READ + 5,
  EVENT_ATOMIC = EVENT_WRITE + 5,
  EVENT_ATOMIC_OF_BLOCK = EVENT_ATOMIC + 5 // atomicAdd_block: atomic among the threads of one block
};
enum { KIND_BITS = 5, KIND_MASK = (1 << KIND_BITS) - 1 };

// What an atomic does, where it matters. ADDS_NOTHING: atomicAdd(p, 0), atomicOr(p, 0). EXCHANGES: atomicExch. SWAPS: atomicCAS.
enum atomic_kind { ATOMIC_UPDATES, ATOMIC_ADDS_NOTHING, ATOMIC_EXCHANGES, ATOMIC_SWAPS };

static inline uint32_t event_pc(uint32_t event) {
  return event >> KIND_BITS;
}
static inline unsigned event_kind(uint32_t event) {
  return event & KIND_MASK;
}
static inline bool is_block(uint32_t event) {
  return event_kind(event) <= EVENT_BEGIN;
}
static inline bool is_atomic(uint32_t event) {
  return event_kind(event) >= EVENT_ATOMIC;
}
static inline bool is_atomic_of_block(uint32_t event) {
  return event_kind(event) >= EVENT_ATOMIC_OF_BLOCK;
}
static inline bool is_read(uint32_t event) {
  return event_kind(event) >= EVENT_READ && event_kind(event) < EVENT_WRITE;
}
static inline bool is_write(uint32_t event) {
  return event_kind(event) >= EVENT_WRITE && event_kind(event) < EVENT_ATOMIC;
}
static inline unsigned access_bytes(uint32_t event) {
  return 1u << (event_kind(event) - EVENT_READ) % 5;
}

struct lane {
  _Alignas(64) struct tail { // saved while another lane runs
    uint32_t *next, *limit;  // where its next event is stored, and the end of the buffer
    // 2 * (address of an event in the buffer) + addresses: where the address of its access is stored
    uintptr_t addresses;
  } tail;
  uint32_t *events;           // the warp's common trace, or the lane's own
  uint64_t *addresses;        // of each event that is an access; other elements are undefined
  uint32_t *own;              // as many events as addresses
  uint32_t event_count, room; // event_count: valid once the warp is complete
};

// Buffers for a lane's events. Most lanes have few events between barriers: the small buffers of a warp are adjacent,
// in few pages and cache lines.
struct lane_room {
  uint32_t *small, *large; // events
  uint64_t *small_addresses, *large_addresses;
  uint32_t room; // of the large buffers; 0: not allocated
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// The addresses of a full warp's last request at a site (coalescing.c).
struct pattern;

// A site: an instruction of the program that warps executed.
struct site {
  uint32_t event;
  bool shared; // shared memory; else global
  struct pattern *pattern;
  uint64_t executions;          // by a warp
  uint64_t lanes, live;         // active lanes; lanes that had not returned
  uint64_t units, ideal;        // sectors of global memory, wavefronts of shared memory
  uint64_t same, same_max;      // atomics: lanes at the most frequent address of a request, summed; the maximum
  uint64_t lines, waves, bytes; // global memory, if a GPU is modeled: 128-byte lines, wavefronts, distinct bytes
};

struct barrier {
  const char *file;
  int line;
  uint64_t passes, needed;
  struct barrier *next;
};

// A kernel that runs as loops has its own copies of shared arrays.
enum { IN_THREADS = 1, IN_LOOPS = 2 };

struct flow;         // control_flow.c
struct shadow_state; // shadow_word.h

struct kernel {
  char *launch;           // as its launch names it
  char *name;             // the same, with parameter types where several kernels have this name
  const void *function;   // NULL: unknown address
  const char *parameters; // parameter types
  unsigned int grid[3], block[3];
  size_t dynamic_bytes;
  uint64_t launches, blocks, instrumented;
  uint64_t events;         // of its instrumented blocks
  int registers;           // of a thread; 0: unknown (registers.c)
  bool shapes_differ, cut; // cut: the trace of a thread was too long
  bool lanes_are_large;    // some lane needed its large buffer
  struct site *sites;      // hash table
  uint32_t site_count, site_room;
  struct barrier *barriers;
  uint8_t *arrays;         // per shared array: who accessed it, IN_THREADS and IN_LOOPS
  uint8_t *known_shared;   // per word of the program's thread-local memory: the word is part of an array in use
  struct modeled *modeled; // counts.c: its time on the modeled GPU
  struct launch *counting; // counts.c: the launch that its sites currently count for
  struct flow *flow;
};

static inline uint32_t site_hash(uint32_t event, bool shared) {
  return (event * 2 + shared) * 2654435761u;
}
struct site *kernel_site_slow(struct kernel *k, uint32_t event, bool shared);
static inline struct site *kernel_site(struct kernel *k, uint32_t event, bool shared) {
  if (k->site_room) {
    struct site *site = &k->sites[site_hash(event, shared) & (k->site_room - 1)];
    if (site->event == event && site->shared == shared)
      return site;
  }
  return kernel_site_slow(k, event, shared);
}

// ---- launches and blocks ----------------------------------------------------------------------------------------------

struct launch {
  struct kernel *kernel;
  // of all instrumented launches, and of those whose kernels have this name: from 0
  uint32_t number, number_of_name;
  unsigned int grid[3];
  uint64_t first_instance, end_instance; // each block of each launch is a block instance with a number of its own
  uint32_t first_interval;               // intervals before this one are ordered before the launch
  unsigned int first, end;               // the instrumented blocks
  unsigned int threads;
  size_t dynamic_bytes;
  const struct sim_vector_clock *stamp; // what is ordered before it; NULL: everything
  struct sync **syncs;                  // sync.c
  size_t sync_room;
  bool any_block_release; // by __threadfence_block()
  struct acquire_log *acquire_logs;
  struct clock_vector *rows; // vector_clock.c
  struct late *late;         // reads of uninitialized memory
  size_t late_count;
  struct counted *counted;            // counts.c: what it has done
  uint64_t calls, instrumented_calls; // events in all of its blocks, and in the instrumented ones
  // in a sampled run: events of its instrumented blocks that have ended, and how many of them there may be (launches.c)
  uint64_t events, most_events;
  _Atomic bool over;   // no further block is instrumented
  uint32_t *constants; // launch_history.c
  uint64_t closure;    // the address of its arguments, and their size
  size_t closure_bytes;
};

static inline unsigned int block_of(const struct launch *launch, uint64_t instance) {
  return (unsigned int)(instance - launch->first_instance);
}

// An access, in full.
struct access {
  uint64_t instance;
  uint32_t event, phase, warp_clock; // warp_clock: of its thread (vector_clock.h)
  uint16_t thread;
};

// A shadow epoch (FastTrack's c@t): who accessed last, and when. `interval` numbers the barrier intervals of all
// blocks, starting at 1; race.c has a table of (block instance, phase). A phase with more than WARP_CLOCKS warp
// clocks has several intervals. `accessor` is the thread and the low 16 bits of its warp clock.
struct epoch {
  uint32_t interval, event, accessor;
};
enum {
  ACCESSOR_THREAD = MAX_THREADS - 1,
  ACCESSOR_LANE = WARP - 1,
  ACCESSOR_OTHER_AT = 10, // another lane of the warp that read it with the same instruction
  ACCESSOR_OTHER = ACCESSOR_LANE << ACCESSOR_OTHER_AT,
  ACCESSOR_HAS_OTHER = 1 << 15,
  ACCESSOR_CLOCK_AT = 16,
  ACCESSOR_WARP = ACCESSOR_THREAD & ~ACCESSOR_LANE
};
static const uint32_t ACCESSOR_CLOCK = 0xffffu << ACCESSOR_CLOCK_AT;
// READ_SHARED: every further read in this interval is already covered. Where `event` is a read instead, this holds
// for reads by the same warp and warp clock.
enum { READ_SHARED = KIND_MASK };

// The shadow word of a memory word. Most words are accessed by one thread per launch, or by the lanes of one warp
// together: `last` is enough for those. Otherwise the word is inflated: `inflated` is the number of its shadow state
// (shadow_word.h), and `last` only says in which interval reads are covered.
struct shadow_word {
  struct epoch last;
  uint32_t inflated; // 0: not inflated; INFLATED_PER_BYTE
};

// A thread's last __threadfence() or __threadfence_block(): its phase (0: none), and the warp clock that begins after
// it.
struct fence {
  uint32_t phase, warp_clock;
};

// Vector clocks of the lanes of each warp, in this phase (vector_clock.c).
struct warp_clocks {
  uint32_t begin;           // first clock of this interval: a multiple of WARP_CLOCKS
  uint32_t last[MAX_WARPS]; // the latest clock of the warp: of a warp synchronization, or a fence of one of its threads
  uint32_t all_synced[MAX_WARPS]; // the clock of the last synchronization of all lanes
  bool diverged[MAX_WARPS];       // some lanes have synchronized without the others since: the members below are valid
  uint32_t warp_clock[MAX_THREADS];      // the latest clock of a synchronization that the thread took part in
  uint8_t row[MAX_WARPS][WARP];          // the number of each lane's vector
  uint32_t holders[MAX_WARPS][WARP];     // the lanes that have this vector
  uint32_t known[MAX_WARPS][WARP][WARP]; // known[w][r][b]: a lane with vector r knows what lane b did before this clock
};

// The state of the running block: one per worker thread. The first members are those that each access needs.
struct block_state {
  struct tail
      // of the running lane; `limit` is NULL while something is pending, so that the next access takes the slow path
      tail;
  uint32_t interval, first_interval, accessor;
  uint32_t phase_interval; // the first of the phase
  uint32_t block_interval; // the first of the block
  // a barrier already known to be needed separates what the block did up to this interval from now
  uint32_t needed_interval;
  bool pending;           // skip_next or equal.finding is set
  bool loops, idle;       // the block runs as loops over its threads; it is between two iterations, so no thread runs
  char *shared, *dynamic; // the beginning of static and of dynamic shared memory
  size_t shared_bytes, dynamic_bytes;
  uint8_t *known_shared; // the kernel's
  struct shadow_word *shared_words;
  struct shadow_state *shared_states;
  struct lane *lane; // of the running thread
  int thread, warp;
  uint64_t sim_state; // what the simulator keeps per block, and its size
  size_t sim_state_bytes;
  struct launch *launch;
  uint64_t instance;
  uint32_t phase; // barriers passed, from 1
  struct lane lanes[WARP];
  struct lane_room rooms[WARP];
  // the events of all lanes whose traces agree so far; after the last lane's position: those of the previous warp
  uint32_t *trace;
  uint32_t trace_capacity;
  uint32_t diverged; // lanes whose traces differ, which have buffers of their own
  const uint32_t
      // the position of the lane with the longest common trace; NULL: not computed since the lane began to run
      *longest;
  bool lanes_are_large;
  uint32_t live[MAX_WARPS];
  // lanes with the same call depth and last blocks, which are stored for the first of them only
  uint32_t converged[MAX_WARPS];
  uint8_t depth[MAX_WARPS][WARP];
  uint32_t last_block[MAX_WARPS][WARP][MAX_DEPTH]; // the last basic block, by call depth
  struct warp_clocks clock;
  struct fence fenced[MAX_THREADS], fenced_block[MAX_THREADS]; // the last of each thread
  uint32_t any_fence, earlier_fence; // phase of the block's last fence, and of its last one before that phase
  bool any_block_fence;
  bool has_async;                  // the block has asynchronous copies
  struct async *async;             // async.c
  uint32_t needed_phase;           // the last barrier known to be needed ended this phase
  struct barrier *barrier;         // the last one passed
  struct acquire_log *acquire_log; // sync.c
  struct memory *shared_memory, *dynamic_memory;
  struct early *early; // race.c
  size_t early_count;
  uint32_t last_event; // an access that was not stored as an event, while `last_at` is the lane's next position
  const uint32_t *last_at;
  const struct lane *last_lane;
  struct {
    enum atomic_kind kind;
    uint64_t expected, value;
  } atomic; // the running access, if it is one
  struct {
    uint64_t address;
    uint32_t event, reads;
    int thread;
  } poll;         // the last read that may poll, and how often its thread has repeated it
  bool skip_next; // the next access is out of bounds, and has been reported
  struct {
    struct finding *finding;
    uint64_t address;
    size_t bytes, room;
    unsigned char *before;
    uint32_t event;         // of the second write
    enum finding_kind kind; // what it is if the values differ
  } equal;                  // two threads wrote: was it the same value?
};

extern __thread struct block_state *inspect_current __attribute__((tls_model("initial-exec")));
// The trace of the running lane. `limit` is NULL where no block is instrumented, and while something is pending: then
// all accesses, or the next one, take the slow path.
extern __thread struct tail inspect_tail __attribute__((tls_model("initial-exec")));
// The next access takes the slow path.
static inline void inspect_pend(struct block_state *bs) {
  bs->pending = true;
  inspect_tail.limit = NULL;
}
// Accesses and basic blocks executed by this thread, instrumented or not. Those of lanes are added by lane_flush.
extern __thread uint64_t inspect_calls __attribute__((tls_model("initial-exec")));
// FERRY_INSPECT_SCORED: a scored test, in lazy mode, where one thread runs everything. The counts of the instrumented
// blocks are scaled to all blocks by the events executed, and an access to host memory in a kernel is a finding.
extern bool inspect_scored;
// FERRY_INSPECT_COUNTS=0: only look for findings, count nothing. ./ferry inspect counts in one of its two runs.
extern bool inspect_counts;
// Of a kernel without a program: the input of the running launch, what was launched, and the events of all launches (bare.c).
extern const char *inspect_launch_text;
extern char *inspect_launched_text;
extern uint64_t inspect_events;
void inspect_hold(void);
void inspect_release(void);

// Writes the record to the file that FERRY_INSPECT_RECORD names. Also called at exit.
void inspect_write_record(void);
extern bool inspect_died; // the program crashed
// The record as a text (malloc); NULL: no memory.
char *inspect_record_text(void);

_Noreturn void inspect_give_up(const char *why);
void *inspect_allocate(size_t bytes); // zeroed
void *inspect_allocate_aligned(size_t alignment, size_t bytes);
void *inspect_resize(void *memory, size_t bytes);
char *inspect_copy(const char *text, size_t most); // of at most so many characters

#endif
