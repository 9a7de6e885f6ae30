// What all files of the inspector share; what one of them offers the others stands in its own header. A block that is looked at runs while `inspect_lock` is held, so all of this but the
// callbacks' first test is used by one thread at a time.
//
//   callbacks.c   what the compiler has put into the kernel calls: each access, each basic block
//     memory.c    which memory an address is, whether it is allocated and has been written
//     race.c      the last accesses to each word, and what is wrong about the next; word.h: where nothing is; clock.c: lanes of a
//                 warp; order.c: fences and atomics; past.c: launches and copies of other streams
//     access.h    what most accesses come to, in line; lane.c: each lane's events, kept until the warp is complete
//       replay.c  lanes into warp instructions; flow.c: where paths that part meet again
//       request.c sectors and wavefronts of one warp instruction
//   counts.c      all of it as numbers for a modelled GPU (core/model); mix.c: what a basic block computes
//   async.c       asynchronous copies to shared memory
//   host.c        the host's own accesses to memory that copies and kernels read and write
//   look.c        what the simulator tells: launches, blocks, barriers; kernels.c: what is known of each kernel
//   loops.c       what a kernel tells that runs as loops over its block's threads
//   finding.c, record.c   what was found, and the file that ./ferry reads
#ifndef INSPECT_INSPECT_H
#define INSPECT_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inspect/runtime/finding.h"

enum { WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP, MAX_DEPTH = 16 };

// ---- events ----------------------------------------------------------------------------------------------------------------

// An event of a lane is a key: a place in the program and a kind. Accesses come in five sizes, 1 << (kind - first of its five).
enum event {
  EVENT_BLOCK,
  EVENT_BEGIN, // a basic block, too, which a thread's turn begins with that runs in a loop (loops.c): no line's of the source
  EVENT_ENTER,
  EVENT_LEAVE,
  EVENT_READ,
  EVENT_WRITE = EVENT_READ + 5,
  EVENT_ATOMIC = EVENT_WRITE + 5,
  EVENT_ATOMIC_OF_BLOCK = EVENT_ATOMIC + 5 // atomicAdd_block: atomic for threads of one block
};
enum { KIND_BITS = 5, KIND_MASK = (1 << KIND_BITS) - 1 };

static inline uint32_t key_place(uint32_t key) {
  return key >> KIND_BITS;
}
static inline unsigned key_kind(uint32_t key) {
  return key & KIND_MASK;
}
static inline bool is_block(uint32_t key) {
  return key_kind(key) <= EVENT_BEGIN;
}
static inline bool is_atomic(uint32_t key) {
  return key_kind(key) >= EVENT_ATOMIC;
}
static inline bool is_atomic_of_block(uint32_t key) {
  return key_kind(key) >= EVENT_ATOMIC_OF_BLOCK;
}
static inline bool is_read(uint32_t key) {
  return key_kind(key) >= EVENT_READ && key_kind(key) < EVENT_WRITE;
}
static inline bool is_write(uint32_t key) {
  return key_kind(key) >= EVENT_WRITE && key_kind(key) < EVENT_ATOMIC;
}
static inline unsigned access_bytes(uint32_t key) {
  return 1u << (key_kind(key) - EVENT_READ) % 5;
}

struct lane {
  _Alignas(64) struct tail { // while another lane runs
    uint32_t *key, *limit;   // where its next event goes, and up to where there is room
    uintptr_t addresses;     // with twice a key's address: where its access's address goes
  } tail;
  uint32_t *keys;           // the warp's path, or its own
  uint64_t *addresses;      // of each key that is an access; those of others say nothing
  uint32_t *own;            // as many keys as addresses
  uint32_t key_count, room; // key_count: of a warp that is complete
};

// Where a lane's events go: most lanes have few before a barrier, and those of a warp then lie side by side, in few pages and lines
// of the cache.
struct lane_room {
  uint32_t *small, *large; // keys
  uint64_t *small_addresses, *large_addresses;
  uint32_t room; // of the large ones; 0: none yet
};

// ---- what is known of a kernel ----------------------------------------------------------------------------------------------

// What a whole warp asked for at a site the last time (request.c).
struct pattern;

// One place of the program, as warps came to it.
struct site {
  uint32_t key;
  bool shared; // memory; else global
  struct pattern *pattern;
  uint64_t runs;                // by a warp
  uint64_t lanes, live;         // that took part; that had not returned
  uint64_t units, ideal;        // sectors of global memory, wavefronts of shared memory
  uint64_t same, same_max;      // atomics: lanes at the busiest address, summed up; at most
  uint64_t lines, waves, bytes; // global memory, where a GPU is played: lines of 128 bytes, wavefronts, distinct bytes
};

struct barrier {
  const char *file;
  int line;
  uint64_t passes, needed;
  struct barrier *next;
};

