// SPDX-License-Identifier: MIT
// In the place of CCCL's file of this name: memory from cudasim_thrust.h.
#ifndef CUDASIM_THRUST_NEW_H
#define CUDASIM_THRUST_NEW_H
#pragma GCC system_header

#include <cudasim_thrust.h>

#include <thrust/detail/config.h>

#include <thrust/mr/memory_resource.h>

THRUST_NAMESPACE_BEGIN
namespace mr {

class new_delete_resource_base : public memory_resource<> {
public:
  void *do_allocate(std::size_t bytes, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    void *pointer = ::cudasim::thrust_allocate(bytes);
    if (pointer == nullptr)
      throw std::bad_alloc();
    return pointer;
  }
  void do_deallocate(void *pointer, std::size_t, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    (void)cudaFree(pointer);
  }
};

class new_delete_resource final : public new_delete_resource_base {};

} // namespace mr
THRUST_NAMESPACE_END

#endif
