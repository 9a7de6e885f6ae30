// Structs with holes: written field by field, copied whole (holes included) through shared and
// global memory, sorted by whole-struct exchanges, and given back by cudaMemcpy.
#include <cstdio>
#include <cuda_runtime.h>

struct Item {
  char tag; // 3 bytes of padding after it
  int key;
  short part; // 6 bytes after it
  double weight;
  bool mark; // 7 bytes at the end
};

#define N 64

__device__ Item make(char c, int k, double w) {
  Item it;
  it.tag = c;
  it.key = k;
  it.part = (short)(k >> 2);
  it.weight = w;
  it.mark = (k % 3) == 0;
  return it;
}

__global__ void build(Item *items) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < N)
    items[t] = make((char)('a' + t % 26), (t * 37) % N, t * 0.5);
}

__global__ void oddEven(const Item *in, Item *out) {
  __shared__ Item s[N];
  int t = threadIdx.x; // N/2 threads
  s[t] = in[t];
  s[t + N / 2] = in[t + N / 2];
  __syncthreads();
  for (int r = 0; r < N; r++) {
    int i = 2 * t + (r & 1);
    if (i + 1 < N && s[i].key > s[i + 1].key) {
      Item x = s[i];
      s[i] = s[i + 1];
      s[i + 1] = x;
    }
    __syncthreads();
  }
  for (int i = t; i < N; i += N / 2)
    out[i] = s[i];
}

int main() {
  Item got[N];
  Item *a, *b;
  cudaMalloc(&a, N * sizeof(Item));
  cudaMalloc(&b, N * sizeof(Item));
  build<<<2, 48>>>(a);
  oddEven<<<1, N / 2>>>(a, b);
  cudaMemcpy(a, b, N * sizeof(Item), cudaMemcpyDeviceToDevice);
  cudaMemcpy(got, a, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int t = 0; t < N; t++) {
    int k = (t * 37) % N; // a permutation, as 37 is odd
    const Item &g = got[k];
    wrong += g.key != k || g.tag != (char)('a' + t % 26) || g.weight != t * 0.5;
    wrong += g.part != (short)(k >> 2) || g.mark != (k % 3 == 0);
  }
  printf("struct_padding: %s (%d bytes each)\n", wrong ? "WRONG" : "ok", (int)sizeof(Item));
  return wrong ? 1 : 0;
}
