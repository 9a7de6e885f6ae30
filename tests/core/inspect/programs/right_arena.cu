// A bump allocator: threads take aligned pieces of one arena by atomicAdd and put records of different types there.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

struct Arena {
  unsigned char *base;
  unsigned *used;
  unsigned capacity;

  template <class T> __device__ T *take(int count, unsigned &at) {
    unsigned bytes = (unsigned)(count * sizeof(T) + 15) / 16 * 16; // every piece starts on 16 bytes
    at = atomicAdd(used, bytes);
    return at + bytes <= capacity ? reinterpret_cast<T *>(base + at) : nullptr;
  }
};

struct Ref {
  unsigned at;
  int kind, count;
};

__global__ void write(Arena arena, Ref *refs, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Ref r;
  r.kind = i % 3;
  r.count = 1 + i % 5;
  bool ok = false;
  if (r.kind == 0) {
    if (uint4 *p = arena.take<uint4>(r.count, r.at)) {
      for (int k = 0; k < r.count; k++)
        p[k] = make_uint4(i, k, i + k, i * k);
      ok = true;
    }
  } else if (r.kind == 1) {
    if (double *p = arena.take<double>(r.count, r.at)) {
      for (int k = 0; k < r.count; k++)
        p[k] = i + 0.25 * k;
      ok = true;
    }
  } else if (char *p = arena.take<char>(r.count, r.at)) {
    for (int k = 0; k < r.count; k++)
      p[k] = (i + k) % 100;
    ok = true;
  }
  if (!ok)
    r.kind = -1;
  refs[i] = r;
}

__global__ void readBack(Arena arena, const Ref *refs, int n, int *wrong, int *full) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Ref r = refs[i];
  int bad = 0;
  const unsigned char *p = arena.base + r.at;
  for (int k = 0; r.kind >= 0 && k < r.count; k++) {
    if (r.kind == 0) {
      uint4 v = reinterpret_cast<const uint4 *>(p)[k];
      bad += v.x != i || v.y != k || v.z != i + k || v.w != i * k;
    } else if (r.kind == 1)
      bad += reinterpret_cast<const double *>(p)[k] != i + 0.25 * k;
    else
      bad += p[k] != (i + k) % 100;
  }
  if (bad)
    atomicAdd(wrong, bad);
  if (r.kind < 0)
    atomicAdd(full, 1);
}

int main() {
  const int n = 900;
  unsigned need = 0;
  for (int i = 0; i < n; i++)
    need += ((1 + i % 5) * (i % 3 == 0 ? 16 : i % 3 == 1 ? 8 : 1) + 15) / 16 * 16;
  int bad = 0;
  for (unsigned cap : {need, need / 2}) { // once enough, once too small
    Arena a;
    Ref *refs;
    int *res, h[2];
    a.capacity = cap;
    CK(cudaMalloc(&a.base, cap));
    CK(cudaMalloc(&a.used, sizeof(unsigned)));
    CK(cudaMalloc(&refs, n * sizeof(Ref)));
    CK(cudaMalloc(&res, sizeof h));
    CK(cudaMemset(a.used, 0, sizeof(unsigned)));
    CK(cudaMemset(res, 0, sizeof h));
    write<<<(n + 63) / 64, 64>>>(a, refs, n);
    readBack<<<(n + 63) / 64, 64>>>(a, refs, n, res, res + 1);
    CK(cudaGetLastError());
    CK(cudaMemcpy(h, res, sizeof h, cudaMemcpyDeviceToHost));
    bad += h[0] != 0 || (cap == need ? h[1] != 0 : h[1] == 0);
    CK(cudaFree(a.base));
    CK(cudaFree(a.used));
    CK(cudaFree(refs));
    CK(cudaFree(res));
  }
  printf("arena: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
