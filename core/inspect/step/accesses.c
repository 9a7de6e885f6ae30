// SPDX-License-Identifier: MIT
// The arrays of shared and global memory that the block touches, and the accesses of each step.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/program.h"
#include "inspect/shadow/memory.h"
#include "inspect/step/step.h"

struct step_array *step_arrays;
int step_array_count;

enum { MARGIN = 4096 }; // so far beyond its end an access counts as one of an allocation

static int add_array(struct step_array array) {
  static int room;
  step_arrays = step_grown(step_arrays, step_array_count, &room, sizeof *step_arrays);
  step_arrays[step_array_count] = array;
  return step_array_count++;
}

void cudasim_step_shared(const char *name, void *address, const struct cudasim_step_type *type, int dynamic) {
  const uint64_t at = (uint64_t)(uintptr_t)address;
  struct step_array array = {.shared = true, .address = at, .element = type->bytes, .kind = type->kind};
  for (int i = 0; i < step_array_count; i++)
    if (step_arrays[i].shared && step_arrays[i].address == at && strcmp(step_arrays[i].name, name) == 0)
      return;
  array.name = inspect_copy(name, SIZE_MAX);
  array.bytes = dynamic ? step_block.dynamic_bytes : (uint64_t)type->bytes * type->count;
  array.members = type->members;
  for (unsigned i = 0; !dynamic && i < CUDASIM_STEP_DIMENSIONS; i++)
    array.dimensions[i] = type->dimensions[i];
  if (dynamic && type->bytes)
    array.dimensions[0] = (unsigned)(array.bytes / type->bytes);
  add_array(array);
  step_settle(step_lane());
  memset(address, STEP_UNSET, array.bytes); // nothing has been written there
}

int step_array_at(uint64_t address) {
  for (int i = 0; i < step_array_count; i++)
    if (address - step_arrays[i].address < step_arrays[i].bytes)
      return i;
  return -1;
}

void step_note_pointer(const char *name, const struct cudasim_step_type *type, uint64_t pointer) {
  const struct allocation *a = memory_allocation(pointer);
  if (a == NULL || a->freed || type->pointed_bytes == 0 || step_array_at(pointer) >= 0)
    return;
  struct step_array array = {.name = inspect_copy(a->name ? a->name : name, SIZE_MAX),
                             .address = a->address,
                             .bytes = a->bytes,
                             .element = type->pointed_bytes,
                             .kind = type->pointed};
  array.dimensions[0] = (unsigned)(array.bytes / array.element);
  add_array(array);
}

// An allocation has the name and the elements of the first pointer in scope that leads into it.
static void name_allocation(struct step_array *array) {
  const struct step_lane *lane = step_lane();
  for (int d = 0; d < lane->depth; d++)
    for (int i = 0; i < lane->frames[d].seen_count; i++) {
      const struct step_seen *seen = &lane->frames[d].seen[i];
      const struct cudasim_step_type *type = &step_variables[seen->variable].type;
      uint64_t pointer;
      if (type->kind != 'p' || type->count != 1)
        continue;
      memcpy(&pointer, seen->address, sizeof pointer);
      if (pointer - array->address >= array->bytes)
        continue;
      array->name = inspect_copy(step_variables[seen->variable].name, SIZE_MAX);
      if (type->pointed_bytes) {
        array->kind = type->pointed;
        array->element = type->pointed_bytes;
      }
      return;
    }
}

static int new_global_array(uint64_t address, unsigned bytes, enum space space) {
  struct step_array array = {.element = bytes, .kind = 'u'};
  const struct allocation *a = memory_allocation(address);
  if (space == SPACE_VARIABLE) {
    array.name = program_variable(address, &array.address, &array.bytes);
    for (int i = 0; array.name && i < step_array_count; i++) // where a shared array of the file's is, not the array
      if (step_arrays[i].shared && strcmp(step_arrays[i].name, array.name) == 0) {
        free(array.name);
        return -1;
      }
    if (array.name == NULL)
      return -1;
  } else if (a == NULL) {
    return -1;
  } else {
    array.address = a->address;
    array.bytes = a->bytes;
    if (a->name)
      array.name = inspect_copy(a->name, SIZE_MAX);
    else
      name_allocation(&array);
  }
  if (array.name == NULL)
    array.name = inspect_copy("memory", SIZE_MAX);
  array.dimensions[0] = (unsigned)(array.bytes / array.element);
  return add_array(array);
}

