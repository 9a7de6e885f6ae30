// SPDX-License-Identifier: MIT
// thrust::cuda::par, with a stream or without: the algorithms run on the host, one after another, as all of thrust does here.
#ifndef CUDASIM_THRUST_POLICY_H
#define CUDASIM_THRUST_POLICY_H

#include <cudasim_thrust.h>

#include <thrust/detail/config.h>

#include <thrust/execution_policy.h>
#include <thrust/extrema.h> // this and others: programs use what thrust for a GPU brings along
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/sequence.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cuda {

struct par_t : thrust::system::cpp::execution_policy<par_t> {
  par_t on(cudaStream_t) const {
    return *this;
  }
  template <class Allocator> par_t operator()(Allocator &&) const {
    return *this;
  }
};
inline constexpr par_t par{}, par_nosync{};

} // namespace cuda
} // namespace system
namespace cuda {
using thrust::system::cuda::par;
using thrust::system::cuda::par_nosync;
} // namespace cuda
THRUST_NAMESPACE_END

#endif
