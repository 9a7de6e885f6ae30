// finding: bounds-array 35
// The traversal stack has 8 entries, a wide query in the 10-level tree pushes more.
// Range queries in an implicit balanced k-d tree (2D), iterative traversal with a private stack.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

struct Pt {
  float c[2];
};
struct Range {
  float lo[2], hi[2];
};

constexpr int LEVELS = 10;
constexpr int COUNT = (1 << LEVELS) - 1;

static void build(std::vector<Pt> &pts, int first, int last, int node, int axis, std::vector<Pt> &tree) {
  if (first >= last)
    return;
  int mid = (first + last) / 2;
  std::nth_element(pts.begin() + first, pts.begin() + mid, pts.begin() + last,
                   [axis](const Pt &a, const Pt &b) { return a.c[axis] < b.c[axis]; });
  tree[node] = pts[mid];
  build(pts, first, mid, 2 * node + 1, 1 - axis, tree);
  build(pts, mid + 1, last, 2 * node + 2, 1 - axis, tree);
}

template <int STACK> struct Stack {
  int top = 0;
  int item[STACK];
  __device__ void push(int v) {
    item[top++] = v;
  }
  __device__ int pop() {
    return item[--top];
  }
  __device__ bool empty() const {
    return top == 0;
  }
};

__global__ void rangeCount(const Pt *tree, const Range *query, int n, int *count) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= n)
    return;
  Range r = query[q];
  Stack<8> todo;
  int hits = 0;
  todo.push(0);
  while (!todo.empty()) {
    int node = todo.pop();
    Pt p = tree[node];
    hits += p.c[0] >= r.lo[0] && p.c[0] <= r.hi[0] && p.c[1] >= r.lo[1] && p.c[1] <= r.hi[1];
    int level = 31 - __clz(node + 1), axis = level & 1;
    if (level == LEVELS - 1)
      continue;
    if (r.lo[axis] <= p.c[axis])
      todo.push(2 * node + 1);
    if (r.hi[axis] >= p.c[axis])
      todo.push(2 * node + 2);
  }
  count[q] = hits;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 100;
  std::vector<Pt> pts(COUNT), tree(COUNT);
  srand(11);
  for (auto &p : pts)
    for (float &c : p.c)
      c = rand() % 10000 * 0.01f;
  std::vector<Range> query(n);
  for (int q = 0; q < n; q++)
    for (int a = 0; a < 2; a++) {
      float center = rand() % 100, half = q == 57 ? 200.0f : 2.0f; // one query covers everything
      query[q].lo[a] = center - half;
      query[q].hi[a] = center + half;
    }
  std::vector<int> want(n, 0), got(n);
  for (int q = 0; q < n; q++)
    for (auto &p : pts)
      want[q] +=
          p.c[0] >= query[q].lo[0] && p.c[0] <= query[q].hi[0] && p.c[1] >= query[q].lo[1] && p.c[1] <= query[q].hi[1];
  build(pts, 0, COUNT, 0, 0, tree);
  Pt *dTree;
  Range *dQuery;
  int *dCount;
  cudaMalloc(&dTree, COUNT * sizeof(Pt));
  cudaMalloc(&dQuery, n * sizeof(Range));
  cudaMalloc(&dCount, n * sizeof(int));
  cudaMemcpy(dTree, tree.data(), COUNT * sizeof(Pt), cudaMemcpyHostToDevice);
  cudaMemcpy(dQuery, query.data(), n * sizeof(Range), cudaMemcpyHostToDevice);
  rangeCount<<<(n + 63) / 64, 64>>>(dTree, dQuery, n, dCount);
  cudaMemcpy(got.data(), dCount, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(dTree);
  cudaFree(dQuery);
  cudaFree(dCount);
  std::printf("range queries %s\n", got == want ? "right" : "wrong");
  return 0;
}
