// Bottom-up refit of a bounding-volume hierarchy: the second thread to arrive at a node goes on.
#include <cstdio>
#include <cfloat>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Aabb {
  float3 lo, hi;
};
struct Node {
  Aabb box;
  int left, right, parent;
};

__device__ Aabb merge(const volatile Aabb &a, const volatile Aabb &b) {
  Aabb r;
  r.lo = make_float3(fminf(a.lo.x, b.lo.x), fminf(a.lo.y, b.lo.y), fminf(a.lo.z, b.lo.z));
  r.hi = make_float3(fmaxf(a.hi.x, b.hi.x), fmaxf(a.hi.y, b.hi.y), fmaxf(a.hi.z, b.hi.z));
  return r;
}

__global__ void refit(Node *nodes, const float3 *pts, float radius, int leaves, int *arrivals) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= leaves)
    return;
  int node = leaves - 1 + i; // leaves follow the inner nodes
  float3 p = pts[i];
  nodes[node].box.lo = make_float3(p.x - radius, p.y - radius, p.z - radius);
  nodes[node].box.hi = make_float3(p.x + radius, p.y + radius, p.z + radius);
  for (int up = nodes[node].parent; up >= 0; up = nodes[up].parent) {
    __threadfence(); // my box before my ticket
    if (atomicAdd(&arrivals[up], 1) == 0)
      return; // the sibling is not there yet
    __threadfence();
    nodes[up].box = merge(nodes[nodes[up].left].box, nodes[nodes[up].right].box);
  }
}

int main() {
  const int leaves = 777; // a heap-shaped tree of any size
  const int total = 2 * leaves - 1;
  std::vector<Node> h(total);
  std::vector<float3> pts(leaves);
  for (int i = 0; i < total; i++) {
    h[i].parent = i ? (i - 1) / 2 : -1;
    h[i].left = 2 * i + 1;
    h[i].right = 2 * i + 2;
  }
  float3 lo = make_float3(FLT_MAX, FLT_MAX, FLT_MAX), hi = make_float3(-FLT_MAX, -FLT_MAX, -FLT_MAX);
  for (int i = 0; i < leaves; i++) {
    pts[i] = make_float3(sinf(i * 1.1f) * 5, cosf(i * 0.7f) * 3, (i % 13) - 6.0f);
    lo.x = fminf(lo.x, pts[i].x);
    hi.x = fmaxf(hi.x, pts[i].x);
    lo.y = fminf(lo.y, pts[i].y);
    hi.y = fmaxf(hi.y, pts[i].y);
    lo.z = fminf(lo.z, pts[i].z);
    hi.z = fmaxf(hi.z, pts[i].z);
  }
  Node *dN;
  float3 *dP;
  int *dA;
  cudaMalloc(&dN, total * sizeof(Node));
  cudaMalloc(&dP, leaves * sizeof(float3));
  cudaMalloc(&dA, (leaves - 1) * sizeof(int));
  cudaMemcpy(dN, h.data(), total * sizeof(Node), cudaMemcpyHostToDevice);
  cudaMemcpy(dP, pts.data(), leaves * sizeof(float3), cudaMemcpyHostToDevice);
  cudaMemset(dA, 0, (leaves - 1) * sizeof(int));
  refit<<<(leaves + 95) / 96, 96>>>(dN, dP, 0.5f, leaves, dA);
  Node root;
  cudaMemcpy(&root, dN, sizeof root, cudaMemcpyDeviceToHost);
  bool ok = fabsf(root.box.lo.x - lo.x + 0.5f) < 1e-5f && fabsf(root.box.hi.y - hi.y - 0.5f) < 1e-5f &&
            fabsf(root.box.hi.z - hi.z - 0.5f) < 1e-5f;
  cudaFree(dN);
  cudaFree(dP);
  cudaFree(dA);
  printf("root box [%g %g %g]..[%g %g %g] %s\n", root.box.lo.x, root.box.lo.y, root.box.lo.z, root.box.hi.x,
         root.box.hi.y, root.box.hi.z, ok ? "ok" : "wrong");
  return 0;
}
