// SPDX-License-Identifier: MIT
// Shadow memory: the address space of an address; for each byte of device memory, whether it is allocated and
// initialized; for each word that threads share, a shadow word with its last accesses (race.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inspect/shadow/host.h"
#include "inspect/shadow/memory.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "sim/base/plugin.h"
#include "sim/base/address.h"
#include "sim/base/sim.h"

enum { UNALLOCATED, UNWRITTEN, WRITTEN = MEMORY_WRITTEN, FREED }; // of a byte

// ---- shadow words -------------------------------------------------------------------------------------------------------

static void no_address_space(void) {
  inspect_give_up("not enough address space: set FERRY_SIM_MEMORY_MB lower");
}

static void *reserve(size_t bytes, int access) {
  void *memory = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    no_address_space();
  return memory;
}

// Zeroed. Allocated in large chunks, which is cheaper for the system.
static struct shadow_word *new_shadow_words(size_t count) {
  enum { CHUNK = 4 << 20 };
  static char *free_words;
  static size_t left;
  const size_t bytes = (count * sizeof(struct shadow_word) + 63) / 64 * 64; // none crosses a cache line
  if (bytes > left) {
    left = bytes > CHUNK ? bytes : CHUNK;
    free_words = reserve(left, PROT_READ | PROT_WRITE);
    madvise(free_words, left, MADV_HUGEPAGE);
  }
  struct shadow_word *words = (struct shadow_word *)free_words;
  free_words += bytes;
  left -= bytes;
  return words;
}

static size_t pages_of(size_t bytes) {
  return bytes / MEMORY_PAGE + 2;
}

static size_t words_of(size_t bytes) {
  return pages_of(bytes) * (MEMORY_PAGE / MEMORY_WORD);
}

// Shadow words are an array parallel to the memory, so finding one takes a multiplication. Pages that are not touched
// take no memory.
static struct memory *new_memory(size_t bytes, struct shadow_word *words) {
  struct memory *memory = inspect_allocate(sizeof *memory);
  memory->bytes = reserve(pages_of(bytes) * sizeof *memory->bytes, PROT_READ | PROT_WRITE);
  memory->words = words;
  return memory;
}

struct memory *memory_new(size_t bytes, bool shared) {
  struct memory *memory = new_memory(bytes, new_shadow_words(words_of(bytes)));
  if (shared)
    memory->shadow_states = race_shadow_states_for(memory->words, words_of(bytes));
  return memory;
}

static struct shadow_word *split(const struct memory *memory, size_t page) {
  struct shadow_word *words = &memory->words[page * (MEMORY_PAGE / MEMORY_WORD)],
                     *bytes = new_shadow_words(MEMORY_PAGE);
  for (size_t i = 0; i < MEMORY_PAGE; i++)
    race_copy_shadow_word(&bytes[i], &words[i / MEMORY_WORD]);
  for (size_t i = 0; i < MEMORY_PAGE / MEMORY_WORD; i++)
    words[i] = (struct shadow_word){.inflated = INFLATED_PER_BYTE};
  return bytes;
}

struct shadow_word *memory_shadow_words_slow(struct memory *memory, size_t offset, unsigned bytes, unsigned *count) {
  const size_t page = offset / MEMORY_PAGE, within = offset % MEMORY_PAGE;
  const bool part = bytes < MEMORY_WORD || offset % MEMORY_WORD;
  if (__builtin_expect(part && memory->bytes[page] == NULL, 0))
    memory->bytes[page] = split(memory, page);
  const unsigned end =
      // an unaligned access may cross the end of the page
      within + bytes <= MEMORY_PAGE ? bytes : (unsigned)(MEMORY_PAGE - within);
  *count = memory->bytes[page] ? end : end / MEMORY_WORD;
  return memory->bytes[page] ? &memory->bytes[page][within] : &memory->words[offset / MEMORY_WORD];
}

const struct shadow_word *memory_shadow_word(const struct memory *memory, size_t offset) {
  const struct shadow_word *bytes = memory->bytes[offset / MEMORY_PAGE];
  return bytes ? &bytes[offset % MEMORY_PAGE] : &memory->words[offset / MEMORY_WORD];
}

// ---- address spaces ------------------------------------------------------------------------------------------------------

uint8_t *memory_byte_states;
uint64_t memory_arena, memory_arena_bytes, memory_shared_begin, memory_shared_bytes;
struct memory *memory_global;
struct shadow_word *memory_global_words;
static struct memory *variables;

// All shadow memory is readable. Only that of allocated memory is writable, since writable pages count against an
// answer's limit (RLIMIT_DATA) even if they are never touched, and shadow words take four times the memory.
enum {
  OPENED = 4 << 20, // bytes of device memory whose shadow words become writable together
  OPENED_WORDS = OPENED / MEMORY_WORD
};
static bool *opened;

