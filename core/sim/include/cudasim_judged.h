// SPDX-License-Identifier: MIT
// For kernels that are compiled to be judged (-DCUDASIM_JUDGED, cu2cpp --judge): shared arrays with guards on both sides that the
// runtime knows by name, and atomic operations that it is told of. engine/store_buffer.h, engine/shared.c.
#ifndef CUDASIM_JUDGED_H
#define CUDASIM_JUDGED_H

#include <stddef.h>

CUDASIM_BEGIN_C
enum { CUDASIM_SHARED_GUARD = 1024 };
// `array` lies between two guards; it and they are filled, and looked at from now on by this operating-system thread.
void cudasim_shared_array(void *array, size_t bytes, size_t element_bytes, const char *name);
void cudasim_exclusive_begin(void *address, size_t bytes);
void cudasim_exclusive_end(const void *address, size_t bytes);
void cudasim_fence_block(void);
CUDASIM_END_C

#ifdef __cplusplus
#include <type_traits>

namespace cudasim {

// cu2cpp turns  __shared__ float a[4][5];  into  __shared__ cudasim::guarded<float[4][5]> cudasim_of_a; auto &a = ...of("a");
template <class T> struct guarded {
  alignas(128) char before[CUDASIM_SHARED_GUARD];
  alignas(128) T array;
  char behind[CUDASIM_SHARED_GUARD];
  bool known;

  __forceinline__ T &of(const char *name) {
    if (__builtin_expect(!known, 0)) {
      known = true;
      cudasim_shared_array(&array, sizeof array, sizeof(std::remove_all_extents_t<T>), name);
    }
    return array;
  }
};

struct exclusive {
  void *address;
  size_t bytes;
  template <class T> explicit exclusive(T *at) : address(at), bytes(sizeof *at) {
    cudasim_exclusive_begin(address, bytes);
  }
  ~exclusive() {
    cudasim_exclusive_end(address, bytes);
  }
};

} // namespace cudasim
#endif

#endif
