// SPDX-License-Identifier: MIT
// The functions of a source text with their execution spaces: __host__, __device__, __global__. See execution_spaces.c.
#ifndef CU2CPP_EXECUTION_SPACES_H
#define CU2CPP_EXECUTION_SPACES_H

#include "sim/compile/kernel.h"

enum space { HOST_SPACE = 1, DEVICE_SPACE = 2, GLOBAL_SPACE = 4, UNKNOWN_SPACE = 8 };

struct function {
  int begin, name, open; // the first of its specifiers; the bracket of its parameters
  int body, end;         // braces; -1: a declaration
  unsigned space;        // UNKNOWN_SPACE: a macro, or constexpr, leaves it open
  bool conditional;      // it is within #if, or #if is within it
};

// Where nvcc refuses what g++ accepts.
struct refused {
  int token;
  char why[320];
};

struct space_check {
  const struct tokens *t;
  struct function *functions;
  int count, refused_count;
  struct refused refused[32];
};

__attribute__((format(printf, 3, 4))) void space_refuse(struct space_check *c, int token, const char *why, ...);
// __global__, __device__ or __host__, as messages have it.
const char *space_name(const struct function *f);
// Whether the word at i is a variable or parameter that the function declares.
bool space_is_local(const struct space_check *c, const struct function *f, int i);
// What all functions of the name at i are, as bits of `enum space`; 0: there is none, or the name means something else, too.
unsigned space_of_name(const struct space_check *c, int i);

// ---- compile/host_names.c ----

// The word at i is a function of the C or C++ library, or of the runtime's API, that nvcc refuses in device code; `relaxed`: with
// --expt-relaxed-constexpr.
bool host_library_function(const struct tokens *t, int i);
// The word behind std:: is such a function or a class with such functions.
bool host_standard_name(const struct tokens *t, int i, bool relaxed);
// A function of the device alone, such as __syncthreads.
bool device_library_function(const struct tokens *t, int i);

// ---- compile/space_rules.c ----

void space_check_variables(struct space_check *c);

// ---- compile/space_members.c ----

// The call of a member, or of a constructor, at i, in the body of a device function.
void space_check_members(struct space_check *c, const struct function *f, int i);

// ---- for cu2cpp.c ----

// Appends, behind all of the program, an error of the compiler at each place in `source` (a .cu file, not preprocessed) that nvcc
// refuses and g++ accepts. `program`: the result is preprocessed text.
void append_space_errors(const struct text *source, const char *name, bool program, bool relaxed, struct text *out);

#endif
