// SPDX-License-Identifier: MIT
// For prove-races: the groups of cooperative groups whose barriers it understands. A tile's barrier orders fewer threads than a block, so it
// counts as none. Grids are not here: their barrier orders blocks, which nothing models.
#ifndef PROVE_COOPERATIVE_GROUPS_H
#define PROVE_COOPERATIVE_GROUPS_H

namespace cooperative_groups {

class thread_block {
public:
  __device__ static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  __device__ static unsigned size() {
    return blockDim.x * blockDim.y * blockDim.z;
  }
  __device__ static unsigned num_threads() {
    return size();
  }
  __device__ static void sync() {
    __syncthreads();
  }
  __device__ static dim3 group_index() {
    return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
  }
  __device__ static dim3 thread_index() {
    return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
  }
};

__device__ inline thread_block this_thread_block() {
  return thread_block();
}

template <unsigned N> class thread_block_tile {
public:
  __device__ static unsigned thread_rank() {
    return thread_block::thread_rank() % N;
  }
  __device__ static constexpr unsigned size() {
    return N;
  }
  __device__ static constexpr unsigned num_threads() {
    return N;
  }
  __device__ static unsigned meta_group_rank() {
    return thread_block::thread_rank() / N;
  }
  __device__ static void sync() {
  }
  template <class T> __device__ static T shfl(T value, int from) {
    return __shfl_sync(~0u, value, from, N);
  }
  template <class T> __device__ static T shfl_down(T value, unsigned by) {
    return __shfl_down_sync(~0u, value, by, N);
  }
  template <class T> __device__ static T shfl_up(T value, unsigned by) {
    return __shfl_up_sync(~0u, value, by, N);
  }
  template <class T> __device__ static T shfl_xor(T value, unsigned mask) {
    return __shfl_xor_sync(~0u, value, mask, N);
  }
};

template <unsigned N> __device__ thread_block_tile<N> tiled_partition(const thread_block &) {
  return thread_block_tile<N>();
}

__device__ inline void sync(const thread_block &block) {
  block.sync();
}

} // namespace cooperative_groups

#endif
