// SPDX-License-Identifier: MIT
// Cooperative groups: blocks, tiles of a warp, the lanes that are together, the grid of a cooperative launch.
#ifndef CUDASIM_COOPERATIVE_GROUPS_H
#define CUDASIM_COOPERATIVE_GROUPS_H
#define _COOPERATIVE_GROUPS_H_

#include "cuda_runtime.h"

#define CUDASIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace cooperative_groups {

namespace cudasim_detail {

inline unsigned int block_rank(void) {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned int block_size(void) {
  return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned int lane(void) {
  return block_rank() & 31u;
}
// The lanes that the block has in this thread's warp.
inline unsigned int warp_mask(void) {
  const unsigned int left = block_size() - (block_rank() & ~31u);
  return left >= 32 ? 0xffffffffu : (1u << left) - 1u;
}
inline unsigned int tile_mask(unsigned int size) {
  const unsigned int lanes = size >= 32 ? 0xffffffffu : (1u << size) - 1u;
  return lanes << (lane() & ~(size - 1u)) & warp_mask();
}
// The lane of a mask's member of that rank.
inline unsigned int nth_lane(unsigned int mask, unsigned int rank) {
  for (; rank > 0 && mask; rank--)
    mask &= mask - 1;
  return mask ? (unsigned int)__builtin_ctz(mask) : lane();
}

} // namespace cudasim_detail

class thread_block;

// Lanes of one warp, whichever they are.
class cudasim_lanes {
protected:
  unsigned int mask;

public:
  explicit cudasim_lanes(unsigned int lanes) : mask(lanes) {
  }
  unsigned int cudasim_mask(void) const {
    return mask;
  }
  unsigned int size(void) const {
    return (unsigned int)__popc(mask);
  }
  unsigned int num_threads(void) const {
    return size();
  }
  unsigned int thread_rank(void) const {
    return (unsigned int)__popc(mask & ((1u << cudasim_detail::lane()) - 1u));
  }
  void sync(CUDASIM_HERE) const {
    __syncwarp(mask, file, line);
  }
  template <class T> T shfl(T value, int rank, CUDASIM_HERE) const {
    const int from = (int)cudasim_detail::nth_lane(mask, (unsigned int)rank % size());
    return cudasim::shuffle(mask, value, 32, file, line, [=](int, int, int) { return from; });
  }
  template <class T> T shfl_down(T value, unsigned int delta, CUDASIM_HERE) const {
    const unsigned int to = thread_rank() + delta;
    return shfl(value, (int)(to < size() ? to : thread_rank()), file, line);
  }
  template <class T> T shfl_up(T value, unsigned int delta, CUDASIM_HERE) const {
    const unsigned int self = thread_rank();
    return shfl(value, (int)(self >= delta ? self - delta : self), file, line);
  }
  template <class T> T shfl_xor(T value, unsigned int lanes, CUDASIM_HERE) const {
    const unsigned int to = thread_rank() ^ lanes;
    return shfl(value, (int)(to < size() ? to : thread_rank()), file, line);
  }
  int any(int predicate, CUDASIM_HERE) const {
    return __any_sync(mask, predicate, file, line);
  }
  int all(int predicate, CUDASIM_HERE) const {
    return __all_sync(mask, predicate, file, line);
  }
  unsigned int ballot(int predicate, CUDASIM_HERE) const {
    return packed(__ballot_sync(mask, predicate, file, line));
  }
  template <class T> unsigned int match_any(T value, CUDASIM_HERE) const {
    return packed(__match_any_sync(mask, value, file, line));
  }
  template <class T> unsigned int match_all(T value, int &predicate, CUDASIM_HERE) const {
    const unsigned int same = __match_any_sync(mask, value, file, line);
    predicate = same == mask;
    return predicate ? packed(mask) : 0;
  }

private:
  // A mask of lanes as one of ranks.
  unsigned int packed(unsigned int lanes) const {
    unsigned int result = 0, rank = 0;
    for (unsigned int rest = mask; rest; rest &= rest - 1, rank++)
      if (lanes & rest & (0u - rest))
        result |= 1u << rank;
    return result;
  }
};

class coalesced_group : public cudasim_lanes {
public:
  explicit coalesced_group(unsigned int lanes) : cudasim_lanes(lanes) {
  }
  unsigned long long meta_group_size(void) const {
    return 1;
  }
  unsigned long long meta_group_rank(void) const {
    return 0;
  }
};

static inline __attribute__((always_inline)) coalesced_group coalesced_threads(CUDASIM_HERE) {
  return coalesced_group(__activemask(file, line));
}

class thread_block {
public:
  static void sync(CUDASIM_HERE) {
    __syncthreads(file, line);
  }
  struct arrival_token {};
  arrival_token barrier_arrive(void) const {
    return {};
  }
  void barrier_wait(arrival_token &&, CUDASIM_HERE) const {
    __syncthreads(file, line);
  }
  static unsigned int size(void) {
    return cudasim_detail::block_size();
  }
  static unsigned int num_threads(void) {
    return size();
  }
  static unsigned int thread_rank(void) {
    return cudasim_detail::block_rank();
  }
  static dim3 group_index(void) {
    return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
  }
  static dim3 thread_index(void) {
    return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
  }
  static dim3 group_dim(void) {
    return dim3(blockDim.x, blockDim.y, blockDim.z);
  }
  static dim3 dim_threads(void) {
    return group_dim();
  }
};

static inline thread_block this_thread_block(void) {
  return thread_block();
}
// What tiles of several warps want on a GPU to exchange values; here they have it anyway.
template <unsigned int Threads> struct block_tile_memory { char cudasim_unused; };
template <unsigned int Threads> inline thread_block this_thread_block(block_tile_memory<Threads> &) {
  return thread_block();
}

// The blocks of a cooperative launch.
class grid_group {
public:
  static bool is_valid(void) {
    return cudasim_is_cooperative();
  }
  static void sync(CUDASIM_HERE) {
    cudasim_grid_barrier(file, line);
  }
  static unsigned long long num_blocks(void) {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank(void) {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  static unsigned long long size(void) {
    return num_blocks() * cudasim_detail::block_size();
  }
  static unsigned long long num_threads(void) {
    return size();
  }
  static unsigned long long thread_rank(void) {
    return block_rank() * cudasim_detail::block_size() + cudasim_detail::block_rank();
  }
  static dim3 group_dim(void) {
    return dim3(gridDim.x, gridDim.y, gridDim.z);
  }
  static dim3 dim_blocks(void) {
    return group_dim();
  }
  static dim3 block_index(void) {
    return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
  }
};

static inline grid_group this_grid(void) {
  return grid_group();
}

// A tile of several warps. Its threads meet by polling; what they bring lies beside the block's shared memory.
template <unsigned int Size> class cudasim_warps {
  struct meeting {
    unsigned int arrived, phase;
  };
  static meeting &here(void) {
    static thread_local meeting meetings[1024 / Size];
    return meetings[cudasim_detail::block_rank() / Size];
  }
  template <class T> static T *values(void) {
    static_assert(sizeof(T) <= 16, "values of at most 16 bytes");
    static thread_local char room[1024 * 16] __attribute__((aligned(16)));
    return reinterpret_cast<T *>(room) + cudasim_detail::block_rank() / Size * Size;
  }

public:
  explicit cudasim_warps(unsigned int) {
  }
  static unsigned int present(void) { // the last tile may have fewer threads
    const unsigned int left = cudasim_detail::block_size() - cudasim_detail::block_rank() / Size * Size;
    return left < Size ? left : Size;
  }
  void sync(const char * = nullptr, int = 0) const {
    meeting &m = here();
    const unsigned int phase = __atomic_load_n(&m.phase, __ATOMIC_RELAXED);
    if (++m.arrived == present()) {
      m.arrived = 0;
      __atomic_store_n(&m.phase, phase + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&m.phase, __ATOMIC_ACQUIRE) == phase)
      cudasim_pause();
  }
  // combine(values of the tile's threads, in order of rank)
  template <class T, class Combine> T cudasim_together(T value, Combine combine) const {
    T *const all = values<T>();
    all[cudasim_detail::block_rank() % Size] = value;
    sync();
    const T result = combine(static_cast<const T *>(all));
    sync();
    return result;
  }
  template <class T> T shfl(T value, int rank) const {
    return cudasim_together(value, [=](const T *all) { return all[static_cast<unsigned int>(rank) % Size]; });
  }
  int any(int predicate) const {
    return cudasim_together(predicate, [](const int *all) {
      int some = 0;
      for (unsigned int i = 0; i < present(); i++)
        some |= all[i] != 0;
      return some;
    });
  }
  int all(int predicate) const {
    return !any(!predicate);
  }
};

// A tile; Parent says of what.
template <unsigned int Size, class Parent = void>
class thread_block_tile : public std::conditional_t<(Size <= 32), cudasim_lanes, cudasim_warps<Size>> {
  static_assert(Size > 0 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile's size is a power of two, at most 1024");
  using base = std::conditional_t<(Size <= 32), cudasim_lanes, cudasim_warps<Size>>;

public:
  thread_block_tile(void) : base(cudasim_detail::tile_mask(Size)) {
  }
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other> &) : base(cudasim_detail::tile_mask(Size)) {
  }
  static constexpr unsigned int size(void) {
    return Size;
  }
  static constexpr unsigned int num_threads(void) {
    return Size;
  }
  unsigned int thread_rank(void) const {
    return cudasim_detail::block_rank() & (Size - 1);
  }
  unsigned int meta_group_rank(void) const {
    return cudasim_detail::block_rank() / Size;
  }
  unsigned int meta_group_size(void) const {
    return (cudasim_detail::block_size() + Size - 1) / Size;
  }
};

// Any group of threads of a block, its kind known when it runs.
class thread_group {
  unsigned int mask; // 0: the whole block

public:
  thread_group(const thread_block &) : mask(0) {
  }
  thread_group(const cudasim_lanes &lanes) : mask(lanes.cudasim_mask()) {
  }
  explicit thread_group(unsigned int lanes) : mask(lanes) {
  }
  unsigned int cudasim_mask(void) const {
    return mask;
  }
  unsigned int size(void) const {
    return mask ? (unsigned int)__popc(mask) : cudasim_detail::block_size();
  }
  unsigned int num_threads(void) const {
    return size();
  }
  unsigned int thread_rank(void) const {
    return mask ? cudasim_lanes(mask).thread_rank() : cudasim_detail::block_rank();
  }
  void sync(CUDASIM_HERE) const {
    if (mask)
      __syncwarp(mask, file, line);
    else
      __syncthreads(file, line);
  }
};

template <unsigned int Size> inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block &) {
  return {};
}
template <unsigned int Size, unsigned int Outer, class Parent>
inline thread_block_tile<Size, thread_block_tile<Outer, Parent>>
tiled_partition(const thread_block_tile<Outer, Parent> &) {
  static_assert(Size <= Outer, "a part is no larger than the whole");
  return {};
}
template <unsigned int Size> inline thread_block_tile<Size> tiled_partition(const thread_group &) {
  return {};
}
static inline thread_group tiled_partition(const thread_group &group, unsigned int size) {
  if (size > 32)
    return group;
  return thread_group(group.cudasim_mask() ? group.cudasim_mask() & cudasim_detail::tile_mask(size)
                                           : cudasim_detail::tile_mask(size));
}
static inline coalesced_group tiled_partition(const coalesced_group &group, unsigned int size) {
  const unsigned int first = group.thread_rank() / size * size;
  unsigned int mask = 0;
  for (unsigned int rank = first; rank < first + size && rank < group.size(); rank++)
    mask |= 1u << cudasim_detail::nth_lane(group.cudasim_mask(), rank);
  return coalesced_group(mask);
}
template <class Label> inline coalesced_group labeled_partition(const cudasim_lanes &group, Label label, CUDASIM_HERE) {
  return coalesced_group(__match_any_sync(group.cudasim_mask(), label, file, line));
}
static inline coalesced_group binary_partition(const cudasim_lanes &group, bool predicate, CUDASIM_HERE) {
  const unsigned int yes = __ballot_sync(group.cudasim_mask(), predicate, file, line);
  return coalesced_group(predicate ? yes : group.cudasim_mask() & ~yes);
}

template <class Group> inline void sync(const Group &group, CUDASIM_HERE) {
  group.sync(file, line);
}
template <class Group, class Function, class... A>
inline void invoke_one(const Group &group, Function &&function, A &&...arguments) {
  if (group.thread_rank() == 0)
    function(static_cast<A &&>(arguments)...);
}

// ---- operations, for reduce.h and scan.h ----

template <class T = void> struct plus {
  T operator()(T a, T b) const {
    return a + b;
  }
};
template <class T = void> struct less {
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
template <class T = void> struct greater {
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
template <class T = void> struct bit_and {
  T operator()(T a, T b) const {
    return a & b;
  }
};
template <class T = void> struct bit_or {
  T operator()(T a, T b) const {
    return a | b;
  }
};
template <class T = void> struct bit_xor {
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

// All lanes' values combined, in order of rank.
template <class T, class Operation>
inline T reduce(const cudasim_lanes &group, T value, Operation operation, CUDASIM_HERE) {
  T result = group.shfl(value, 0, file, line);
  for (unsigned int rank = 1; rank < group.size(); rank++)
    result = operation(result, group.shfl(value, (int)rank, file, line));
  return result;
}

template <unsigned int Size, class T, class Operation>
inline T reduce(const cudasim_warps<Size> &group, T value, Operation operation) {
  return group.cudasim_together(value, [&](const T *all) {
    T result = all[0];
    for (unsigned int i = 1; i < group.present(); i++)
      result = operation(result, all[i]);
    return result;
  });
}

template <class T, class Operation>
inline T inclusive_scan(const cudasim_lanes &group, T value, Operation operation, CUDASIM_HERE) {
  T result = value;
  const unsigned int self = group.thread_rank();
  for (unsigned int rank = 0; rank < group.size(); rank++) {
    const T other = group.shfl(value, (int)rank, file, line);
    if (rank < self)
      result = rank == 0 ? other : operation(result, other);
    else if (rank == self && self > 0)
      result = operation(result, value);
  }
  return result;
}
template <class T> inline T inclusive_scan(const cudasim_lanes &group, T value, CUDASIM_HERE) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}
template <class T, class Operation>
inline T exclusive_scan(const cudasim_lanes &group, T value, Operation operation, CUDASIM_HERE) {
  const T all = inclusive_scan(group, value, operation, file, line);
  const T before = group.shfl_up(all, 1, file, line);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class T> inline T exclusive_scan(const cudasim_lanes &group, T value, CUDASIM_HERE) {
  return exclusive_scan(group, value, plus<T>(), file, line);
}

// ---- copies by a group, for memcpy_async.h: done at once ----

template <class Group> inline void memcpy_async(const Group &group, void *to, const void *from, size_t bytes) {
  for (size_t at = group.thread_rank(); at < bytes; at += group.size())
    static_cast<char *>(to)[at] = static_cast<const char *>(from)[at];
}
template <class Group, class T>
inline void memcpy_async(const Group &group, T *to, size_t room, const T *from, size_t count) {
  memcpy_async(group, static_cast<void *>(to), static_cast<const void *>(from),
               (room < count ? room : count) * sizeof(T));
}
template <class Group> inline void wait(const Group &group, CUDASIM_HERE) {
  group.sync(file, line);
}
template <unsigned int, class Group> inline void wait_prior(const Group &group, CUDASIM_HERE) {
  group.sync(file, line);
}

} // namespace cooperative_groups

#undef CUDASIM_HERE

#endif
