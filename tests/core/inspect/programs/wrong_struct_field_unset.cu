// finding: uninitialized-global 37
// The field part of the last element is never written, and the second kernel reads it.
// Structs with holes: written field by field in global memory; a second kernel reads the fields it
// needs into shared arrays and sorts the numbers of the items.
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

__device__ void fill(Item *it, const Item *end, char c, int k, double w) {
  it->tag = c;
  it->key = k;
  it->weight = w;
  it->mark = (k % 3) == 0;
  if (it + 1 < end)
    it->part = (short)(k >> 2);
}

__global__ void build(Item *items) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < N)
    fill(items + t, items + N, (char)('a' + t % 26), (t * 37) % N, t * 0.5);
}

__global__ void oddEven(const Item *in, int *out) {
  __shared__ int key[N], id[N];
  int t = threadIdx.x; // N/2 threads
  for (int i = t; i < N; i += N / 2) {
    key[i] = in[i].key * 4 + (in[i].part & 3);
    id[i] = i;
  }
  __syncthreads();
  for (int r = 0; r < N; r++) {
    int i = 2 * t + (r & 1);
    if (i + 1 < N && key[i] > key[i + 1]) {
      int x = key[i];
      key[i] = key[i + 1];
      key[i + 1] = x;
      x = id[i];
      id[i] = id[i + 1];
      id[i + 1] = x;
    }
    __syncthreads();
  }
  for (int i = t; i < N; i += N / 2)
    out[i] = id[i];
}

int main() {
  int got[N];
  Item *a;
  int *b;
  cudaMalloc(&a, N * sizeof(Item));
  cudaMalloc(&b, N * sizeof(int));
  build<<<2, 48>>>(a);
  oddEven<<<1, N / 2>>>(a, b);
  cudaMemcpy(got, b, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  int wrong = 0;
  for (int t = 0; t < N; t++) {
    int k = (t * 37) % N; // a permutation, as 37 is odd
    wrong += got[k] != t;
  }
  printf("struct_field_unset: %s (%d bytes each)\n", wrong ? "WRONG" : "ok", (int)sizeof(Item));
  return wrong ? 1 : 0;
}
