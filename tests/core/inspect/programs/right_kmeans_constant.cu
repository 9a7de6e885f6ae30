// k-means: centroids in constant memory (refreshed device to device), block sums in shared memory
#include <cstdio>
#include <cstdlib>
#include <vector>

#define K 5
#define BLOCK 128

__constant__ float2 c_centroid[K];

struct Cluster {
  int sx, sy, count;
};

__global__ void assign(const int2 *pts, int n, unsigned char *label, Cluster *total) {
  __shared__ Cluster part[K];
  if (threadIdx.x < K)
    part[threadIdx.x] = Cluster{0, 0, 0};
  __syncthreads();

  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) {
    int2 p = pts[i];
    int best = 0;
    float bd = 1e30f;
    for (int k = 0; k < K; ++k) {
      float dx = p.x - c_centroid[k].x, dy = p.y - c_centroid[k].y;
      float d = dx * dx + dy * dy;
      if (d < bd) {
        bd = d;
        best = k;
      }
    }
    label[i] = best;
    atomicAdd(&part[best].sx, p.x);
    atomicAdd(&part[best].sy, p.y);
    atomicAdd(&part[best].count, 1);
  }
  __syncthreads();
  if (threadIdx.x < K && part[threadIdx.x].count > 0) {
    atomicAdd(&total[threadIdx.x].sx, part[threadIdx.x].sx);
    atomicAdd(&total[threadIdx.x].sy, part[threadIdx.x].sy);
    atomicAdd(&total[threadIdx.x].count, part[threadIdx.x].count);
  }
}

// new means; the sums are cleared for the next round
__global__ void update(Cluster *total, float2 *centroid) {
  int k = threadIdx.x;
  if (k < K) {
    Cluster c = total[k];
    if (c.count > 0)
      centroid[k] = make_float2((float)c.sx / c.count, (float)c.sy / c.count);
    total[k] = Cluster{0, 0, 0};
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1111, rounds = 4;
  std::vector<int2> p(n);
  for (int i = 0; i < n; ++i)
    p[i] = make_int2((i % K) * 40 + (i * 7) % 23, ((i % K) % 2) * 60 + (i * 11) % 19);
  float2 cen[K];
  for (int k = 0; k < K; ++k)
    cen[k] = make_float2(p[k].x, p[k].y);

  int2 *dp;
  unsigned char *dl;
  Cluster *dt;
  float2 *dc;
  cudaMalloc(&dp, n * sizeof(int2));
  cudaMalloc(&dl, n);
  cudaMalloc(&dt, K * sizeof(Cluster));
  cudaMalloc(&dc, K * sizeof(float2));
  cudaMemcpy(dp, p.data(), n * sizeof(int2), cudaMemcpyHostToDevice);
  cudaMemcpy(dc, cen, sizeof cen, cudaMemcpyHostToDevice);
  cudaMemset(dt, 0, K * sizeof(Cluster));
  for (int r = 0; r < rounds; ++r) {
    cudaMemcpyToSymbol(c_centroid, dc, K * sizeof(float2), 0, cudaMemcpyDeviceToDevice);
    assign<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(dp, n, dl, dt);
    update<<<1, 32>>>(dt, dc);
  }
  std::vector<unsigned char> lab(n);
  cudaMemcpy(lab.data(), dl, n, cudaMemcpyDeviceToHost);

  std::vector<int> ref(n);
  for (int r = 0; r < rounds; ++r) {
    Cluster t[K] = {};
    for (int i = 0; i < n; ++i) {
      float bd = 1e30f;
      for (int k = 0; k < K; ++k) {
        float dx = p[i].x - cen[k].x, dy = p[i].y - cen[k].y, d = dx * dx + dy * dy;
        if (d < bd) {
          bd = d;
          ref[i] = k;
        }
      }
      t[ref[i]].sx += p[i].x;
      t[ref[i]].sy += p[i].y;
      t[ref[i]].count++;
    }
    for (int k = 0; k < K; ++k)
      if (t[k].count)
        cen[k] = make_float2((float)t[k].sx / t[k].count, (float)t[k].sy / t[k].count);
  }
  int diff = 0;
  for (int i = 0; i < n; ++i)
    diff += ref[i] != lab[i];
  printf("k-means: %d of %d labels differ\n", diff, n);
  cudaFree(dp);
  cudaFree(dl);
  cudaFree(dt);
  cudaFree(dc);
  return diff > n / 100; // ties may fall differently
}
