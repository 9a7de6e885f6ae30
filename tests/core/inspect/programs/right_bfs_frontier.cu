// BFS with frontier queues: a vertex is claimed by atomicCAS on its parent, staged in shared memory, then flushed.
#include <cstdio>
#include <vector>
#include <queue>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int W = 24, H = 20, N = W * H, T = 64;

__device__ inline bool wall(int v) {
  return (v * 7 + v / W * 3) % 5 == 0 && v != 0;
}

// count[level] is the size of the frontier of that level: a fresh counter for every level
__global__ void expand(const int *frontier, const int *countIn, int *next, int *countOut, int *parent, int *depthOf,
                       int depth) {
  __shared__ int staged[4 * T];
  __shared__ int used, at;
  int n = *countIn;
  for (int first = blockIdx.x * T; first < n; first += gridDim.x * T) { // uniform in the block
    if (threadIdx.x == 0)
      used = 0;
    __syncthreads();
    int i = first + threadIdx.x;
    if (i < n) {
      int v = frontier[i], x = v % W, y = v / W;
      int nb[4], k = 0;
      if (x > 0)
        nb[k++] = v - 1;
      if (x < W - 1)
        nb[k++] = v + 1;
      if (y > 0)
        nb[k++] = v - W;
      if (y < H - 1)
        nb[k++] = v + W;
      while (k-- > 0) {
        int u = nb[k];
        if (!wall(u) && atomicCAS(&parent[u], -1, v) == -1) {
          depthOf[u] = depth + 1;
          staged[atomicAdd(&used, 1)] = u;
        }
      }
    }
    __syncthreads();
    if (threadIdx.x == 0)
      at = atomicAdd(countOut, used);
    __syncthreads();
    for (int k = threadIdx.x; k < used; k += T)
      next[at + k] = staged[k];
    __syncthreads();
  }
}

int main() {
  std::vector<int> want(N, -1), depth(N), parent(N);
  std::queue<int> q;
  auto wallH = [](int v) { return (v * 7 + v / W * 3) % 5 == 0 && v != 0; };
  q.push(0);
  want[0] = 0;
  while (!q.empty()) {
    int v = q.front(), x = v % W, y = v / W;
    q.pop();
    int nb[4] = {x > 0 ? v - 1 : v, x < W - 1 ? v + 1 : v, y > 0 ? v - W : v, y < H - 1 ? v + W : v};
    for (int u : nb)
      if (want[u] < 0 && !wallH(u)) {
        want[u] = want[v] + 1;
        q.push(u);
      }
  }
  int *f[2], *count, *dp, *dd, one = 1, zero = 0;
  CK(cudaMalloc(&f[0], N * sizeof(int)));
  CK(cudaMalloc(&f[1], N * sizeof(int)));
  CK(cudaMalloc(&count, (N + 1) * sizeof(int)));
  CK(cudaMalloc(&dp, N * sizeof(int)));
  CK(cudaMalloc(&dd, N * sizeof(int)));
  CK(cudaMemset(count, 0, (N + 1) * sizeof(int)));
  CK(cudaMemset(dp, 0xff, N * sizeof(int)));
  CK(cudaMemset(dd, 0xff, N * sizeof(int)));
  CK(cudaMemcpy(count, &one, sizeof one, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(f[0], &zero, sizeof zero, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dp, &zero, sizeof zero, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(dd, &zero, sizeof zero, cudaMemcpyHostToDevice));
  int left = 1;
  for (int d = 0; left; d++) {
    expand<<<2, T>>>(f[d & 1], count + d, f[~d & 1], count + d + 1, dp, dd, d);
    CK(cudaGetLastError());
    CK(cudaMemcpy(&left, count + d + 1, sizeof left, cudaMemcpyDeviceToHost));
  }
  CK(cudaMemcpy(depth.data(), dd, N * sizeof(int), cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(parent.data(), dp, N * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int v = 0; v < N; v++)
    bad += depth[v] != want[v] || (v && want[v] >= 0 && want[parent[v]] != want[v] - 1);
  CK(cudaFree(f[0]));
  CK(cudaFree(f[1]));
  CK(cudaFree(count));
  CK(cudaFree(dp));
  CK(cudaFree(dd));
  printf("bfs_frontier: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
