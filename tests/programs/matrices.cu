// cuda::barrier, pipelines with copies, nvcuda::wmma, memory pools, shared arrays with alignas, atomic functions with an order.
#include <cmath>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <mma.h>

using namespace nvcuda;
namespace cg = cooperative_groups;

static int failed;
static void expect(const char *what, bool good) {
  if (!good) {
    printf("FAIL %s\n", what);
    failed = 1;
  }
}

// Each thread adds what its neighbor has left, round after round.
__global__ void rounds(int *result) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int value[2][64];
  const int i = threadIdx.x;
  if (i == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  value[0][i] = i;
  for (int round = 0; round < 6; round++) {
    auto token = bar.arrive();
    bar.wait(std::move(token));
    value[(round + 1) & 1][i] = value[round & 1][i] + value[round & 1][(i + 1) % 64];
  }
  result[i] = value[0][i];
}

// One warp copies, the other one adds up.
__global__ void produce(const int *from, int *sum, int batches) {
  constexpr int stages = 2;
  __shared__ alignas(16) int buffer[stages][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  const bool producer = threadIdx.x < 32;
  auto pipe =
      cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = threadIdx.x % 32;
  int mine = 0;
  for (int batch = 0; batch < batches; batch++) {
    if (producer) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[batch % stages][lane], &from[batch * 32 + lane], cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      mine += buffer[batch % stages][31 - lane];
      pipe.consumer_release();
    }
  }
  if (!producer)
    sum[lane] = mine;
}

template <class T, class C, int m, int n, int k, class LayoutB>
__global__ void multiply(const void *a, const void *b, C *c) {
  using Memory = typename wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major>::storage_element_type;
  wmma::fragment<wmma::matrix_a, m, n, k, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, m, n, k, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, m, n, k, C> fc;
  wmma::fill_fragment(fc, C(1));
  wmma::load_matrix_sync(fa, (const Memory *)a, k);
  wmma::load_matrix_sync(fb, (const Memory *)b, std::is_same_v<LayoutB, wmma::row_major> ? n : k);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, n, wmma::mem_row_major);
}

template <class T, class Memory, class C, int m, int n, int k, class LayoutB> static bool product(void) {
  Memory *a, *b;
  C *c;
  cudaMallocManaged(&a, m * k * sizeof *a);
  cudaMallocManaged(&b, k * n * sizeof *b);
  cudaMallocManaged(&c, m * n * sizeof *c);
  for (int i = 0; i < m * k; i++)
    a[i] = Memory(float(i * 7 % 11));
  for (int i = 0; i < k * n; i++)
    b[i] = Memory(float(i * 5 % 13));
  multiply<T, C, m, n, k, LayoutB><<<1, 32>>>(a, b, c);
  bool good = cudaDeviceSynchronize() == cudaSuccess;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 1;
      for (int l = 0; l < k; l++)
        sum += (double)(float)a[i * k + l] *
               (double)(float)(std::is_same_v<LayoutB, wmma::row_major> ? b[l * n + j] : b[j * k + l]);
      good = good && (double)(float)c[i * n + j] == sum;
    }
  return good;
}

__global__ void ordered(int *x) {
  __nv_atomic_fetch_add(x, 2, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  if (threadIdx.x == 0)
    x[1] = __nv_atomic_load_n(x + 2, __NV_ATOMIC_ACQUIRE);
}

int main() {
  int *numbers, *sums;
  cudaMallocManaged(&numbers, 640 * sizeof *numbers);
  cudaMallocManaged(&sums, 64 * sizeof *sums);
  rounds<<<1, 64>>>(sums);
  cudaDeviceSynchronize();
  expect("a barrier", sums[0] == 192 && sums[10] == 832); // the sum over j of (6 over j) (i + j) is 64 i + 192
  for (int i = 0; i < 640; i++)
    numbers[i] = i;
  produce<<<1, 64>>>(numbers, sums, 20);
  cudaDeviceSynchronize();
  expect("a pipeline", sums[31] == 32 * 190 && sums[0] == 32 * 190 + 20 * 31);

  expect("half", (product<__half, __half, float, 16, 16, 16, wmma::row_major>()));
  expect("half, of other shape", (product<__half, __half, float, 32, 8, 16, wmma::col_major>()));
  expect("bfloat16", (product<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, wmma::col_major>()));
  expect("tf32", (product<wmma::precision::tf32, float, float, 16, 16, 8, wmma::row_major>()));
  expect("double", (product<double, double, double, 8, 8, 4, wmma::col_major>()));
  expect("bytes", (product<unsigned char, unsigned char, int, 8, 32, 16, wmma::row_major>()));
  expect("rounding to tf32",
         wmma::__float_to_tf32(1 + 0x1p-11f) == 1 + 0x1p-10f && wmma::__float_to_tf32(1 + 0x1p-12f) == 1);

  sums[0] = 0;
  sums[2] = 5;
  ordered<<<1, 32>>>(sums);
  cudaDeviceSynchronize();
  expect("atomic functions with an order", sums[0] == 64 && sums[1] == 5);

  cudaMemPool_t pool, other;
  unsigned long long threshold = 1 << 20, told = 0;
  void *memory;
  expect("the default pool", cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &told);
  expect("its threshold", told == threshold);
  expect("what is not known",
         cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &told) == cudaErrorNotSupported);
  cudaGetLastError();
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  expect("a pool", cudaMemPoolCreate(&other, &props) == cudaSuccess);
  expect("memory from it",
         cudaMallocFromPoolAsync(&memory, 100, other, 0) == cudaSuccess && cudaFreeAsync(memory, 0) == cudaSuccess);
  expect("its end", cudaMemPoolDestroy(other) == cudaSuccess && cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
