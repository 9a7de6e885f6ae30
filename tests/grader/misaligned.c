// SPDX-License-Identifier: MIT
// Judged kernels are compiled with -fsanitize=alignment (kernel_flags.h): before each access whose address does not fit its type the
// compiler calls this function. Its name is the sanitizer's, whose library is not linked.
#include "sim/engine/fault.h"

#include <stdint.h>

struct type_mismatch {
  struct {
    const char *file;
    uint32_t line, column;
  } where;
  const void *type;
  unsigned char power, kind; // the alignment is 2 to the power; a store is 1
};

void __ubsan_handle_type_mismatch_v1(const struct type_mismatch *what, const void *address);
void __ubsan_handle_type_mismatch_v1(const struct type_mismatch *what, const void *address) {
  enum { STORE = 1 };
  sim_misaligned(address, 1u << what->power, what->kind == STORE);
}
