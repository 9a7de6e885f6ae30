// What the files of the inspector share. A block that is looked at runs while `inspect_lock` is held, so all of this but the
// callbacks' first test is used by one thread at a time.
//
//   callbacks.c   what the compiler has put into the kernel calls: each access, each basic block
//     memory.c    which memory an address is, whether it is allocated and has been written
//     race.c      the last accesses to each word, and what is wrong about the next; word.h: where nothing is; order.c: fences and
//                 atomics; past.c: launches and copies of other streams
//     access.h    what most accesses come to, in line; lane.c: each lane's events, kept until the warp is complete
//       replay.c  lanes into warp instructions; flow.c: where paths that part meet again
//       request.c sectors and wavefronts of one warp instruction
//   counts.c      all of it as numbers for a modelled GPU (core/model); mix.c: what a basic block computes
//   async.c       asynchronous copies to shared memory
//   host.c        the host's own accesses to memory that copies read and write
//   look.c        what the simulator tells: launches, blocks, barriers
//   finding.c, record.c   what was found, and the file that ./ferry reads
#ifndef INSPECT_INSPECT_H
#define INSPECT_INSPECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / WARP, MAX_DEPTH = 16 };

// ---- events ----------------------------------------------------------------------------------------------------------------

// An event of a lane is a key: a place in the program and a kind. Accesses come in five sizes, 1 << (kind - first of its five).
enum event {
  EVENT_BLOCK,
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

// One place of the program, as warps came to it.
struct site {
  uint32_t key;
  bool shared;                  // memory; else global
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

struct flow;   // flow.c
struct record; // word.h

struct kernel {
  char *name;
  unsigned int grid[3], block[3];
  size_t dynamic_bytes;
  uint64_t launches, blocks, looked;
  bool shapes_differ, cut; // cut: a thread did more than is kept of one
  bool lanes_are_large;    // some had more events than there is room for side by side
  struct site *sites;      // a hash table
  uint32_t site_count, site_room;
  struct barrier *barriers;
  uint8_t *arrays;           // by number of the shared array: touched
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

enum finding_kind {
  FIND_RACE_BLOCK,
  FIND_RACE_WARP,
  FIND_RACE_GRID,
  FIND_RACE_STREAM,
  FIND_RACE_HOST,
  FIND_RACE_ASYNC,
  FIND_EQUAL,
  FIND_DIVERGENT,
  FIND_LANES,
  FIND_LIVELOCK,
  FIND_UNINITIALISED_SHARED,
  FIND_UNINITIALISED_GLOBAL,
  FIND_BOUNDS_GLOBAL,
  FIND_BOUNDS_ARRAY,
  FIND_BOUNDS_DYNAMIC,
  FIND_MISALIGNED,
  FIND_FREED,
  FIND_ILLEGAL,
  FIND_ARGUMENT,
  FIND_LEAK,
  FINDINGS
};

// ---- a block that is looked at ------------------------------------------------------------------------------------------------

struct launch {
  struct kernel *kernel;
  uint32_t first_run, end_run; // every block of every launch has a number of its own, its run
  uint32_t first_era;      // its eras and those of launches that nothing orders before it are from here on, and others'
  unsigned int first, end; // blocks that are looked at
  unsigned int threads;
  size_t dynamic_bytes;
  const struct sim_stamp *stamp; // what is ordered before it; NULL: everything
  struct sync **syncs;           // order.c
  size_t sync_room;
  struct history *histories;
  struct late *late; // reads of memory that nothing had written
  size_t late_count;
  struct counted *counted;      // counts.c: what it has done
  uint64_t calls, looked_calls; // in all its blocks, and in those that are looked at
  uint32_t *constants;          // past.c
  uint64_t closure;             // where its arguments are, and how many bytes
  size_t closure_bytes;
};

// One access.
struct note {
  uint32_t run, key, phase;
  // epoch: meetings of its warp up to the last that the thread has taken part in; a fence of its own is one, too
  uint16_t thread, epoch;
};

// The same as a word remembers it. An era is one phase of one block, from 1; race.c knows of each which.
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

enum { MEETINGS = 256 };

// __threadfence(), or __threadfence_block(): in which phase (0: never), and which epoch of its thread begins behind it.
struct fence {
  uint32_t phase;
  uint16_t epoch;
};

// Each worker thread has one. First what each access asks for.
struct look {
  struct tail
      tail; // the running lane's; `limit` is NULL while something is pending, so that the next access goes the slow way
  uint32_t era, first_era, who;
  uint32_t block_era;     // the block's first
  uint32_t needed_era;    // a barrier that has its reason lies between what the block did up to this era and now
  bool pending;           // skip_next, or equal.finding is set
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
  uint32_t run, phase; // phase: barriers passed, from 1
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
  uint32_t meetings[MAX_WARPS];
  uint32_t met[MAX_WARPS][MEETINGS];
  uint16_t epoch[MAX_THREADS];
  uint16_t met_last[MAX_THREADS];                              // the last of them in which the thread met others
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
void inspect_hold(void);
void inspect_release(void);

// ---- memory.c ----------------------------------------------------------------------------------------------------------------

// VARIABLE: of the program, __device__ or __constant__. NONE: a thread's own, or the host's.
enum space { SPACE_NONE, SPACE_GLOBAL, SPACE_SHARED, SPACE_DYNAMIC, SPACE_VARIABLE };
enum { SIM_MAX_SHARED = 232448 };

// PINNED and MANAGED: memory of the host that kernels may use.
enum owner { OF_DEVICE, PINNED, MANAGED };

struct allocation {
  uint64_t address;
  size_t bytes;
  enum owner owner;
  uint32_t place, serial;
  bool freed,
      reset; // reset: by cudaDeviceReset or a graph, which is as good as freeing it, but that the simulator keeps the memory
  uint32_t era; // what is older is nothing of this memory
  char *name;   // of the array in it, if anybody said one
};

enum { MEMORY_PAGE = 32768, MEMORY_WORD = 4, MEMORY_WRITTEN = 2 };

// A page has a cell for each word, until somebody accesses a part of a word; then one for each byte. Its words' cells are none's
// from then on, and say so by a record that there is not, so that nobody has to ask before he looks at a word's cell.
static const uint32_t MORE_IS_BYTES = 1u << 31;
struct memory {
  struct cell *words;     // of the whole memory, each
  struct cell **bytes;    // of each page its bytes' cells; else NULL
  struct record *records; // of shared memory: each word's, side by side; else NULL
};

extern uint8_t *memory_states;                            // a byte for each byte of the devices' memory
extern uint64_t memory_arena, memory_arena_bytes;         // devices' memory, and behind it the host's that they share
extern uint64_t memory_shared_begin, memory_shared_bytes; // the latter alone
extern struct memory *memory_global;
extern unsigned memory_paused_looks;     // blocks that others may run beside for now
extern struct cell *memory_global_words; // its `words`

struct memory *memory_new(size_t bytes, bool shared);
struct cell *memory_cells_slow(struct memory *memory, size_t offset, unsigned bytes, unsigned *count);
const struct cell *memory_cell(const struct memory *memory, size_t offset);
// Of devices' memory, and what they share with the host, or of a variable of the program; NULL: of neither.
struct cell *memory_cells_at(uint64_t address, unsigned bytes, unsigned *count);
bool memory_has(uint64_t address); // such memory
enum space memory_space_slow(const struct look *l, uint64_t address, struct memory **memory, size_t *offset);
// Tells of global memory that is not allocated, or that nothing has written, and marks what is written now.
void memory_check(struct look *l, uint64_t address, unsigned bytes, uint32_t key);

// The cells of `bytes` bytes at `offset`: how many in *count.
static inline struct cell *memory_cells(struct memory *memory, size_t offset, unsigned bytes, unsigned *count) {
  if (memory->bytes[offset / MEMORY_PAGE] || bytes < MEMORY_WORD || offset % MEMORY_WORD ||
      offset % MEMORY_PAGE + bytes > MEMORY_PAGE)
    return memory_cells_slow(memory, offset, bytes, count);
  *count = bytes / MEMORY_WORD;
  return &memory->words[offset / MEMORY_WORD];
}

static inline enum space memory_space(const struct look *l, uint64_t address, struct memory **memory, size_t *offset) {
  if ((*offset = address - memory_arena) >= memory_arena_bytes)
    return memory_space_slow(l, address, memory, offset);
  *memory = memory_global;
  return SPACE_GLOBAL;
}

void memory_resolve_late(struct launch *launch);
void memory_assume_written(void);
void memory_allocated(void *address, size_t bytes, enum owner owner, const void *caller);
void memory_freed(void *address);
void memory_given_back(void *address);
void memory_reset(int device);
// For those who put guards round an array: of the memory here these bytes are the array; nobody has written them yet, or as it was.
void inspect_array(void *address, size_t bytes, const char *name, bool unwritten);
// "byte 12 of out", "byte 12 of 400": into `text`.
const char *memory_owner(enum owner owner); // "device"
void memory_describe(const struct allocation *a, uint64_t address, char *text, size_t bytes);
struct sim_region;
void memory_wrote(const struct sim_region *region);
// Of memory that the host shares.
void memory_host_writes(uint64_t address, size_t bytes);
bool memory_is_allocated(uint64_t address);
void memory_copied(const struct sim_region *to, const struct sim_region *from);
bool memory_is_newer(uint64_t address, uint32_t era);         // than what began with that era
const struct allocation *memory_allocation(uint64_t address); // that has this byte, freed or not; NULL: none
const struct allocation *memory_live(size_t *index);          // the next one from *index on that has not been freed

// What a copy of the running thread writes has been read since this era.
void race_in_flight(struct look *l, uint64_t address, unsigned bytes, uint32_t key, uint32_t era);

// ---- async.c ---------------------------------------------------------------------------------------------------------------------

// What the simulator tells of the running thread (sim/inspector.h).
void async_write(const void *to, size_t bytes, const void *caller);
void async_commit(void);
void async_wait(size_t prior);
void async_end_thread(void);

// ---- host.c ------------------------------------------------------------------------------------------------------------------------

struct sim_region;
struct sim_stamp;
extern atomic_bool host_watches; // the host has not waited for a copy of its memory, or shares some with kernels
void host_queued(const struct sim_region *region, bool writes, const void *caller, const struct sim_stamp *stamp);
void host_begins_sharing(void);
void host_access_watched(uint64_t address, size_t bytes, uint32_t place, bool writes);
static inline void host_access(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  if (__builtin_expect(atomic_load_explicit(&host_watches, memory_order_relaxed), 0))
    host_access_watched(address, bytes, place, writes);
}
// Atomic, or volatile.
void host_access_strong(uint64_t address, size_t bytes, uint32_t place, bool writes);

// ---- program.c: the running program's own parts ----------------------------------------------------------------------------------

struct array {
  char *name;
  size_t offset, bytes;
  bool is_guard; // none: where the compiler notes that an array of objects has been constructed
};
void program_read(void);
extern uint64_t program_loaded_at;
static inline uint32_t program_place(const void *address) { // as addr2line wants it
  return (uint32_t)((uint64_t)(uintptr_t)address - program_loaded_at);
}
static inline uint32_t program_place_if(const void *address) { // 0: of NULL, where nobody knows
  return address ? program_place(address) : 0;
}
// The access at this place in the program is volatile.
void program_has_volatile(uint32_t place);
bool program_is_volatile(uint32_t place);
char *program_shared(void); // this thread's thread-local memory
size_t program_shared_bytes(void);
bool program_has_data(uint64_t address, uint64_t *first,
                      uint64_t *bytes);    // is it in the program's variables, and no constant?
bool program_is_managed(uint64_t address); // it is a variable that the host shares
bool program_has_managed(void);
bool program_is_constant(uint64_t address, size_t *offset); // __constant__; the offset is from the first of all
size_t program_constant_bytes(void);                        // from there to the end of the last
int program_array_at(size_t offset);                        // -1: no array
const struct array *program_array(int number);
int program_arrays(void);

// ---- the rest --------------------------------------------------------------------------------------------------------------------

// The lanes of a block of this kernel, which have no events yet.
void lanes_begin(struct look *l, const struct kernel *kernel);
void lane_flush(struct look *l);
// Another lane's events come from here on; or the same one's, where what is pending has changed.
static inline void lane_enter(struct look *l, struct lane *lane) {
  l->lane = lane;
  l->furthest = NULL;
  inspect_tail = lane->tail;
  if (__builtin_expect(l->pending, 0))
    inspect_tail.limit = NULL;
}
static inline void lane_leave(struct look *l) {
  l->lane->tail.key = inspect_tail.key;
}
// Of a lane that does not what stands in the path: another lane did something else, or none of this warp has come so far.
void lane_leave_path(uint32_t key);
// There has to be room.
static inline void lane_keep(uint64_t address, uint32_t key) {
  uint32_t *const at = inspect_tail.key;
  *(uint64_t *)(inspect_tail.addresses + 2 * (uintptr_t)at) = address;
  if (__builtin_expect(*at == key, 1))
    inspect_tail.key = at + 1;
  else
    lane_leave_path(key);
}
static inline void lane_pend(struct look *l) { // the next access goes the slow way
  l->pending = true;
  inspect_tail.limit = NULL;
}
// The slow ways of access.h.
void lane_event(struct look *l, uint32_t key);
void lane_access(struct look *l, uint64_t address, unsigned bytes, uint32_t key);
// Neither global memory nor static shared memory.
void lane_elsewhere(struct look *l, uint64_t address, unsigned bytes, uint32_t key);
// Of a word, of which access.h has not seen that there is nothing to say; of shared memory with the record that is its own, used or not.
void lane_read_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key);
void lane_write_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key);
void lane_read_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record);
void lane_write_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record);
uint32_t lane_last_key(const struct look *l);
void replay(struct look *l, uint32_t active);
bool replay_whole(struct look *l, uint32_t count); // all lanes did the same so many events; false: not from one place
void request_count(struct site *site, const uint64_t *addresses, unsigned lanes, unsigned bytes);