// The array before an address that is in none: an access beyond its end.
static int array_before(uint64_t address, bool shared) {
  int best = -1;
  for (int i = 0; i < step_array_count; i++)
    if (step_arrays[i].shared == shared && address >= step_arrays[i].address &&
        address - step_arrays[i].address < step_arrays[i].bytes + MARGIN &&
        (best < 0 || step_arrays[i].address > step_arrays[best].address))
      best = i;
  return best;
}

static int array_of(uint64_t address, unsigned bytes, enum space space) {
  const bool shared = space == SPACE_SHARED || space == SPACE_DYNAMIC;
  int array = step_array_at(address);
  if (array < 0 && !shared)
    array = new_global_array(address, bytes, space);
  return array < 0 ? array_before(address, shared) : array;
}

// The lane's access at this place in the program: the first that it is not part of yet.
static int access_of(struct step *s, char kind, uint32_t event, int array, unsigned bytes, int lane) {
  for (int i = 0; i < s->access_count; i++) {
    const struct step_access *a = &s->accesses[i];
    if (a->event == event && a->kind == kind && a->array == array && a->bytes == bytes && !(a->lanes >> lane & 1))
      return i;
  }
  if ((s->access_count & (s->access_count - 1)) == 0)
    s->accesses =
        inspect_resize(s->accesses, (s->access_count ? 2 * (size_t)s->access_count : 1) * sizeof *s->accesses);
  s->accesses[s->access_count] = (struct step_access){.kind = kind, .event = event, .array = array, .bytes = bytes};
  return s->access_count++;
}

static void await(struct step_lane *lane, int access, uint64_t address, unsigned bytes) {
  lane->pending = step_grown(lane->pending, lane->pending_count, &lane->pending_room, sizeof *lane->pending);
  lane->pending[lane->pending_count++] = (struct step_pending){access, address, bytes};
}

void step_settle(struct step_lane *lane) {
  for (int i = 0; i < lane->pending_count; i++) {
    const struct step_pending *p = &lane->pending[i];
    struct step_access *a = &step_steps[lane->step].accesses[p->access];
    const int number = (int)(lane - step_block.lanes);
    memcpy(a->value[number % WARP], (const void *)(uintptr_t)p->address, p->bytes); // NOLINT
    if (memcmp(a->value[number % WARP], a->before[number % WARP], p->bytes) != 0)
      step_turns_change(number / WARP);
  }
  lane->pending_count = 0;
}

bool step_is_unset(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != STEP_UNSET)
      return false;
  return count > 0;
}

// A read of a variable of the thread's own: has it a value?
static void check_own(const struct step_lane *lane, uint64_t address, unsigned bytes) {
  for (int d = 0; d < lane->depth; d++)
    for (int i = 0; i < lane->frames[d].seen_count; i++) {
      const struct step_seen *seen = &lane->frames[d].seen[i];
      const struct step_variable *v = &step_variables[seen->variable];
      if (address - (uint64_t)(uintptr_t)seen->address < seen->bytes && v->type.kind != 'x' && v->type.kind != 'c' &&
          step_is_unset((const unsigned char *)(uintptr_t)address, bytes)) // NOLINT
        step_found_unset(v->name);
    }
}

void step_access(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  struct step_lane *lane = step_lane();
  struct memory *memory;
  size_t offset;
  const char kind = is_read(event) ? 'r' : is_write(event) ? 'w' : 'a';
  const enum space space = memory_space(bs, address, &memory, &offset);
  if (lane->depth == 0 || bytes > STEP_ACCESS_BYTES)
    return;
  step_settle(lane);
  if (space == SPACE_NONE) {
    if (kind == 'r')
      check_own(lane, address, bytes);
    return;
  }
  const int array = array_of(address, bytes, space);
  lane->array = array;
  if (array < 0)
    return;
  lane->offset = (int64_t)(address - step_arrays[array].address);
  struct step *s = step_of_thread();
  const int number = bs->thread % WARP, at = access_of(s, kind, event, array, bytes, number);
  struct step_access *a = &s->accesses[at];
  a->lanes |= 1u << number;
  a->offset[number] = (int64_t)(address - step_arrays[array].address);
  if (a->offset[number] + bytes > (int64_t)step_arrays[array].bytes) {
    memset(a->value[number], STEP_UNSET, bytes); // what is beyond the end is not part of the array
    return;
  }
  memcpy(a->value[number], (const void *)(uintptr_t)address, bytes); // NOLINT
  memcpy(a->before[number], a->value[number], bytes);
  if (kind != 'r')
    await(lane, at, address, bytes);
}
