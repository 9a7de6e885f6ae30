// Lanes of a warp, and meetings of some of them that order nothing between others. What has to be found is said as in wrong.cu.
#include <cuda_runtime.h>

// The fence is in front of what it should publish.
// expect race-warp fence_first w0 r0
__global__ void fence_first(int *out) {
  __shared__ int data;
  if (threadIdx.x == 0) {
    __threadfence_block();
    data = 1; //@w0
  }
  if (threadIdx.x == 1)
    out[0] = data; //@r0
}

// expect race-warp fence_before_data w1 r1
__global__ void fence_before_data(int *out, int *flag) {
  __shared__ int data;
  if (threadIdx.x == 0) {
    __threadfence();
    data = 1; //@w1
    atomicExch(flag, 1);
  } else if (threadIdx.x == 1) {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[0] = data; //@r1
  }
}

// However often two other lanes meet.
// expect race-warp others_met w2 r2
__global__ void others_met(int *out) {
  __shared__ int data;
  if (threadIdx.x == 5)
    data = 1; //@w2
  if (threadIdx.x < 2)
    for (int i = 0; i < 300; i++)
      __syncwarp(0x3);
  if (threadIdx.x == 0)
    out[0] = data; //@r2
}

// After more meetings than 16 bits count.
// expect race-warp after_many_meetings w3 r3
__global__ void after_many_meetings(int *out) {
  __shared__ int data[32];
  int sum = 0;
  for (int i = 0; i < 65530; i++)
    sum += __shfl_xor_sync(~0u, sum + i, 1);
  data[threadIdx.x] = sum; //@w3
  if (threadIdx.x < 2)
    for (int i = 0; i < 10; i++)
      __syncwarp(0x3);
  out[threadIdx.x] = data[threadIdx.x ^ 2]; //@r3
}

// A lane that has met neither the one that published nor the one that acquired knows of nothing.
// expect race-grid publishes_anothers w4 r4
__global__ void publishes_anothers(int *out, int *data, int *flag) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 5)
      *data = 1; //@w4
    if (threadIdx.x < 2)
      __syncwarp(0x3);
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    out[0] = *data; //@r4
  }
}

// expect race-grid another_acquired w5 r5
__global__ void another_acquired(int *out, int *data, int *flag) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      *data = 1; //@w5
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(flag, 0) == 0) {
      }
    if (threadIdx.x == 2 || threadIdx.x == 3)
      __syncwarp(0xc);
    if (threadIdx.x == 3)
      out[0] = *data; //@r5
  }
}

// Lane 1 has met lane 0 before lane 0 knew of the write, and what tells lane 1 afterwards is no fence.
// expect race-block met_too_early w6 r6
__global__ void met_too_early(int *out, int *data, int *flag, int *acknowledged, int *go) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(flag, 1);
    while (atomicAdd(acknowledged, 0) == 0) {
    }
    *data = 1; //@w6
    __threadfence();
    atomicExch(flag, 2);
  } else if (threadIdx.x == 32 || threadIdx.x == 33) {
    if (threadIdx.x == 32)
      while (atomicAdd(flag, 0) < 1) {
      }
    __syncwarp(0x3);
    if (threadIdx.x == 32) {
      atomicExch(acknowledged, 1);
      while (atomicAdd(flag, 0) < 2) {
      }
      atomicExch(go, 1);
    } else {
      while (atomicAdd(go, 0) == 0) {
      }
      out[0] = *data; //@r6
    }
  }
}

int main() {
  int *out, *data, *flags;
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMalloc(&data, 3 * sizeof(int));
  cudaMalloc(&flags, 6 * sizeof(int));
  cudaMemset(flags, 0, 6 * sizeof(int));
  cudaMemset(data, 0, 3 * sizeof(int));
  fence_first<<<1, 32>>>(out);
  fence_before_data<<<1, 32>>>(out, flags);
  others_met<<<1, 32>>>(out);
  after_many_meetings<<<1, 32>>>(out);
  publishes_anothers<<<2, 32>>>(out, data, flags + 1);
  another_acquired<<<2, 32>>>(out, data + 1, flags + 2);
  met_too_early<<<1, 64>>>(out, data + 2, flags + 3, flags + 4, flags + 5);
  cudaFree(out);
  cudaFree(data);
  cudaFree(flags);
}
