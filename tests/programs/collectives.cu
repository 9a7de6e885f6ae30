// cub: of blocks, of warps, of the whole device.
#include <cub/cub.cuh>
#include <cstdio>
#include <cstdlib>

static int failures;
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                                                \
      failures++;                                                                                                      \
    }                                                                                                                  \
  } while (0)

enum { THREADS = 64, ITEMS = 4 };

struct running {
  int total;
  __device__ int operator()(int aggregate) {
    const int before = total;
    total += aggregate;
    return before;
  }
};

__global__ void of_blocks(const int *in, int *out) {
  using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, THREADS, cub::BLOCK_SCAN_RAKING>;
  using Reduce = cub::BlockReduce<int, THREADS>;
  using Sort = cub::BlockRadixSort<int, THREADS, ITEMS, int>;
  using Exchange = cub::BlockExchange<int, THREADS, ITEMS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
    typename Sort::TempStorage sort;
    typename Exchange::TempStorage exchange;
  } temp;
  int items[ITEMS], sums[ITEMS], all;
  Load(temp.load).Load(in, items);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(items, sums, all);
  __syncthreads();
  cub::StoreDirectBlocked((int)threadIdx.x, out, sums); // [0, 256)
  const int greatest = Reduce(temp.reduce).Reduce(items, cub::Max());
  if (threadIdx.x == 0) {
    out[256] = all;
    out[257] = greatest;
  }
  __syncthreads();
  const int some = Reduce(temp.reduce).Sum((int)threadIdx.x, 10);
  if (threadIdx.x == 0)
    out[258] = some;
  __syncthreads();
  running prefix = {1000};
  int scanned;
  Scan(temp.scan).InclusiveSum(1, scanned, prefix);
  __syncthreads();
  Scan(temp.scan).InclusiveSum(1, scanned, prefix);
  if (threadIdx.x == 5)
    out[259] = scanned;
  __syncthreads();
  int values[ITEMS];
  for (int i = 0; i < ITEMS; i++)
    values[i] = (int)threadIdx.x * ITEMS + i;
  Sort(temp.sort).SortDescending(items, values);
  cub::StoreDirectBlocked((int)threadIdx.x, out + 260, items);
  cub::StoreDirectBlocked((int)threadIdx.x, out + 516, values);
  __syncthreads();
  Exchange(temp.exchange).BlockedToStriped(values);
  cub::StoreDirectStriped<THREADS>((int)threadIdx.x, out + 772, values);
}

__global__ void of_warps(int *out) {
  using Scan = cub::WarpScan<int>;
  using Reduce = cub::WarpReduce<double, 8>;
  __shared__ typename Scan::TempStorage scan[2];
  __shared__ typename Reduce::TempStorage reduce[8];
  int before, all;
  Scan(scan[threadIdx.x / 32]).ExclusiveSum((int)threadIdx.x, before, all);
  out[threadIdx.x] = before;
  const double sum = Reduce(reduce[threadIdx.x / 8]).Sum(0.5);
  if (threadIdx.x % 8 == 0)
    out[64 + threadIdx.x / 8] = (int)sum;
  if (threadIdx.x == 63)
    out[72] = all;
}

struct odd {
  __host__ __device__ bool operator()(int x) const {
    return x & 1;
  }
};
struct halved {
  __host__ __device__ float operator()(int x) const {
    return 0.5f * (float)x;
  }
};

template <class Call> static void twice(Call call) { // how much temporary storage, then the work itself
  void *temp = nullptr;
  size_t bytes = 0;
  CHECK(call(temp, bytes) == cudaSuccess && bytes > 0);
  CHECK(cudaMalloc(&temp, bytes) == cudaSuccess);
  CHECK(call(temp, bytes) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  cudaFree(temp);
}

int main() {
  const int n = 256;
  int *in, *out;
  float *real, *sorted;
  cudaMallocManaged(&in, n * sizeof *in);
  cudaMallocManaged(&out, 1100 * sizeof *out);
  cudaMallocManaged(&real, n * sizeof *real);
  cudaMallocManaged(&sorted, n * sizeof *sorted);
  for (int i = 0; i < n; i++) {
    in[i] = i * 37 % 101;
    real[i] = i % 2 ? -(float)in[i] : (float)in[i];
  }
  of_blocks<<<1, THREADS>>>(in, out);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  int sum = 0, most = 0;
  for (int i = 0; i < n; i++) {
    CHECK(out[i] == sum);
    sum += in[i];
    most = in[i] > most ? in[i] : most;
  }
  CHECK(out[256] == sum && out[257] == most && out[258] == 45 && out[259] == 1000 + 64 + 6);
  for (int i = 0; i < n; i++) {
    CHECK(i == 0 || out[260 + i] < out[259 + i] || (out[260 + i] == out[259 + i] && out[516 + i] > out[515 + i]));
    CHECK(in[out[516 + i]] == out[260 + i] && out[772 + i] == out[516 + i]);
  }
  of_warps<<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out[31] == 465 && out[32] == 0 && out[63] == 1457 && out[72] == 1520 && out[64] == 4 && out[71] == 4);

  twice([&](void *temp, size_t &bytes) { return cub::DeviceReduce::Sum(temp, bytes, in, out, n); });
  CHECK(out[0] == sum);
  cub::TransformInputIterator<float, halved, int *> halves(in, halved());
  twice([&](void *temp, size_t &bytes) { return cub::DeviceReduce::Sum(temp, bytes, halves, sorted, n); });
  CHECK(sorted[0] == 0.5f * (float)sum);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceReduce::Max(temp, bytes, in, out, n); });
  CHECK(out[0] == most);
  cub::KeyValuePair<int, int> *least;
  cudaMallocManaged(&least, sizeof *least);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceReduce::ArgMin(temp, bytes, in + 1, least, n - 1); });
  CHECK(least->key == 100 && least->value == 0);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n); });
  CHECK(out[0] == 0 && out[n - 1] == sum - in[n - 1]);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceScan::InclusiveScan(temp, bytes, in, out, cub::Max(), n); });
  CHECK(out[0] == 0 && out[n - 1] == most);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(temp, bytes, real, sorted, n); });
  for (int i = 1; i < n; i++)
    CHECK(sorted[i - 1] <= sorted[i]);
  cub::CountingInputIterator<int> count(0);
  twice([&](void *temp, size_t &bytes) { return cub::DeviceSelect::If(temp, bytes, count, out, out + n, n, odd()); });
  CHECK(out[n] == n / 2 && out[1] == 3);
  twice([&](void *temp, size_t &bytes) {
    return cub::DeviceHistogram::HistogramEven(temp, bytes, in, out, 5, 0, 100, n);
  });
  int low = 0, inside = 0;
  for (int i = 0; i < n; i++) {
    low += in[i] < 25;
    inside += in[i] < 100;
  }
  CHECK(out[0] == low && out[0] + out[1] + out[2] + out[3] == inside);
  // A sample just below the upper limit, whose place among 10 bins rounds to 10.
  int *bins = out + 1;
  out[0] = out[11] = 77;
  real[0] = 0.8999999f;
  real[1] = 0.0f;
  real[2] = 0.9f; // outside
  twice([&](void *temp, size_t &bytes) {
    return cub::DeviceHistogram::HistogramEven(temp, bytes, real, bins, 11, 0.0f, 0.9f, 3);
  });
  CHECK(bins[0] == 1 && bins[9] == 1 && out[0] == 77 && bins[10] == 77);
  size_t few = 1;
  CHECK(cub::DeviceReduce::Sum(out, few, in, out, n) == cudaErrorInvalidValue);
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
