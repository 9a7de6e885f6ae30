// Which memory an address is, whether it is allocated and has been written (memory.c).
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include "inspect/inspect.h"

struct sim_region;

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
void memory_wrote(const struct sim_region *region);
// Of memory that the host shares.
void memory_host_writes(uint64_t address, size_t bytes);
bool memory_is_allocated(uint64_t address);
void memory_copied(const struct sim_region *to, const struct sim_region *from);
bool memory_is_newer(uint64_t address, uint32_t era);         // than what began with that era
const struct allocation *memory_allocation(uint64_t address); // that has this byte, freed or not; NULL: none
const struct allocation *memory_live(size_t *index);          // the next one from *index on that has not been freed

#endif
