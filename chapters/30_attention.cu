// Lesson 30, docs/30_attention.md: attention in three kernels, in one kernel, and in tiles as in FlashAttention.
//
// prints: ^unfused +3 +.* True$
// prints: ^row_fused +1 +.* True$
// prints: ^flash +1 +.* True$
#include "kernels.h"
#include <math.h>

enum { WARP = 32, THREADS = 256 };
#define ALL_LANES 0xffffffffu

// ---- reductions over a block, as in 29_fusion.cu -----------------------------------------------------------------------------

static __device__ float warp_sum(float x) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, offset);
  return x;
}

static __device__ float block_sum(float x) {
  __shared__ float warp_sums[THREADS / WARP];
  x = warp_sum(x);
  if (threadIdx.x % WARP == 0)
    warp_sums[threadIdx.x / WARP] = x;
  __syncthreads();
  x = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    x += warp_sums[warp];
  __syncthreads();
  return x;
}

static __device__ float block_max(float x) {
  __shared__ float warp_maxima[THREADS / WARP];
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
  if (threadIdx.x % WARP == 0)
    warp_maxima[threadIdx.x / WARP] = x;
  __syncthreads();
  x = warp_maxima[0];
  for (int warp = 1; warp < THREADS / WARP; warp++)
    x = fmaxf(x, warp_maxima[warp]);
  __syncthreads();
  return x;
}

typedef struct Soft {
  float max, sum; // of the numbers so far: their maximum, and the sum of e^(number - max)
} Soft;

// Combines the states of two groups of numbers. The sum with the smaller maximum is rescaled to the larger maximum.
static __device__ Soft merged(Soft a, Soft b) {
  float larger = fmaxf(a.max, b.max);
  if (larger == -INFINITY) // both groups are empty: avoid -inf - -inf
    return a;
  return Soft{larger, a.sum * expf(a.max - larger) + b.sum * expf(b.max - larger)};
}

static __device__ Soft block_soft(Soft s) {
  __shared__ Soft warp_softs[THREADS / WARP];
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    s = merged(s, Soft{__shfl_xor_sync(ALL_LANES, s.max, offset), __shfl_xor_sync(ALL_LANES, s.sum, offset)});
  if (threadIdx.x % WARP == 0)
    warp_softs[threadIdx.x / WARP] = s;
  __syncthreads();
  s = warp_softs[0];
  for (int warp = 1; warp < THREADS / WARP; warp++)
    s = merged(s, warp_softs[warp]);
  return s;
}

// ---- attention: softmax(q k^T / sqrt(D)) v for each head ---------------------------------------------------------------------

enum { D = 32, SIDE = 16 };

// [unfused]
// scores[i][j] = q[i] . k[j] / sqrt(D): a tiled matrix product (lesson 27). blockIdx.z is the head.
__global__ void scores(float *out, const float *q, const float *k, int n) {
  __shared__ float tile_q[SIDE][SIDE + 1], tile_k[SIDE][SIDE + 1];
  int row = blockIdx.y * SIDE + threadIdx.y, head = blockIdx.z * n;
  float sum = 0;
  for (int d = 0; d < D; d += SIDE) {
    tile_q[threadIdx.y][threadIdx.x] = q[(head + row) * D + d + threadIdx.x];
    tile_k[threadIdx.y][threadIdx.x] = k[(head + blockIdx.x * SIDE + threadIdx.y) * D + d + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < SIDE; i++)
      sum += tile_q[threadIdx.y][i] * tile_k[threadIdx.x][i];
    __syncthreads();
  }
  out[(head + row) * n + blockIdx.x * SIDE + threadIdx.x] = sum * rsqrtf((float)D);
}

__global__ void softmax_rows(float *x, int n) {
  float *row = x + blockIdx.x * n;
  Soft soft = {-INFINITY, 0};
  for (int k = threadIdx.x; k < n; k += THREADS)
    soft = merged(soft, Soft{row[k], 1});
  soft = block_soft(soft);
  for (int k = threadIdx.x; k < n; k += THREADS)
    row[k] = expf(row[k] - soft.max) / soft.sum;
}

__global__ void weighted(float *out, const float *weights, const float *v, int n) {
  __shared__ float tile_w[SIDE][SIDE + 1], tile_v[SIDE][SIDE + 1];
  int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x, head = blockIdx.z * n;
  float sum = 0;
  for (int j = 0; j < n; j += SIDE) {
    tile_w[threadIdx.y][threadIdx.x] = weights[(head + row) * n + j + threadIdx.x];
    tile_v[threadIdx.y][threadIdx.x] = v[(head + j + threadIdx.y) * D + column];
    __syncthreads();
    for (int i = 0; i < SIDE; i++)
      sum += tile_w[threadIdx.y][i] * tile_v[i][threadIdx.x];
    __syncthreads();
  }
  out[(head + row) * D + column] = sum;
}
// [end]