static void begin(void) {
  memory_arena = (uint64_t)(uintptr_t)sim.arena;
  memory_shared_begin = (uint64_t)(uintptr_t)sim.host_heap.base;
  memory_shared_bytes = sim.host_heap.capacity;
  memory_arena_bytes = memory_shared_begin + memory_shared_bytes - memory_arena;
  memory_byte_states = reserve(memory_arena_bytes + OPENED, PROT_READ);
  const size_t chunks = memory_arena_bytes / OPENED + 2, bytes = chunks * OPENED_WORDS * sizeof(struct shadow_word);
  memory_global_words = reserve(bytes, PROT_READ);
  madvise(memory_global_words, bytes, MADV_HUGEPAGE);
  memory_global = new_memory(memory_arena_bytes, memory_global_words);
  opened = inspect_allocate(chunks);
}

static void open_shadow(size_t offset, size_t bytes) {
  for (size_t i = offset / OPENED; i * OPENED < offset + bytes; i++) {
    if (opened[i])
      continue;
    if (mprotect(&memory_global_words[i * OPENED_WORDS], OPENED_WORDS * sizeof(struct shadow_word),
                 PROT_READ | PROT_WRITE) ||
        mprotect(&memory_byte_states[i * OPENED], OPENED, PROT_READ | PROT_WRITE))
      no_address_space();
    opened[i] = true;
  }
}

// Memory with any state but UNALLOCATED has writable shadow words.
static void set_states(size_t offset, size_t bytes, int state) {
  open_shadow(offset, bytes);
  memset(memory_byte_states + offset, state, bytes);
}

static bool is_variable(uint64_t address, size_t *offset) {
  uint64_t first, bytes;
  if (!program_has_data(address, &first, &bytes))
    return false;
  if (variables == NULL)
    variables = memory_new(bytes, false);
  *offset = address - first;
  return true;
}

enum space memory_space_slow(const struct block_state *bs, uint64_t address, struct memory **memory, size_t *offset) {
  if ((*offset = address - memory_arena) < memory_arena_bytes) {
    *memory = memory_global;
    return SPACE_GLOBAL;
  }
  if ((*offset = address - (uintptr_t)bs->shared) < bs->shared_bytes) {
    *memory = bs->shared_memory;
    return SPACE_SHARED;
  }
  if ((*offset = address - (uintptr_t)bs->dynamic) < SIM_MAX_SHARED) {
    *memory = bs->dynamic_memory;
    return SPACE_DYNAMIC;
  }
  if (is_variable(address, offset)) {
    *memory = variables;
    return SPACE_VARIABLE;
  }
  return SPACE_NONE;
}

bool memory_has(uint64_t address) {
  size_t offset;
  return address - memory_arena < memory_arena_bytes || is_variable(address, &offset);
}

struct shadow_word *memory_shadow_words_at(uint64_t address, unsigned bytes, unsigned *count) {
  size_t offset = address - memory_arena;
  if (offset < memory_arena_bytes)
    return memory_shadow_words(memory_global, offset, bytes, count);
  return is_variable(address, &offset) ? memory_shadow_words(variables, offset, bytes, count) : NULL;
}

// ---- allocations ---------------------------------------------------------------------------------------------------------------

static struct allocation *allocations; // in order of allocation
static size_t allocation_count, allocation_room;
static uint32_t assumed; // allocations up to this serial may have been written by uninstrumented blocks

static struct allocation *find(uint64_t address, bool exactly) {
  for (size_t i = allocation_count; i-- > 0;) {
    struct allocation *a = &allocations[i];
    if (exactly ? a->address == address && !a->freed : address - a->address < a->bytes)
      return a;
  }
  return NULL;
}

// The allocation that begins nearest before the address, or shortly after it.
static struct allocation *find_near(uint64_t address) {
  enum { FAR = 1 << 20, JUST_BEHIND = 256 };
  struct allocation *best = NULL;
  for (size_t i = 0; i < allocation_count; i++) {
    struct allocation *a = &allocations[i];
    if (!a->freed && address + JUST_BEHIND > a->address && address < a->address + a->bytes + FAR &&
        (best == NULL || a->address > best->address))
      best = a;
  }
  return best;
}

