// Volatile words, atomics and locks as programs use them: nothing is to be found.
#include <cuda_runtime.h>

// A flag that goes back and forth: each thread writes after it has read the other's value.
__global__ void ping_pong(volatile int *flag, int rounds) {
  for (int i = 0; i < rounds; i++) {
    while (*flag != 2 * i + (int)blockIdx.x) {
    }
    *flag = 2 * i + blockIdx.x + 1;
  }
}

// One thread polls, a barrier passes on what it saw, another thread resets.
__global__ void polled_for_the_block(volatile int *flag) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      *flag = 1;
  } else {
    if (threadIdx.x == 0)
      while (*flag != 1) {
      }
    __syncthreads();
    if (threadIdx.x == 40)
      *flag = 2;
  }
}

// All say the same: something has changed.
__global__ void all_say(volatile int *changed) {
  if (*changed == 0)
    *changed = 1;
}

// Others fail to take a lock, or exchange in vain, before its owner opens it with a volatile write.
__global__ void opened_by_a_write(int *lock, int *turns, bool exchange) {
  while (exchange ? atomicExch(lock, 1) : atomicCAS(lock, 0, 1)) {
  }
  __threadfence();
  *turns += 1;
  __threadfence();
  *(volatile int *)lock = 0;
}

// The last block to arrive resets the counter and opens the next generation.
__global__ void generations(int *count, volatile int *generation, int rounds) {
  for (int i = 0; i < rounds; i++) {
    __threadfence();
    if (atomicAdd(count, 1) == (int)gridDim.x - 1) {
      *(volatile int *)count = 0;
      __threadfence();
      *generation = i + 1;
    } else {
      while (*generation != i + 1) {
      }
    }
  }
}

// A word that holds both the flag and the value needs no fence.
__global__ void packed(volatile unsigned long long *words, int *ticket) {
  const int mine = atomicAdd(ticket, 1);
  unsigned long long before = 1;
  while (mine > 0 && (before = words[mine - 1]) == 0) {
  }
  words[mine] = before + 1;
  atomicAdd(ticket + 1, 1);
}

// A fence for threads of the block, where the reader is one, and one for all, where it is not.
__global__ void fence_for_each(volatile int *data, int *flag, int *out) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *data = 1;
    __threadfence_block();
    atomicExch(flag, 1);
  } else if (threadIdx.x == 32 && blockIdx.x == 0) {
    while (atomicAdd(flag, 0) != 1) {
    }
    *data += 1;
    __threadfence();
    atomicExch(flag, 2);
  } else if (threadIdx.x == 0 && blockIdx.x == 1) {
    while (atomicAdd(flag, 0) != 2) {
    }
    out[0] = *data;
  }
}

// A barrier after the lock was taken orders as a fence does.
__global__ void lock_for_the_block(int *lock, int *data) {
  if (threadIdx.x == 0)
    while (atomicCAS(lock, 0, 1) != 0) {
    }
  __syncthreads();
  data[threadIdx.x] += 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    atomicExch(lock, 0);
}

// Within a block, a fence for its threads is enough after a lock.
__global__ void lock_within_block(int *lock, int *data) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence_block();
    *data += 1;
    __threadfence_block();
    atomicExch(lock, 0);
  }
}

// The sum begins in an earlier launch.
__global__ void begin(int *sum) {
  *sum = 0;
}
__global__ void add(int *sum) {
  atomicAdd(sum, 1);
}

int main() {
  int *p;
  cudaMalloc(&p, 1024);
  const auto zero = [=] { cudaMemset(p, 0, 1024); };
  zero(), ping_pong<<<2, 1>>>(p, 5);
  zero(), polled_for_the_block<<<2, 64>>>(p);
  zero(), all_say<<<8, 1>>>(p);
  zero(), opened_by_a_write<<<6, 1>>>(p, p + 1, false);
  zero(), opened_by_a_write<<<6, 1>>>(p, p + 1, true);
  zero(), generations<<<4, 1>>>(p, p + 1, 3);
  zero(), packed<<<6, 1>>>((unsigned long long *)p, p + 32);
  zero(), fence_for_each<<<2, 64>>>(p, p + 1, p + 2);
  zero(), lock_for_the_block<<<4, 64>>>(p, p + 1);
  zero(), lock_within_block<<<1, 128>>>(p, p + 1);
  begin<<<1, 1>>>(p);
  add<<<4, 32>>>(p);
  cudaFree(p);
}