// What a launch did, for a device that plays a GPU; elsewhere `counts_wanted` is false, and these do nothing. The sectors from the first to the last were
// touched by one request.
void counts_begin_launch(struct launch *launch);
void counts_end_launch(struct launch *launch);
void counts_begin_block(struct launch *launch);
void counts_end_block(void);
struct modelled { // of all launches together
  double seconds, term[6], least, resident, share, launches;
  double stored_sectors, stored_bytes;
  double uneven; // at most of a launch: what its blocks did, over what those that were looked at stand for
};
extern bool counts_wanted;
void counts_touched(uint32_t key, uint64_t first, uint64_t last);
void counts_met(uint64_t address, unsigned lanes); // of one request, atomically, in global memory

// Instructions of a basic block, as a GPU would have them: multiply-adds (which fp32 has, too), float32, float64, ...
struct mix {
  uint32_t place;
  int fma, fp32, fp64, integer, special, divisions;
};
void mix_read(void);
bool mix_known(void); // false: nobody has told, and nothing is known of any block
const struct mix *mix_at(uint32_t place);

struct flow *flow_new(void);
void flow_learn(struct flow *flow, const struct lane *lane, unsigned depth, const uint32_t last[MAX_DEPTH]);
// The basic block where all paths from this one meet; 0: where the function returns.
uint32_t flow_meets(struct flow *flow, uint32_t block);

