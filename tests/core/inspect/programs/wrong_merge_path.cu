// finding: bounds-global 33
// B[j] is compared before j is tested against nb; for the last run of the array that is the element behind the buffer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const int PER_THREAD = 8;

template <typename T> __device__ int splitPoint(const T *a, int na, const T *b, int nb, int diag) {
  int lo = max(0, diag - nb), hi = min(diag, na);
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (a[mid] <= b[diag - 1 - mid])
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <typename T> __global__ void mergeRuns(const T *__restrict__ src, T *__restrict__ dst, int n, int run) {
  int out = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
  if (out >= n)
    return;
  int start = out - out % (2 * run);
  int na = min(run, n - start), nb = min(run, n - start - na);
  const T *a = src + start, *b = a + na;
  int i = splitPoint(a, na, b, nb, out - start);
  int j = out - start - i;
  for (int k = 0; k < PER_THREAD && i + j < na + nb; ++k) {
    T va = i < na ? a[i] : T();
    T vb = b[j];
    if (i < na && (j >= nb || va <= vb)) {
      dst[out + k] = va;
      ++i;
    } else {
      dst[out + k] = vb;
      ++j;
    }
  }
}

// sorts groups of PER_THREAD elements in registers
template <typename T> __global__ void sortGroups(T *d, int n) {
  int base = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
  int cnt = min(PER_THREAD, n - base);
  for (int i = 1; i < cnt; ++i) {
    T v = d[base + i];
    int j = i;
    for (; j > 0 && d[base + j - 1] > v; --j)
      d[base + j] = d[base + j - 1];
    d[base + j] = v;
  }
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1024;
  std::vector<float> h(n), r(n);
  for (int i = 0; i < n; ++i)
    h[i] = float((i * 769 + 11) % 1021);
  h[n / 3] = 1e6f; // the largest one lies in the first half
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  const int threads = 64, blocks = (n + threads * PER_THREAD - 1) / (threads * PER_THREAD);
  sortGroups<<<blocks, threads>>>(a, n);
  for (int run = PER_THREAD; run < n; run *= 2) {
    mergeRuns<<<blocks, threads>>>(a, b, n, run);
    std::swap(a, b);
  }
  cudaMemcpy(r.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
  std::sort(h.begin(), h.end());
  printf("merge sort: %s\n", h == r ? "ok" : "wrong order");
  cudaFree(a);
  cudaFree(b);
  return h == r ? 0 : 1;
}