// [row_fused]
enum { ROW_LANES = D / 4 }; // lanes that load a row of D floats, one float4 each

// One block per query keeps the query's n scores in shared memory. Every block reads all of k and v of its head.
__global__ void row_fused(float *out, const float *q, const float *k, const float *v, int n) {
  extern __shared__ float weights[];
  __shared__ float partial[THREADS / D][D];
  int row = blockIdx.x, head = row / n * n, lane = threadIdx.x % ROW_LANES;
  float4 q4 = ((const float4 *)(q + row * D))[lane];
  float largest = -INFINITY, sum = 0, value = 0;
  for (int j = threadIdx.x / ROW_LANES; j < n; j += THREADS / ROW_LANES) {
    float4 k4 = ((const float4 *)(k + (head + j) * D))[lane];
    float s = q4.x * k4.x + q4.y * k4.y + q4.z * k4.z + q4.w * k4.w;
    for (int offset = ROW_LANES / 2; offset > 0; offset /= 2)
      s += __shfl_xor_sync(ALL_LANES, s, offset);
    s *= rsqrtf((float)D);
    largest = fmaxf(largest, s);
    if (lane == 0)
      weights[j] = s;
  }
  largest = block_max(largest);
  for (int j = threadIdx.x; j < n; j += THREADS) {
    weights[j] = expf(weights[j] - largest);
    sum += weights[j];
  }
  sum = block_sum(sum);
  for (int j = threadIdx.x / D; j < n; j += THREADS / D)
    value += weights[j] * v[(head + j) * D + threadIdx.x % D];
  partial[threadIdx.x / D][threadIdx.x % D] = value;
  __syncthreads();
  if (threadIdx.x >= D)
    return;
  for (int i = 1; i < THREADS / D; i++)
    value += partial[i][threadIdx.x];
  out[row * D + threadIdx.x] = value / sum;
}
// [end]

// [flash]
enum { QUERIES = 32, SPLIT = 4, KEYS = 32 }; // per block: queries, threads per query, keys in a tile

// Copies `count` rows of D floats into a tile whose rows are padded to D + 1 floats.
static __device__ void load_tile(float (*tile)[D + 1], const float *from, int count) {
  for (int i = threadIdx.x; i < count * D; i += QUERIES * SPLIT)
    tile[i / D][i % D] = from[i];
}