// A kernel's loops have shared arrays of their own, beside those of its threads one by one.
enum { IN_THREADS = 1, IN_LOOPS = 2 };

struct flow;   // flow.c
struct record; // word.h

struct kernel {
  char *launch;           // as its launch names it
  char *name;             // the same, or with its parameters where launches name several kernels alike
  const void *function;   // NULL: nobody knows its address
  const char *parameters; // their types
  unsigned int grid[3], block[3];
  size_t dynamic_bytes;
  uint64_t launches, blocks, looked;
  bool shapes_differ, cut; // cut: a thread did more than is kept of one
  bool lanes_are_large;    // some had more events than there is room for side by side
  struct site *sites;      // a hash table
  uint32_t site_count, site_room;
  struct barrier *barriers;
  uint8_t *arrays;           // by number of the shared array: who has touched it, IN_THREADS and IN_LOOPS
  uint8_t *known_shared;     // by word of the program's thread-local memory: in such an array
  struct modelled *modelled; // counts.c: its times on the GPU that is played
  struct launch *counting;   // counts.c: the launch that its sites count for
  struct flow *flow;
};

static inline uint32_t site_hash(uint32_t key, bool shared) {
  return (key * 2 + shared) * 2654435761u;
}
struct site *kernel_site_slow(struct kernel *k, uint32_t key, bool shared);
static inline struct site *kernel_site(struct kernel *k, uint32_t key, bool shared) {
  if (k->site_room) {
    struct site *site = &k->sites[site_hash(key, shared) & (k->site_room - 1)];
    if (site->key == key && site->shared == shared)
      return site;
  }
  return kernel_site_slow(k, key, shared);
}

// ---- a block that is looked at ------------------------------------------------------------------------------------------------

struct launch {
  struct kernel *kernel;
  uint64_t first_run, end_run; // every block of every launch has a number of its own, its run
  uint32_t first_era;      // its eras and those of launches that nothing orders before it are from here on, and others'
  unsigned int first, end; // blocks that are looked at
  unsigned int threads;
  size_t dynamic_bytes;
  const struct sim_vector_clock *stamp; // what is ordered before it; NULL: everything
  struct sync **syncs;                  // order.c
  size_t sync_room;
  struct history *histories;
  struct clock_row *rows; // clock.c
  struct late *late;      // reads of memory that nothing had written
  size_t late_count;
  struct counted *counted;      // counts.c: what it has done
  uint64_t calls, looked_calls; // in all its blocks, and in those that are looked at
  uint32_t *constants;          // past.c
  uint64_t closure;             // where its arguments are, and how many bytes
  size_t closure_bytes;
};

static inline unsigned int block_of(const struct launch *launch, uint64_t run) {
  return (unsigned int)(run - launch->first_run);
}

// One access.
struct note {
  uint64_t run;
  uint32_t key, phase, epoch; // epoch: the thread's (clock.h)
  uint16_t thread;
};

// The same as a word remembers it. An era is one phase of one block, from 1, or a part of it where the warps' epochs are more than
// EPOCHS; race.c knows of each which. Of the epoch `who` has the last 16 bits, and the era has the others.
struct mark {
  uint32_t era, key, who;
};
enum {
  WHO_THREAD = MAX_THREADS - 1,
  WHO_LANE = WARP - 1,
  WHO_OTHER_AT = 10, // another lane of the warp that read it, too, by the same instruction
  WHO_OTHER = WHO_LANE << WHO_OTHER_AT,
  WHO_HAS_OTHER = 1 << 15,
  WHO_EPOCH_AT = 16,
  WHO_WARP = WHO_THREAD & ~WHO_LANE
};
static const uint32_t WHO_EPOCH = 0xffffu << WHO_EPOCH_AT;
// The key of a cell that has more, in whose era no read is news; or, where it is that of a read, no read by that warp and epoch.
enum { KEY_ANYONE = KIND_MASK };

// Of a word: most are accessed by one thread in a launch, or by one warp's lanes together, which `last` has room for. Where
// there is more to remember `more` is the number of a record, and `last` says only in which era reads are no news.
struct cell {
  struct mark last;
  uint32_t more; // 0: none; MORE_IS_BYTES
};

// __threadfence(), or __threadfence_block(): in which phase (0: never), and which epoch of its thread begins behind it.
struct fence {
  uint32_t phase, epoch;
};

// What the lanes of each warp know of each other, in this phase (clock.c).
struct clock {
  uint32_t begin;               // of the epochs of this era: a multiple of EPOCHS
  uint32_t last[MAX_WARPS];     // the last number that a meeting of the warp or a fence of one of its threads has got
  uint32_t all_met[MAX_WARPS];  // the last meeting of all lanes
  bool apart[MAX_WARPS];        // since then some have met without the others: what follows `epoch` holds
  uint32_t epoch[MAX_THREADS];  // the last of these numbers in which the thread has taken part
  uint8_t row[MAX_WARPS][WARP]; // each lane's vector: its number among the warp's
  uint32_t holders[MAX_WARPS][WARP];     // the lanes that have this vector
  uint32_t known[MAX_WARPS][WARP][WARP]; // known[w][r][b]: who has vector r knows what lane b did before this meeting
};

