// finding: bounds-array 27
// A walk down the tree can need more than the eight entries of the thread's stack (only from some roots).
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

struct Node {
  int left, right, weight;
};

struct Stack {
  int used;
  int items[8];
  __device__ Stack() : used(0) {
  }
  __device__ void push(int v) {
    if (v >= 0)
      items[used++] = v;
  }
  __device__ int pop() {
    return items[--used];
  }
  __device__ bool empty() const {
    return used == 0;
  }
};

// the weight of the subtree below every node
__global__ void subtreeWeights(const Node *nodes, int n, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Stack todo;
  int sum = 0;
  todo.push(i);
  while (!todo.empty()) {
    Node v = nodes[todo.pop()];
    sum += v.weight;
    todo.push(v.right);
    todo.push(v.left);
  }
  out[i] = sum;
}

static int weigh(const std::vector<Node> &t, int i) {
  return i < 0 ? 0 : t[i].weight + weigh(t, t[i].left) + weigh(t, t[i].right);
}

int main() {
  // a left spine of ten nodes, each with a leaf on its right: node 2k has the children 2k + 2 and 2k + 1
  const int n = 21;
  std::vector<Node> tree(n);
  for (int i = 0; i < n; i++)
    tree[i] = i % 2 || i == n - 1 ? Node{-1, -1, i} : Node{i + 2, i + 1, i};
  Node *d;
  int *out;
  std::vector<int> got(n);
  CK(cudaMalloc(&d, n * sizeof(Node)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMemcpy(d, tree.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  subtreeWeights<<<1, 32>>>(d, n, out);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += got[i] != weigh(tree, i);
  CK(cudaFree(d));
  CK(cudaFree(out));
  printf("dfs_stack: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
