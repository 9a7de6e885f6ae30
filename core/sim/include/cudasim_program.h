// SPDX-License-Identifier: MIT
// What converted programs use (cu2cpp --program): launches that find their kernel as a call does, refusals.
#ifndef CUDASIM_PROGRAM_H
#define CUDASIM_PROGRAM_H

#include "cudasim_aligned_vectors.h"
#include "cudasim_graph.h"
#include "cudasim_more.h"
#include "cudasim_ptx.h"
#include "cudasim_warp.h"

// thrust, where NVIDIA's CCCL is: its algorithms run on the host (cuda/std/__cccl/compiler.h).
#ifndef THRUST_DEVICE_SYSTEM
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif

// The runtime looks whether somebody defines it. What it names is linked, also where the program calls nothing of CUDA's (crash.c).
extern "C" void sim_crash_init(void);
extern "C" __attribute__((weak, used)) void (*const cudasim_is_program)(void) = sim_crash_init;

namespace cudasim {

inline void ptx(const char *text, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  cudasim_refuse(text, file, line);
}

inline unsigned int warp_of_block(void) {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32u;
}

struct resolver {
  template <class... P> auto operator()(void (*kernel)(P...)) const {
    return kernel;
  }
};

// A launch of an overloaded name or of a template whose arguments are to be deduced: the parameters are the arguments' types, and
// each thread's call converts them.
template <class Body> struct deducing_launcher {
  Body body;
  const char *name;
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;

  template <class... A> void operator()(A... arguments) const {
    void (*none)(A...) = nullptr;
    launch(none, body, name, grid, block, shared_bytes, stream)(arguments...);
  }
};

// A launch with fewer arguments than parameters: the others have defaults, which the call in `body` knows.
template <class Known, class Body> struct named_launcher;
template <class Body, class... P> struct named_launcher<void (*)(P...), Body> {
  launcher<Body, P...> whole;
  deducing_launcher<Body> part;

  void operator()(P... arguments) const {
    whole(arguments...);
  }
  template <class... A> std::enable_if_t<(sizeof...(A) < sizeof...(P))> operator()(A... arguments) const {
    part(arguments...);
  }
};

// `resolve` answers with the kernel where its name alone says which one is meant.
template <class Resolve, class Body>
inline auto launch_call(Resolve resolve, Body body, const char *name, dim3 grid, dim3 block = dim3(1),
                        size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  const deducing_launcher<Body> part = {body, name, grid, block, shared_bytes, stream};
  if constexpr (std::is_invocable_v<Resolve, resolver>) {
    const auto kernel = resolve(resolver{});
    return named_launcher<std::remove_const_t<decltype(kernel)>, Body>{
        launch(kernel, body, name, grid, block, shared_bytes, stream), part};
  } else {
    return part;
  }
}

} // namespace cudasim

#endif
