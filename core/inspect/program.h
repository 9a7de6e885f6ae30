// SPDX-License-Identifier: MIT
// Symbols and segments of the running program (program.c).
#ifndef INSPECT_PROGRAM_H
#define INSPECT_PROGRAM_H

#include "inspect/inspect.h"

struct array {
  char *name;
  size_t offset, bytes;
  bool is_guard; // not an array: a guard variable of the C++ compiler, for an array whose elements have constructors
};
void program_read(void);
extern uint64_t program_loaded_at;
static inline uint32_t program_pc(const void *address) { // relative to the load address, as addr2line expects it
  return (uint32_t)((uint64_t)(uintptr_t)address - program_loaded_at);
}
static inline uint32_t program_pc_if(const void *address) { // 0: of NULL, where it is unknown
  return address ? program_pc(address) : 0;
}
// The access at this program counter is volatile.
void program_has_volatile(uint32_t pc);
bool program_is_volatile(uint32_t pc);
// The access at this program counter reads a member of a vector of so many bytes; 0: it does not.
void program_has_member(uint32_t pc, unsigned whole);
unsigned program_member_of(uint32_t pc);
char *program_shared(void); // this thread's thread-local segment
size_t program_shared_bytes(void);
bool program_has_data(uint64_t address, uint64_t *first,
                      uint64_t *bytes);    // in the program's variables, but not in a constant?
bool program_is_managed(uint64_t address); // a __managed__ variable
bool program_has_managed(void);
bool program_is_constant(uint64_t address, size_t *offset); // __constant__; the offset is from the first constant
size_t program_constant_bytes(void);                        // from the first constant to the end of the last
const char *program_symbol(const void *function);           // its mangled name; NULL: it has no symbol
char *program_function(const void *function); // "fill<float>(float*, int)" (malloc); NULL: it has no symbol
// The variable at this address, of the program's data: its name (malloc) and where it is; NULL: unknown.
char *program_variable(uint64_t address, uint64_t *first, uint64_t *bytes);
int program_array_at(size_t offset); // -1: no array
const struct array *program_array(int number);
int program_arrays(void);

#endif
