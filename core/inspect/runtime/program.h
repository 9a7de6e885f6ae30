// The running program's own parts: where it was loaded, and which of its variables are what (program.c).
#ifndef INSPECT_PROGRAM_H
#define INSPECT_PROGRAM_H

#include "inspect/inspect.h"

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
char *program_function(const void *function); // "fill<float>(float*, int)" (malloc); NULL: it has no symbol
int program_array_at(size_t offset);          // -1: no array
const struct array *program_array(int number);
int program_arrays(void);

#endif