void memory_allocated(void *address, size_t bytes, enum owner owner, const void *caller) {
  if (memory_byte_states == NULL)
    begin();
  if (allocation_count == allocation_room) {
    allocation_room = allocation_room ? 2 * allocation_room : 64;
    allocations = inspect_resize(allocations, allocation_room * sizeof *allocations);
  }
  uint64_t at = (uint64_t)(uintptr_t)address;
  uint32_t serial = (uint32_t)allocation_count + 1;
  allocations[allocation_count++] =
      (struct allocation){at, bytes, owner, program_pc(caller), serial, false, false, race_now(), NULL};
  if (owner != OF_DEVICE)
    host_begins_sharing();
  set_states(at - memory_arena, bytes, UNWRITTEN);
}

unsigned memory_paused_blocks;

// While an instrumented block polls, others change memory: the next access to words that it has read in this phase is
// checked again.
static void recheck_next(uint64_t offset, size_t bytes) {
  struct shadow_word *const words = memory_global->words;
  for (size_t i = offset / MEMORY_WORD; memory_paused_blocks > 0 && i * MEMORY_WORD < offset + bytes; i++)
    if (words[i].last.interval)
      race_recheck_next(&words[i]);
}

void memory_freed(void *address) {
  struct allocation *a = find((uint64_t)(uintptr_t)address, true);
  if (a == NULL)
    return;
  a->freed = true;
  recheck_next(a->address - memory_arena, a->bytes);
  memset(memory_byte_states + (a->address - memory_arena), FREED, a->bytes);
}

void inspect_array(void *address, size_t bytes, const char *name, bool unwritten) {
  inspect_hold();
  uint64_t at = (uint64_t)(uintptr_t)address;
  struct allocation *a = find(at, false);
  if (a && bytes <= a->address + a->bytes - at) {
    memset(memory_byte_states + (a->address - memory_arena), UNALLOCATED, at - a->address);
    memset(memory_byte_states + (at - memory_arena) + bytes, UNALLOCATED, a->address + a->bytes - at - bytes);
    if (unwritten)
      memset(memory_byte_states + (at - memory_arena), UNWRITTEN, bytes);
    a->address = at;
    a->bytes = bytes;
    free(a->name);
    a->name = inspect_copy(name, SIZE_MAX);
  }
  inspect_release();
}

const char *memory_owner(enum owner owner) {
  static const char *const names[] = {"device", "pinned", "managed"};
  return names[owner];
}

void memory_describe(const struct allocation *a, uint64_t address, char *text, size_t bytes) {
  if (a == NULL)
    snprintf(text, bytes, "device memory");
  else if (a->name)
    snprintf(text, bytes, "byte %zd of %s, which has %zu", (ssize_t)(address - a->address), a->name, a->bytes);
  else
    snprintf(text, bytes, "byte %zd of %zu in %s memory", (ssize_t)(address - a->address), a->bytes,
             memory_owner(a->owner));
}

void memory_given_back(void *address) {
  struct allocation *a = find((uint64_t)(uintptr_t)address, true);
  if (a)
    a->reset = true;
}

void memory_reset(int device) {
  for (size_t i = 0; i < allocation_count; i++)
    allocations[i].reset |=
        allocations[i].owner != OF_DEVICE || sim_device_of((const void *)(uintptr_t)allocations[i].address) == device;
}

const struct allocation *memory_live(size_t *index) {
  while (*index < allocation_count) {
    const struct allocation *a = &allocations[(*index)++];
    if (!a->freed && !a->reset)
      return a;
  }
  return NULL;
}

const struct allocation *memory_allocation(uint64_t address) {
  return address - memory_arena < memory_arena_bytes ? find(address, false) : NULL;
}

bool memory_is_newer(uint64_t address, uint32_t interval) {
  const struct allocation *a = memory_allocation(address);
  return a && a->interval > interval;
}

void memory_host_writes(uint64_t address, size_t bytes) {
  uint8_t *state = memory_byte_states + (address - memory_arena);
  for (size_t i = 0; i < bytes; i++)
    if (state[i] == UNWRITTEN)
      state[i] = WRITTEN;
}

bool memory_is_allocated(uint64_t address) {
  const uint8_t state = memory_byte_states[address - memory_arena];
  return state == UNWRITTEN || state == WRITTEN;
}

void memory_wrote(const struct sim_region *region) {
  const uint64_t offset = (uint64_t)(uintptr_t)region->address - memory_arena;
  if (memory_byte_states && offset < memory_arena_bytes)
    for (size_t row = 0; row < region->rows; row++)
      set_states(offset + row * region->pitch, region->bytes, WRITTEN);
}

static void row_copied(uint64_t to, uint64_t from, size_t bytes) {
  const uint64_t offset = to - memory_arena, source = from - memory_arena;
  if (memory_byte_states == NULL || offset >= memory_arena_bytes)
    return;
  recheck_next(offset, bytes);
  open_shadow(offset, bytes);
  if (source < memory_arena_bytes - memory_shared_bytes)
    memmove(memory_byte_states + offset, memory_byte_states + source, bytes);
  else
    memset(memory_byte_states + offset, WRITTEN, bytes);
}

