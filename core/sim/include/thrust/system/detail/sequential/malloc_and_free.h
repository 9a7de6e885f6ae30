// SPDX-License-Identifier: MIT
// In the place of CCCL's file of this name: memory from cudasim_thrust.h.
#ifndef CUDASIM_THRUST_MALLOC_H
#define CUDASIM_THRUST_MALLOC_H
#pragma GCC system_header

#include <cudasim_thrust.h>

#include <thrust/detail/config.h>

#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/detail/sequential/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
namespace sequential {

template <class Policy> inline void *malloc(execution_policy<Policy> &, std::size_t bytes) {
  return ::cudasim::thrust_allocate(bytes);
}

template <class Policy, class Pointer> inline void free(execution_policy<Policy> &, Pointer pointer) {
  (void)cudaFree(thrust::raw_pointer_cast(pointer));
}

} // namespace sequential
} // namespace detail
} // namespace system
THRUST_NAMESPACE_END

#endif
