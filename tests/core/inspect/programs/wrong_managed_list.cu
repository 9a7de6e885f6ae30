// finding: race-host 25 32
// The host deletes the list before it waits: operator delete writes its free-list link over the next pointer that
// the running kernel still follows.
#include <cstdio>
#include <new>
#include <cuda_runtime.h>

struct FreeLink {
  FreeLink *next;
};
static FreeLink *freeList = nullptr;

struct Node {
  Node *next;
  int key, value;
  static void *operator new(std::size_t) {
    if (!freeList)
      throw std::bad_alloc();
    FreeLink *f = freeList;
    freeList = f->next;
    return f;
  }
  static void operator delete(void *p) {
    FreeLink *f = static_cast<FreeLink *>(p);
    f->next = freeList;
    freeList = f;
  }
};

__global__ void sumByLane(const Node *head, int *out) {
  int sum = 0;
  for (const Node *p = head; p; p = p->next)
    if (p->key % int(blockDim.x) == int(threadIdx.x))
      sum += p->value;
  out[threadIdx.x] = sum;
}

int main() {
  const int cap = 640, rounds = 3, lanes = 64;
  char *arena;
  int *out;
  cudaMallocManaged(&arena, cap * sizeof(Node));
  cudaMallocManaged(&out, rounds * lanes * sizeof(int));
  for (int i = 0; i < cap; ++i)
    Node::operator delete(arena + i * sizeof(Node));

  for (int r = 0; r < rounds; ++r) {
    Node *head = nullptr;
    for (int k = 0; k < cap; ++k)
      head = new Node{head, k, k + r};
    sumByLane<<<1, lanes>>>(head, out + r * lanes);
    while (head) {
      Node *rest = head->next;
      delete head;
      head = rest;
    }
    cudaDeviceSynchronize();
  }

  int bad = 0;
  for (int r = 0; r < rounds; ++r)
    for (int t = 0; t < lanes; ++t) {
      int want = 0;
      for (int k = t; k < cap; k += lanes)
        want += k + r;
      bad += out[r * lanes + t] != want;
    }
  printf("list: %d wrong sums\n", bad);
  cudaFree(out);
  cudaFree(arena);
  return bad != 0;
}
