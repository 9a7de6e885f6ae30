// What a kernel calls that cu2cpp --split has made loops over a block's threads of.
#ifndef CUDASIM_SPLIT_H
#define CUDASIM_SPLIT_H

#include "cudasim_launch.h"

// Sanitizers and the inspector look at each thread by itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(CUDASIM_STATIC_SHARED) ||                 \
    defined(CUDASIM_INSPECT) || defined(CUDASIM_JUDGED)
#define CUDASIM_SPLIT 0
#else
#define CUDASIM_SPLIT 1
#endif

CUDASIM_BEGIN_C
// Whether the runtime would have a whole block run by one call: no, yes, it runs, it is done.
enum { CUDASIM_WHOLE_NO, CUDASIM_WHOLE_YES, CUDASIM_WHOLE_RUNS, CUDASIM_WHOLE_DONE };
extern __thread int cudasim_whole CUDASIM_BUILT_IN(whole);
void cudasim_passed(const char *file, int line);
CUDASIM_END_C

#ifdef __cplusplus
namespace cudasim {

enum { MOST_THREADS = 1024 }; // of a block

// threadIdx within a loop over the threads.
struct place {
  unsigned int x, y, z;
  __forceinline__ operator uint3(void) const {
    return {x, y, z};
  }
  __forceinline__ operator dim3(void) const {
    return dim3(x, y, z);
  }
};

// The loops count from `origin`, in int.
static __forceinline__ bool whole_block(unsigned int origin) {
  if (!CUDASIM_SPLIT || cudasim_whole != CUDASIM_WHOLE_YES || origin > 0x7fffffffu - MOST_THREADS)
    return false;
  cudasim_whole = CUDASIM_WHOLE_RUNS;
  return true;
}

// A barrier between two loops: all threads have come to it.
static __forceinline__ void passed(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cudasim_passed(file, line);
}

// The loop over threads that the kernel was called from ends when it sees that cudasim_thread has changed.
static __forceinline__ void whole_done(void) {
  cudasim_whole = CUDASIM_WHOLE_DONE;
  cudasim_thread = nullptr;
}

} // namespace cudasim
#endif

#endif