void memory_copied(const struct sim_region *to, const struct sim_region *from) {
  for (size_t row = 0; row < to->rows; row++)
    row_copied((uint64_t)(uintptr_t)to->address + row * to->pitch,
               (uint64_t)(uintptr_t)from->address + row * from->pitch, to->bytes);
}

void memory_assume_written(void) {
  assumed = (uint32_t)allocation_count;
}

// ---- invalid accesses -----------------------------------------------------------------------------------------------------

// A read of uninitialized memory. If another block writes it later, it is a race instead.
struct late {
  uint64_t address, instance;
  uint32_t event;
  int thread;
};
enum { MOST_LATE = 4096 };

static void out_of_bounds(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  open_shadow(address - memory_arena, bytes);
  const struct allocation *near = find_near(address);
  struct location location = {.first = event_pc(event), .third = near ? near->pc : 0};
  char what[200] = "an address where nothing is allocated";
  if (near)
    memory_describe(near, address, what, sizeof what);
  finding_add(FIND_BOUNDS_GLOBAL, bs->launch->kernel, location, "%u byte%s at %s: thread %d of block %u", bytes,
              bytes == 1 ? "" : "s", what, bs->thread, block_of(bs->launch, bs->instance));
}

static void use_after_free(struct block_state *bs, uint64_t address, uint32_t event) {
  const struct allocation *a = find(address, false);
  finding_add(FIND_FREED, bs->launch->kernel, (struct location){.first = event_pc(event), .third = a ? a->pc : 0},
              "memory of %zu bytes: thread %d of block %u", a ? a->bytes : 0, bs->thread,
              block_of(bs->launch, bs->instance));
}

// Host memory may have been written by uninstrumented functions: then it no longer has the simulator's fill pattern.
static bool is_as_allocated(uint64_t address, unsigned bytes) {
  const uint8_t *at = (const uint8_t *)(uintptr_t)address; // NOLINT
  while (bytes > 0 && at[bytes - 1] == 0xff)
    bytes--;
  return bytes == 0;
}

static void unwritten(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  struct launch *launch = bs->launch;
  const struct allocation *a = find(address, false);
  if ((a && a->serial <= assumed) || launch->late_count == MOST_LATE)
    return;
  if (a && a->owner != OF_DEVICE && !is_as_allocated(address, bytes)) {
    memset(memory_byte_states + (address - memory_arena), WRITTEN, bytes);
    return;
  }
  if (launch->late == NULL)
    launch->late = inspect_allocate(MOST_LATE * sizeof *launch->late);
  launch->late[launch->late_count++] = (struct late){address, bs->instance, event, bs->thread};
}

// A read counts as uninitialized if all of its bytes are: a vector or struct may have padding.
void memory_check(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  uint8_t *state = memory_byte_states + (address - memory_arena);
  bool written = false, unwritten_byte = false;
  for (unsigned i = 0; i < bytes; i++) {
    if (state[i] == UNALLOCATED || state[i] == FREED) {
      if (state[i] == FREED)
        use_after_free(bs, address + i, event);
      else
        out_of_bounds(bs, address, bytes, event);
      return;
    }
    written |= state[i] == WRITTEN;
    unwritten_byte |= state[i] == UNWRITTEN;
  }
  bool reads = is_read(event) || (is_atomic(event) && bs->atomic.kind != ATOMIC_EXCHANGES);
  if (reads && !written)
    unwritten(bs, address, bytes, event);
  if (unwritten_byte && !is_read(event))
    memset(state, WRITTEN, bytes);
}

static bool written_by_another(const struct launch *launch, const struct late *late) {
  struct access write;
  return race_last_write(memory_shadow_word(memory_global, late->address - memory_arena), &write) &&
         write.instance >= launch->first_instance && write.instance < launch->end_instance &&
         (write.instance != late->instance || write.thread != late->thread) && !is_atomic(write.event);
}

void memory_resolve_late(struct launch *launch) {
  for (size_t i = 0; i < launch->late_count; i++) {
    const struct late *late = &launch->late[i];
    if (written_by_another(launch, late)) // a race, which has been reported
      continue;
    const struct allocation *a = find(late->address, false);
    char what[200];
    memory_describe(a, late->address, what, sizeof what);
    finding_add(FIND_UNINITIALIZED_GLOBAL, launch->kernel,
                (struct location){.first = event_pc(late->event), .third = a ? a->pc : 0}, "%s: thread %d of block %u",
                what, late->thread, block_of(launch, late->instance));
  }
  launch->late_count = 0;
}
