// Structs with padding: copied whole, through shared memory, and with memcpy on the device.
#include <cstdio>
#include <cstring>
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

struct Particle {
  char kind; // three bytes of padding follow
  int id;
  short hits; // six bytes of padding follow
  double mass;
  float pos[3]; // four bytes at the end
};

__global__ void make(Particle *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Particle q;
  q.kind = 'a' + i % 3;
  q.id = i;
  q.hits = 0;
  q.mass = 0.5 * i;
  for (int k = 0; k < 3; k++)
    q.pos[k] = (float)(i + k);
  p[i] = q; // the padding goes along, whatever it is
}

__global__ void rotateInBlock(const Particle *in, Particle *out, int n) {
  __shared__ Particle tile[64];
  int t = threadIdx.x, first = blockIdx.x * 64, here = min(64, n - first);
  if (t < here)
    tile[t] = in[first + t];
  __syncthreads();
  if (t < here) {
    Particle q;
    memcpy(&q, &tile[(t + 1) % here], sizeof q);
    q.hits += 1;
    out[first + t] = q;
  }
}

int main() {
  const int n = 150;
  Particle *a, *b;
  CK(cudaMalloc(&a, n * sizeof(Particle)));
  CK(cudaMalloc(&b, n * sizeof(Particle)));
  make<<<3, 64>>>(a, n);
  for (int r = 0; r < 3; r++) {
    rotateInBlock<<<3, 64>>>(a, b, n);
    CK(cudaMemcpy(a, b, n * sizeof(Particle), cudaMemcpyDeviceToDevice));
  }
  CK(cudaGetLastError());
  std::vector<Particle> h(n);
  CK(cudaMemcpy(h.data(), a, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    int first = i / 64 * 64, here = n - first < 64 ? n - first : 64, src = first + (i - first + 3) % here;
    const Particle &q = h[i];
    bad += q.id != src || q.kind != 'a' + src % 3 || q.hits != 3 || q.mass != 0.5 * src || q.pos[2] != (float)(src + 2);
  }
  CK(cudaFree(a));
  CK(cudaFree(b));
  printf("padded_structs: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
