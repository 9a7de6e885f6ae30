// Managed memory: the host builds linked lists, kernels walk and edit them, the host edits again between the launches.
#include <cstdio>
#include <new>
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
  int value;
  Node *next;
};

struct Managed {
  static void *operator new[](size_t bytes) {
    void *p = nullptr;
    if (cudaMallocManaged(&p, bytes) != cudaSuccess)
      throw std::bad_alloc();
    return p;
  }
  static void operator delete[](void *p) {
    cudaFree(p);
  }
};

struct List : Managed {
  Node *head;
  int length;
  long long sum;
};

__global__ void walk(List *lists, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  List &l = lists[i];
  l.length = 0;
  l.sum = 0;
  Node *before = nullptr;
  for (Node *p = l.head; p;) { // counts and reverses
    l.length++;
    l.sum += p->value;
    Node *after = p->next;
    p->next = before;
    before = p;
    p = after;
  }
  l.head = before;
}

int main() {
  const int n = 90, nodes = 1000;
  List *lists = new List[n];
  Node *pool;
  CK(cudaMallocManaged(&pool, nodes * sizeof(Node)));
  for (int i = 0; i < n; i++)
    lists[i].head = nullptr;
  for (int k = 0; k < nodes; k++) {
    List &l = lists[(k * k) % n];
    pool[k] = {k, l.head};
    l.head = &pool[k];
  }
  int bad = 0;
  for (int round = 0; round < 3; round++) {
    walk<<<(n + 31) / 32, 32>>>(lists, n);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
    int total = 0;
    for (int i = 0; i < n; i++) {
      long long s = 0;
      int c = 0, last = -1;
      for (Node *p = lists[i].head; p; p = p->next) {
        s += p->value;
        c++;
        bad += round % 2 == 0 ? p->value <= last : (last >= 0 && p->value >= last);
        last = p->value;
      }
      bad += s != lists[i].sum || c != lists[i].length;
      total += c;
    }
    bad += total != nodes;
  }
  delete[] lists;
  CK(cudaFree(pool));
  printf("managed_list: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