// A block of 128 threads computes 32 queries. Four threads share a query, and each of them handles every fourth key.
__global__ void flash(float *out, const float *q, const float *k, const float *v, int n) {
  __shared__ float tile_q[QUERIES][D + 1], tile_k[KEYS][D + 1], tile_v[KEYS][D + 1];
  int query = threadIdx.x / SPLIT, quarter = threadIdx.x % SPLIT;
  int first = blockIdx.x * QUERIES, head = first / n * n;
  float q_row[D], value[D] = {0}, largest = -INFINITY, sum = 0;
  load_tile(tile_q, q + first * D, QUERIES);
  __syncthreads();
#pragma unroll
  for (int d = 0; d < D; d++)
    q_row[d] = tile_q[query][d] * rsqrtf((float)D);
  // [end]
  // [flash_loop]
  for (int tile = 0; tile < n; tile += KEYS) {
    load_tile(tile_k, k + (head + tile) * D, KEYS);
    load_tile(tile_v, v + (head + tile) * D, KEYS);
    __syncthreads();
    for (int j = quarter; j < KEYS; j += SPLIT) {
      float s = 0;
#pragma unroll
      for (int d = 0; d < D; d++)
        s += q_row[d] * tile_k[j][d];
      float new_max = fmaxf(largest, s), rescale = expf(largest - new_max), weight = expf(s - new_max);
      sum = sum * rescale + weight;
      largest = new_max;
#pragma unroll
      for (int d = 0; d < D; d++)
        value[d] = value[d] * rescale + weight * tile_v[j][d];
    }
    __syncthreads();
  }
  // [end]
  // [flash_join]
  float all_max = largest; // over the four threads of a query
  for (int offset = SPLIT / 2; offset > 0; offset /= 2)
    all_max = fmaxf(all_max, __shfl_xor_sync(ALL_LANES, all_max, offset));
  float rescale = expf(largest - all_max);
  sum *= rescale;
  for (int offset = SPLIT / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
  for (int d = 0; d < D; d++) {
    value[d] *= rescale;
    for (int offset = SPLIT / 2; offset > 0; offset /= 2)
      value[d] += __shfl_xor_sync(ALL_LANES, value[d], offset);
    if (quarter == 0)
      tile_q[query][d] = value[d] / sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < QUERIES * D; i += QUERIES * SPLIT)
    out[first * D + i] = tile_q[i / D][i % D];
}
// [end]

// ---- the host ----------------------------------------------------------------------------------------------------------------

// Pseudorandom numbers from -1 to 1, the same in each run.
static float number(unsigned int seed, unsigned int i) {
  unsigned int x = (i + 1) * 2654435761u ^ seed * 40503u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return (float)(x % 2001) / 1000.0f - 1;
}

typedef struct Data {
  float *host, *device;
  int count;
} Data;

static Data data_new(int count, unsigned int seed, float scale) {
  Data d = {(float *)malloc((size_t)count * sizeof(float)), NULL, count};
  for (int i = 0; d.host && i < count; i++)
    d.host[i] = seed ? scale * number(seed, (unsigned int)i) : 0;
  CHECK(cudaMalloc((void **)&d.device, (size_t)count * sizeof(float)));
  CHECK(cudaMemcpy(d.device, d.host, (size_t)count * sizeof(float), cudaMemcpyHostToDevice));
  return d;
}

static void data_free(Data *d) {
  CHECK(cudaFree(d->device));
  free(d->host);
}

static void fetch(Data *d) {
  CHECK(cudaMemcpy(d->host, d->device, (size_t)d->count * sizeof(float), cudaMemcpyDeviceToHost));
}

static void clear(Data *d) { // otherwise a kernel that writes nothing would seem right
  CHECK(cudaMemset(d->device, 0, (size_t)d->count * sizeof(float)));
}

static bool near_enough(double got, double want) {
  return fabs(got - want) <= 2e-5 * (1 + fabs(want));
}

static const char *yes(bool right) {
  return right ? "True" : "False";
}

typedef struct Attention {
  Data q, k, v, out, scores;
  int heads, n;
} Attention;

static bool attention_right(Attention *a) {
  bool right = true;
  double *weight = (double *)malloc((size_t)a->n * sizeof(double));
  fetch(&a->out);
  for (int row = 0; weight && row < a->heads * a->n; row += 1 + a->heads * a->n / 24) {
    const int head = row / a->n * a->n;
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < a->n; j++) {
      weight[j] = 0;
      for (int d = 0; d < D; d++)
        weight[j] += (double)a->q.host[row * D + d] * (double)a->k.host[(head + j) * D + d] / sqrt((double)D);
      most = fmax(most, weight[j]);
    }
    for (int j = 0; j < a->n; j++)
      sum += weight[j] = exp(weight[j] - most);
    for (int d = 0; d < D; d++) {
      double value = 0;
      for (int j = 0; j < a->n; j++)
        value += weight[j] * (double)a->v.host[(head + j) * D + d] / sum;
      right &= near_enough((double)a->out.host[row * D + d], value);
    }
  }
  free(weight);
  clear(&a->out);
  return right;
}

static const Table attention_table = {5, {12, 9, 16, 20, 6}};

static void attention_row(Attention *a, const char *name, int launches, int scratch, float ms) {
  table_row(&attention_table, name, text("%d", launches), text("%.1f kB", 4e-3 * scratch),
            shows_times() ? time_text(ms) : "", yes(attention_right(a)));
}

static void show_attention(int heads, int n) {
  heading("Attention");
  const int rows = heads * n;
  Attention a = {data_new(rows * D, 10, 3),
                 data_new(rows * D, 11, 2),
                 data_new(rows * D, 12, 1),
                 data_new(rows * D, 0, 0),
                 data_new(rows * n, 0, 0),
                 heads,
                 n};
  float ms = 0;
  dim3 block(SIDE, SIDE), square(n / SIDE, n / SIDE, heads), narrow(D / SIDE, n / SIDE, heads);
  printf("%d heads, %d positions, %d numbers each: q, k, v and the result have %.1f kB each\n", heads, n, D,
         4e-3 * rows * D);
  table_row(&attention_table, "", "launches", "extra memory", shows_times() ? "time" : "", "right");
  timed(ms) {
    scores<<<square, block>>>(a.scores.device, a.q.device, a.k.device, n);
    softmax_rows<<<rows, THREADS>>>(a.scores.device, n);
    weighted<<<narrow, block>>>(a.out.device, a.scores.device, a.v.device, n);
  }
  attention_row(&a, "unfused", 3, rows * n, ms);
  timed(ms) {
    row_fused<<<rows, THREADS, n * sizeof(float)>>>(a.out.device, a.q.device, a.k.device, a.v.device, n);
  }
  attention_row(&a, "row_fused", 1, 0, ms);
  timed(ms) {
    flash<<<rows / QUERIES, QUERIES * SPLIT>>>(a.out.device, a.q.device, a.k.device, a.v.device, n);
  }
  attention_row(&a, "flash", 1, 0, ms);
  data_free(&a.q), data_free(&a.k), data_free(&a.v), data_free(&a.out), data_free(&a.scores);
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Attention", "Attention in three kernels, in one kernel, and in tiles.");
  show_attention(chapter.quick ? 2 : 8, chapter.quick ? 128 : 512);
  return 0;
}