uint32_t race_now(void); // the next era
uint32_t race_new_era(uint32_t run, uint32_t phase);
void race_forget(void); // all eras, while no block runs
struct note race_note_of(const struct mark *mark);
const char *race_verb(uint32_t key);
void race_begin_phase(struct look *l); // l->run and l->phase are new
void race_check(struct look *l, struct cell *cells, unsigned count, uint32_t key, uint64_t address, enum space space);
void race_copy_cell(struct cell *to, const struct cell *from);
void race_ask_again(struct cell *cell); // about the next access of the cell's word, whoever has read it in this phase
// Records that these cells will have once they need one.
struct record *race_records_for(const struct cell *cells, size_t count);
bool race_last_write(const struct cell *cell, struct note *write); // false: none, as far as anybody knows
static inline void race_thread_runs(struct look *l) {              // l->thread, or its epoch, is new
  l->who = (uint32_t)l->thread | (uint32_t)l->epoch[l->thread] << WHO_EPOCH_AT;
}
void race_barrier_was_needed(struct look *l); // the last one that the block has passed
// Reads of shared memory that nothing had written, at the end of a phase.
void race_resolve_early(struct look *l);
void race_resolve_equal(struct look *l);

uint32_t look_new_run(void);           // of something else than a block
void look_begin_epoch(struct look *l); // of the running thread
void order_begin_block(struct look *l);
void order_fence(struct look *l, bool of_block);
void order_object(struct look *l, uint64_t address, bool releases);
void order_grid_barrier(struct look *l, unsigned number, bool arrives);
void order_atomic(struct look *l, uint64_t address);
void order_volatile(struct look *l, uint64_t address, bool reads);
bool order_knows(struct look *l, const struct note *before);
void order_end_launch(struct launch *launch);

struct finding {
  enum finding_kind kind;
  struct kernel *kernel;
  uint32_t first, second, third; // places; third: of the allocation
  const char *file;              // of a barrier, which knows its place by name
  int line, other_line;
  uint64_t count;
  char *detail;
};

struct place {
  uint32_t first, second, third;
  const char *file;
  int line, other_line;
};
struct finding *finding_add(enum finding_kind kind, struct kernel *kernel, struct place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool finding_has(enum finding_kind kind, struct kernel *kernel, struct place place);
const struct finding *finding_at(size_t i);

struct kernel *kernels_at(size_t i);

// Writes everything to the file that FERRY_INSPECT_RECORD names. At exit, too.
void inspect_write_record(void);
extern bool inspect_died; // the program, before its end
// The same as a text (malloc), for who sends it on; NULL: no memory.
char *inspect_record_text(void);

_Noreturn void inspect_give_up(const char *why);
void *inspect_allocate(size_t bytes); // zeroed
void *inspect_allocate_aligned(size_t alignment, size_t bytes);
void *inspect_resize(void *memory, size_t bytes);

#endif
