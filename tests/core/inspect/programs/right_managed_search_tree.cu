// Managed memory with a class-level operator new; binary search tree built on the host, queried on the device, prefetched.
#include <cstdio>
#include <new>
#include <cuda_runtime.h>

struct Managed {
  void *operator new(size_t bytes) {
    void *p = nullptr;
    if (cudaMallocManaged(&p, bytes) != cudaSuccess)
      throw std::bad_alloc();
    return p;
  }
  void operator delete(void *p) {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
};

struct TreeNode : Managed {
  int key;
  int hits = 0;
  TreeNode *kid[2] = {nullptr, nullptr};
  explicit TreeNode(int k) : key(k) {
  }
};

class Tree : public Managed {
public:
  ~Tree() {
    destroy(root);
  }
  void insert(int k) {
    TreeNode **p = &root;
    while (*p) {
      if ((*p)->key == k)
        return;
      p = &(*p)->kid[k > (*p)->key];
    }
    *p = new TreeNode(k);
    ++size;
  }
  __device__ TreeNode *find(int k) const {
    TreeNode *n = root;
    while (n && n->key != k)
      n = n->kid[k > n->key];
    return n;
  }
  int size = 0;

private:
  static void destroy(TreeNode *n) {
    if (!n)
      return;
    destroy(n->kid[0]);
    destroy(n->kid[1]);
    delete n;
  }
  TreeNode *root = nullptr;
};

__global__ void query(const Tree *tree, const int *keys, unsigned char *found, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  TreeNode *node = tree->find(keys[i]);
  found[i] = node != nullptr;
  if (node)
    atomicAdd(&node->hits, 1);
}

static void prefetch(void *p, size_t bytes, int where) {
#if CUDART_VERSION >= 13000
  cudaMemLocation loc = {};
  loc.type = where == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  loc.id = where == cudaCpuDeviceId ? 0 : where;
  cudaMemPrefetchAsync(p, bytes, loc, 0, 0);
#else
  cudaMemPrefetchAsync(p, bytes, where, 0);
#endif
}

int main() {
  const int n = 600;
  Tree *tree = new Tree;
  for (int i = 0; i < 200; i++)
    tree->insert((i * 73) % 401);
  int *keys;
  unsigned char *found;
  cudaMallocManaged(&keys, n * sizeof(int));
  cudaMallocManaged(&found, n);
  for (int i = 0; i < n; i++)
    keys[i] = i % 401;
  int dev = 0;
  cudaGetDevice(&dev);
  prefetch(keys, n * sizeof(int), dev);
  query<<<(n + 63) / 64, 64>>>(tree, keys, found, n);
  prefetch(found, n, cudaCpuDeviceId);
  cudaDeviceSynchronize();
  bool present[401] = {};
  for (int i = 0; i < 200; i++)
    present[(i * 73) % 401] = true;
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += (found[i] != 0) != present[keys[i]];
  printf("tree of %d nodes: %d wrong answers\n", tree->size, wrong);
  cudaFree(keys);
  cudaFree(found);
  delete tree;
  return wrong;
}
