// Volatile words, atomics and locks that do not order what they should. What has to be found is said as in wrong.cu.
#include <cuda_runtime.h>

// The later of two volatile writes replaces a value that its thread has not seen.
// expect race-grid both_write w0
__global__ void both_write(volatile int *data) {
  *data = blockIdx.x + 1; //@w0
}

// A lock that only one of two warps takes.
// expect race-block one_locks w1 x1
__global__ void one_locks(volatile int *data, int *lock) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *data = 1; //@w1
    __threadfence();
    atomicExch(lock, 0);
  } else if (threadIdx.x == 32) {
    *data = 2; //@x1
  }
}

// Seeing one write is not seeing the next.
// expect race-grid seen_before w2 x2
__global__ void seen_before(volatile int *data, int *flag) {
  if (blockIdx.x == 0) {
    *data = 1;
    atomicExch(flag, 1);
    while (atomicAdd(flag, 0) != 2) {
    }
    *data = 2; //@w2
    atomicExch(flag, 3);
  } else {
    while (atomicAdd(flag, 0) != 1) {
    }
    const int seen = *data;
    atomicExch(flag, 2);
    while (atomicAdd(flag, 0) != 3) {
    }
    *data = seen + 10; //@x2
  }
}

// expect race-grid lost_update a3 w3
__global__ void lost_update(volatile int *sum) {
  if (blockIdx.x == 0)
    *sum = 5; //@w3
  else
    atomicAdd((int *)sum, 1); //@a3
}

// expect race-grid volatile_and_plain w4 r4
__global__ void volatile_and_plain(int *data, int *out) {
  if (blockIdx.x == 0)
    *(volatile int *)data = 1; //@w4
  else
    out[0] = *data; //@r4
}

// The block's own atomics follow its write. Another block's do not.
// expect race-grid begins_sum w5 a5
__global__ void begins_sum(int *sum) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *sum = 0; //@w5
  __syncthreads();
  atomicAdd(sum, 1); //@a5
}

// The fence orders for threads of the writer's block.
// expect race-grid narrow_fence w6 r6
__global__ void narrow_fence(volatile int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    *data = 1; //@w6
    __threadfence_block();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    out[0] = *data; //@r6
  }
}

// The fence after the first lock came before the second lock was taken.
// expect race-grid no_fence_after_lock u7
__global__ void no_fence_after_lock(int *data, int *locks) {
  while (atomicCAS(&locks[blockIdx.x], 0, 1) != 0) {
  }
  __threadfence();
  while (atomicCAS(&locks[2], 0, 1) != 0) {
  }
  *data += 1; //@u7
  __threadfence();
  atomicExch(&locks[2], 0);
  atomicExch(&locks[blockIdx.x], 0);
}

// A fence for threads of the block, after a lock that other blocks release.
// expect race-grid narrow_fence_after_lock u8
__global__ void narrow_fence_after_lock(int *data, int *lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence_block();
  *data += 1; //@u8
  __threadfence();
  atomicExch(lock, 0);
}

int main() {
  int *p;
  cudaMalloc(&p, 64);
  const auto zero = [=] { cudaMemset(p, 0, 64); };
  zero(), both_write<<<2, 1>>>(p);
  zero(), one_locks<<<1, 64>>>(p, p + 1);
  zero(), seen_before<<<2, 1>>>(p, p + 1);
  zero(), lost_update<<<2, 1>>>(p);
  zero(), volatile_and_plain<<<2, 1>>>(p, p + 1);
  zero(), begins_sum<<<2, 32>>>(p);
  zero(), narrow_fence<<<2, 1>>>(p, p + 1, p + 2);
  zero(), no_fence_after_lock<<<2, 1>>>(p, p + 4);
  zero(), narrow_fence_after_lock<<<2, 1>>>(p, p + 1);
  cudaFree(p);
}
