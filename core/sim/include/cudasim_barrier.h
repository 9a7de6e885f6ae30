// SPDX-License-Identifier: MIT
// cuda::barrier, cuda::pipeline and cuda::memcpy_async. A thread that waits polls, which lets the others of its block run. Copies
// are done at once, so that whoever asks whether they are done is told so.
#ifndef CUDASIM_BARRIER_H
#define CUDASIM_BARRIER_H

#include <stddef.h>
#include <utility>

#include "cuda_runtime.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

template <size_t Alignment> struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  constexpr explicit aligned_size_t(size_t bytes) : value(bytes) {
  }
  constexpr operator size_t(void) const {
    return value;
  }
};

// Plain data: a shared variable is not constructed; init() makes it one.
template <thread_scope Scope = thread_scope_system> class barrier {
  unsigned int expected, dropped, arrived, phase;

public:
  using arrival_token = unsigned int; // the phase that it ends

  barrier(void) = default;
  barrier(ptrdiff_t count) {
    begin(count);
  }
  barrier(const barrier &) = delete;
  CUDASIM_UNSEEN void begin(ptrdiff_t count) {
    expected = static_cast<unsigned int>(count);
    dropped = arrived = 0;
    __atomic_store_n(&phase, 0u, __ATOMIC_RELEASE);
  }
  friend void init(barrier *self, ptrdiff_t count) {
    self->begin(count);
  }
  CUDASIM_UNSEEN arrival_token arrive(ptrdiff_t update = 1) {
    cudasim_release(this);
    const unsigned int mine = __atomic_load_n(&phase, __ATOMIC_ACQUIRE), count = static_cast<unsigned int>(update);
    const unsigned int wanted = __atomic_load_n(&expected, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&arrived, count, __ATOMIC_ACQ_REL) == wanted) {
      __atomic_sub_fetch(&expected, __atomic_exchange_n(&dropped, 0u, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
      __atomic_store_n(&arrived, 0u, __ATOMIC_RELAXED);
      __atomic_add_fetch(&phase, 1u, __ATOMIC_RELEASE);
    }
    return mine;
  }
  CUDASIM_UNSEEN bool try_wait(arrival_token token) const {
    cudasim_poll();
    const bool done = __atomic_load_n(&phase, __ATOMIC_ACQUIRE) != token;
    if (done)
      cudasim_acquire(this);
    return done;
  }
  CUDASIM_UNSEEN void wait(arrival_token &&token) const {
    while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == token)
      cudasim_pause();
    cudasim_acquire(this);
  }
  CUDASIM_UNSEEN void wait_parity(bool parity) const {
    while ((__atomic_load_n(&phase, __ATOMIC_ACQUIRE) & 1u) == static_cast<unsigned int>(parity))
      cudasim_pause();
    cudasim_acquire(this);
  }
  void arrive_and_wait(void) {
    wait(arrive());
  }
  CUDASIM_UNSEEN void arrive_and_drop(void) {
    __atomic_add_fetch(&dropped, 1u, __ATOMIC_RELAXED);
    (void)arrive();
  }
};

// ---- pipelines ----

enum class pipeline_role { producer, consumer };

// Of a block: how many commits and releases each stage has seen.
template <thread_scope Scope, unsigned char Stages> struct pipeline_shared_state {
  unsigned int filled[Stages], freed[Stages], producers, consumers;
};

template <thread_scope Scope> class pipeline {
  unsigned int *filled, *freed; // NULL: a thread's own pipeline, in which nothing waits
  unsigned int stages, producers, consumers;
  unsigned int head, tail; // stages that this thread has committed and released

  CUDASIM_UNSEEN static void reach(const unsigned int *count, unsigned int wanted) {
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < wanted)
      cudasim_pause();
    cudasim_acquire(count);
  }
  CUDASIM_UNSEEN static void add(unsigned int *count) {
    cudasim_release(count);
    __atomic_add_fetch(count, 1u, __ATOMIC_RELEASE);
  }

public:
  pipeline(void) : filled(nullptr), freed(nullptr), stages(1), producers(1), consumers(1), head(0), tail(0) {
  }
  pipeline(unsigned int *f, unsigned int *g, unsigned int s, unsigned int p, unsigned int c)
      : filled(f), freed(g), stages(s), producers(p), consumers(c), head(0), tail(0) {
  }
  void producer_acquire(void) {
    if (freed)
      reach(&freed[head % stages], head / stages * consumers);
  }
  void producer_commit(void) {
    if (filled)
      add(&filled[head % stages]);
    head++;
  }
  void consumer_wait(void) {
    if (filled)
      reach(&filled[tail % stages], (tail / stages + 1) * producers);
  }
  void consumer_release(void) {
    if (freed)
      add(&freed[tail % stages]);
    tail++;
  }
  bool quit(void) {
    return true;
  }
};

inline pipeline<thread_scope_thread> make_pipeline(void) {
  return {};
}

template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> cudasim_make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                             bool produces, bool consumes) {
  if (group.thread_rank() == 0)
    *state = {};
  group.sync();
  atomicAdd(&state->producers, produces ? 1u : 0u);
  atomicAdd(&state->consumers, consumes ? 1u : 0u);
  group.sync();
  return {state->filled, state->freed, Stages, state->producers, state->consumers};
}
template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state) {
  return cudasim_make_pipeline(group, state, true, true);
}
template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                     pipeline_role role) {
  return cudasim_make_pipeline(group, state, role == pipeline_role::producer, role == pipeline_role::consumer);
}
template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                     size_t producers) {
  const bool first = group.thread_rank() < producers;
  return cudasim_make_pipeline(group, state, first, !first);
}

template <unsigned char Prior> inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &) {
}
template <thread_scope Scope> inline void pipeline_producer_commit(pipeline<thread_scope_thread> &, barrier<Scope> &) {
}

// ---- copies ----

template <class T, class Size, class Done> inline void memcpy_async(T *to, const T *from, Size bytes, Done &) {
  __builtin_memcpy(static_cast<void *>(to), static_cast<const void *>(from), static_cast<size_t>(bytes));
}
template <class Size, class Done> inline void memcpy_async(void *to, const void *from, Size bytes, Done &) {
  __builtin_memcpy(to, from, static_cast<size_t>(bytes));
}
template <class Group, class T, class Size, class Done>
inline void memcpy_async(const Group &group, T *to, const T *from, Size bytes, Done &) {
  for (size_t at = group.thread_rank(); at < static_cast<size_t>(bytes); at += group.size())
    reinterpret_cast<char *>(to)[at] = reinterpret_cast<const char *>(from)[at];
}

} // namespace cuda

#endif