// Each worker thread has one. First what each access asks for.
struct look {
  struct tail
      tail; // the running lane's; `limit` is NULL while something is pending, so that the next access goes the slow way
  uint32_t era, first_era, who;
  uint32_t phase_era;     // the phase's first
  uint32_t block_era;     // the block's first
  uint32_t needed_era;    // a barrier that has its reason lies between what the block did up to this era and now
  bool pending;           // skip_next, or equal.finding is set
  bool loops, rests;      // the block runs in loops over its threads; between two of their turns: none runs
  char *shared, *dynamic; // where static and dynamic shared memory begin here
  size_t shared_bytes, dynamic_bytes;
  uint8_t *known_shared; // the kernel's
  struct cell *shared_words;
  struct record *shared_records;
  struct lane *lane; // the running thread's
  int thread, warp;
  uint64_t block_state; // what the simulator keeps of a block, and how many bytes
  size_t block_state_bytes;
  struct launch *launch;
  uint64_t run;
  uint32_t phase; // barriers passed, from 1
  struct lane lanes[WARP];
  struct lane_room rooms[WARP];
  uint32_t *path; // keys of all lanes that have done the same so far; behind the last lane's, those of a warp before
  uint32_t path_room;
  uint32_t departed; // lanes that have not done the same, and keep keys of their own
  const uint32_t
      *furthest; // where the one that has gone furthest along the path stands; NULL: not asked since the lane runs
  bool lanes_are_large;
  uint32_t live[MAX_WARPS];
  uint32_t together[MAX_WARPS]; // lanes that have the same depth and last blocks; only the first's are kept
  uint8_t depth[MAX_WARPS][WARP];
  uint32_t last_block[MAX_WARPS][WARP][MAX_DEPTH]; // the basic block that was entered last, by depth of calls
  struct clock clock;
  struct fence fenced[MAX_THREADS], fenced_block[MAX_THREADS]; // each thread's last
  uint32_t any_fence, earlier_fence; // the phase of any thread's last fence, and of any's before that phase
  bool any_block_fence;
  bool has_async;          // the block has asked for asynchronous copies
  struct async *async;     // async.c
  uint32_t needed_phase;   // the last barrier that was needed ended it
  struct barrier *barrier; // the last one passed
  struct history *history; // order.c
  struct memory *shared_memory, *dynamic_memory;
  struct early *early; // race.c
  size_t early_count;
  uint32_t last_key; // of an access that was not kept as an event, where `last_at` is the tail's `key`
  const uint32_t *last_at;
  const struct lane *last_lane;
  bool skip_next; // the next access is out of bounds, which has been said
  struct {
    struct finding *finding;
    uint64_t address, before;
    unsigned bytes;
    enum finding_kind kind; // what it is if they did not
  } equal;                  // two threads wrote; did they write the same?
};

extern __thread struct look *inspect_now __attribute__((tls_model("initial-exec")));
// The running lane's, of the block that this thread looks at. `limit` is NULL where it looks at none, and while something is pending:
// then everything, or the next access, goes the slow way.
extern __thread struct tail inspect_tail __attribute__((tls_model("initial-exec")));
// Accesses and basic blocks that this thread has come by, in blocks that are looked at and in others. Those that are in lanes
// are counted by lane_flush.
extern __thread uint64_t inspect_calls __attribute__((tls_model("initial-exec")));
// FERRY_INSPECT_SCORED: in the lazy mode, where one thread runs all. What is looked at stands for as much as it did of all that was
// done, whichever blocks did it; and memory of the host in a kernel is a finding.
extern bool inspect_scored;
// FERRY_INSPECT_COUNTS=0: what lanes did is compared, and not counted as a warp's. ./ferry inspect counts in one of its two runs.
extern bool inspect_counts;
void inspect_hold(void);
void inspect_release(void);

// Writes everything to the file that FERRY_INSPECT_RECORD names. At exit, too.
void inspect_write_record(void);
extern bool inspect_died; // the program, before its end
// The same as a text (malloc), for who sends it on; NULL: no memory.
char *inspect_record_text(void);

_Noreturn void inspect_give_up(const char *why);
void *inspect_allocate(size_t bytes); // zeroed
void *inspect_allocate_aligned(size_t alignment, size_t bytes);
void *inspect_resize(void *memory, size_t bytes);
char *inspect_copy(const char *text, size_t most); // of at most so many characters

#endif
