// finding: uninitialized-global 28
// For a few threads the computed index is no multiple of three, an entry of sparse that no thread has written.
// Arrays that are larger than what is used: in global, shared and local memory only a part is
// ever written. Which part that is depends on the data.
#include <cstdio>
#include <cuda_runtime.h>

#define NT 64
#define CAP 256

__global__ void everyThird(int *sparse, int n) {
  int i = 3 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    sparse[i] = i * i % 1009;
}

__global__ void gather(const int *sparse, const int *len, int *out) {
  __shared__ int pool[CAP]; // entries 0 .. used-1 only
  __shared__ int used;
  int t = threadIdx.x;
  if (t == 0)
    used = 0;
  __syncthreads();

  int local[12]; // len[t] entries only
  int m = len[t];
  for (int k = 0; k < m; k++)
    local[k] = sparse[(3 * (t * 5 + k * 11)) % 898];
  int at = m > 0 ? atomicAdd(&used, m) : 0;
  for (int k = m - 1; k >= 0; k--)
    pool[at + k] = local[k];
  __syncthreads();

  int best = -1;
  for (int k = t; k < used; k += NT)
    best = pool[k] > best ? pool[k] : best;
  if (best >= 0)
    out[t] = best; // the other entries stay as they are
  if (t == 0)
    out[CAP] = used;
}

int main() {
  const int n = 900;
  int len[NT], total = 0, got[NT], used, mx = -1;
  for (int t = 0; t < NT; t++) {
    len[t] = t % 13 == 0 ? 0 : (t * 7) % 4;
    total += len[t];
  }
  for (int t = 0; t < NT; t++)
    for (int k = 0; k < len[t]; k++) {
      int i = 3 * ((t * 5 + k * 11) % 300), v = i * i % 1009;
      mx = v > mx ? v : mx;
    }
  int *sp, *dl, *out;
  cudaMalloc(&sp, n * sizeof(int)); // two thirds of it never written
  cudaMalloc(&dl, sizeof len);
  cudaMalloc(&out, (CAP + 1) * sizeof(int)); // mostly never written either
  cudaMemcpy(dl, len, sizeof len, cudaMemcpyHostToDevice);
  everyThird<<<5, 64>>>(sp, n);
  gather<<<1, NT>>>(sp, dl, out);
  cudaMemcpy(&used, out + CAP, sizeof(int), cudaMemcpyDeviceToHost);
  int lanes = used < NT ? used : NT;
  cudaMemcpy(got, out, lanes * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(sp);
  cudaFree(dl);
  cudaFree(out);
  int top = -1;
  for (int t = 0; t < lanes; t++)
    top = got[t] > top ? got[t] : top;
  bool ok = used == total && used <= CAP && top == mx;
  printf("partly_initialized_step: used %d, %s\n", used, ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}
