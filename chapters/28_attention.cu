// Lesson 28, docs/28_kernels_of_a_network.md: attention in three launches, in one with a row of scores in shared memory, and in tiles
// with a softmax that goes along.
//
// prints: ^unfused +3 +.* True$
// prints: ^row_fused +1 +.* True$
// prints: ^flash +1 +.* True$
#include "kernels.h"
#include <math.h>

enum { WARP = 32, THREADS = 256 };
#define ALL_LANES 0xffffffffu

// ---- what a block agrees on: as in 28_kernels_of_a_network.cu ----------------------------------------------------------------

static __device__ float warp_sum(float x) {
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

// The sum over a block of THREADS, in every thread. May be called again at once.
static __device__ float block_sum(float x) {
  __shared__ float of_warp[THREADS / WARP];
  x = warp_sum(x);
  if (threadIdx.x % WARP == 0)
    of_warp[threadIdx.x / WARP] = x;
  __syncthreads();
  x = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    x += of_warp[warp];
  __syncthreads();
  return x;
}

static __device__ float block_max(float x) {
  __shared__ float of_warp[THREADS / WARP];
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, apart));
  if (threadIdx.x % WARP == 0)
    of_warp[threadIdx.x / WARP] = x;
  __syncthreads();
  x = of_warp[0];
  for (int warp = 1; warp < THREADS / WARP; warp++)
    x = fmaxf(x, of_warp[warp]);
  __syncthreads();
  return x;
}

// The maximum of some numbers, and the sum of e^(number - maximum).
typedef struct Soft {
  float most, sum;
} Soft;

// What holds for two groups of numbers together. A sum that was made with a smaller maximum is scaled to the larger one.
static __device__ Soft joined(Soft a, Soft b) {
  float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) // no number yet, on either side
    return a;
  return Soft{most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most)};
}

static __device__ Soft block_soft(Soft own) {
  __shared__ Soft of_warp[THREADS / WARP];
  for (int apart = WARP / 2; apart > 0; apart /= 2)
    own = joined(own, Soft{__shfl_xor_sync(ALL_LANES, own.most, apart), __shfl_xor_sync(ALL_LANES, own.sum, apart)});
  if (threadIdx.x % WARP == 0)
    of_warp[threadIdx.x / WARP] = own;
  __syncthreads();
  own = of_warp[0];
  for (int warp = 1; warp < THREADS / WARP; warp++)
    own = joined(own, of_warp[warp]);
  return own;
}

// ---- attention: softmax(q k^T / sqrt((double)D)) v for each head ---------------------------------------------------------------------

enum { D = 32, SIDE = 16 };

// [unfused]
// scores[i][j] = q[i] . k[j] / sqrt((double)D): a product in tiles (lesson 26), a head for each z.
__global__ void scores(float *out, const float *q, const float *k, int n) {
  __shared__ float of_q[SIDE][SIDE + 1], of_k[SIDE][SIDE + 1];
  int row = blockIdx.y * SIDE + threadIdx.y, head = blockIdx.z * n;
  float sum = 0;
  for (int d = 0; d < D; d += SIDE) {
    of_q[threadIdx.y][threadIdx.x] = q[(head + row) * D + d + threadIdx.x];
    of_k[threadIdx.y][threadIdx.x] = k[(head + blockIdx.x * SIDE + threadIdx.y) * D + d + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < SIDE; i++)
      sum += of_q[threadIdx.y][i] * of_k[threadIdx.x][i];
    __syncthreads();
  }
  out[(head + row) * n + blockIdx.x * SIDE + threadIdx.x] = sum * rsqrtf((float)D);
}

__global__ void softmax_rows(float *x, int n) {
  float *row = x + blockIdx.x * n;
  Soft soft = {-INFINITY, 0};
  for (int k = threadIdx.x; k < n; k += THREADS)
    soft = joined(soft, Soft{row[k], 1});
  soft = block_soft(soft);
  for (int k = threadIdx.x; k < n; k += THREADS)
    row[k] = expf(row[k] - soft.most) / soft.sum;
}

__global__ void weighted(float *out, const float *weights, const float *v, int n) {
  __shared__ float of_w[SIDE][SIDE + 1], of_v[SIDE][SIDE + 1];
  int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x, head = blockIdx.z * n;
  float sum = 0;
  for (int j = 0; j < n; j += SIDE) {
    of_w[threadIdx.y][threadIdx.x] = weights[(head + row) * n + j + threadIdx.x];
    of_v[threadIdx.y][threadIdx.x] = v[(head + j + threadIdx.y) * D + column];
    __syncthreads();
    for (int i = 0; i < SIDE; i++)
      sum += of_w[threadIdx.y][i] * of_v[i][threadIdx.x];
    __syncthreads();
  }
  out[(head + row) * D + column] = sum;
}
// [end]

// [row_fused]
enum { AT_ONCE = D / 4 }; // lanes for a row of D floats, a float4 each

// A block for each query. Its scores are in shared memory, n of them; k and v are read by every block anew.
__global__ void row_fused(float *out, const float *q, const float *k, const float *v, int n) {
  extern __shared__ float weight[];
  __shared__ float part[THREADS / D][D];
  int row = blockIdx.x, head = row / n * n, own = threadIdx.x % AT_ONCE;
  float4 of_q = ((const float4 *)(q + row * D))[own];
  float most = -INFINITY, sum = 0, value = 0;
  for (int j = threadIdx.x / AT_ONCE; j < n; j += THREADS / AT_ONCE) {
    float4 of_k = ((const float4 *)(k + (head + j) * D))[own];
    float s = of_q.x * of_k.x + of_q.y * of_k.y + of_q.z * of_k.z + of_q.w * of_k.w;
    for (int apart = AT_ONCE / 2; apart > 0; apart /= 2)
      s += __shfl_xor_sync(ALL_LANES, s, apart);
    s *= rsqrtf((float)D);
    most = fmaxf(most, s);
    if (own == 0)
      weight[j] = s;
  }
  most = block_max(most);
  for (int j = threadIdx.x; j < n; j += THREADS) {
    weight[j] = expf(weight[j] - most);
    sum += weight[j];
  }
  sum = block_sum(sum);
  for (int j = threadIdx.x / D; j < n; j += THREADS / D)
    value += weight[j] * v[(head + j) * D + threadIdx.x % D];
  part[threadIdx.x / D][threadIdx.x % D] = value;
  __syncthreads();
  if (threadIdx.x >= D)
    return;
  for (int i = 1; i < THREADS / D; i++)
    value += part[i][threadIdx.x];
  out[row * D + threadIdx.x] = value / sum;
}
// [end]

// [flash]
enum { QUERIES = 32, SPLIT = 4, KEYS = 32 }; // of a block: its queries, threads for each of them, keys in a tile

// Copies `count` rows of D floats into a tile whose rows are D + 1 apart.
static __device__ void load_tile(float (*tile)[D + 1], const float *from, int count) {
  for (int i = threadIdx.x; i < count * D; i += QUERIES * SPLIT)
    tile[i / D][i % D] = from[i];
}

// A block for 32 queries, which goes through the keys in tiles. Four threads share a query; each takes every fourth key, and has a
// maximum, a sum and D weighted sums of its own. At the end the four are joined.
__global__ void flash(float *out, const float *q, const float *k, const float *v, int n) {
  __shared__ float of_q[QUERIES][D + 1], of_k[KEYS][D + 1], of_v[KEYS][D + 1];
  int query = threadIdx.x / SPLIT, quarter = threadIdx.x % SPLIT;
  int first = blockIdx.x * QUERIES, head = first / n * n;
  float own[D], value[D] = {0}, most = -INFINITY, sum = 0;
  load_tile(of_q, q + first * D, QUERIES);
  __syncthreads();
#pragma unroll
  for (int d = 0; d < D; d++)
    own[d] = of_q[query][d] * rsqrtf((float)D);
  for (int tile = 0; tile < n; tile += KEYS) {
    load_tile(of_k, k + (head + tile) * D, KEYS);
    load_tile(of_v, v + (head + tile) * D, KEYS);
    __syncthreads();
    for (int j = quarter; j < KEYS; j += SPLIT) {
      float s = 0;
#pragma unroll
      for (int d = 0; d < D; d++)
        s += own[d] * of_k[j][d];
      float larger = fmaxf(most, s), shrink = expf(most - larger), weight = expf(s - larger);
      sum = sum * shrink + weight;
      most = larger;
#pragma unroll
      for (int d = 0; d < D; d++)
        value[d] = value[d] * shrink + weight * of_v[j][d];
    }
    __syncthreads();
  }
  float whole = most; // of all four
  for (int apart = SPLIT / 2; apart > 0; apart /= 2)
    whole = fmaxf(whole, __shfl_xor_sync(ALL_LANES, whole, apart));
  float shrink = expf(most - whole);
  sum *= shrink;
  for (int apart = SPLIT / 2; apart > 0; apart /= 2)
    sum += __shfl_xor_sync(ALL_LANES, sum, apart);
#pragma unroll
  for (int d = 0; d < D; d++) {
    value[d] *= shrink;
    for (int apart = SPLIT / 2; apart > 0; apart /= 2)
      value[d] += __shfl_xor_sync(ALL_LANES, value[d], apart);
    if (quarter == 0)
      of_q[query][d] = value[d] / sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < QUERIES * D; i += QUERIES * SPLIT)
    out[first * D + i] = of_q[i / D][i % D];
}
// [end]

// ---- the host ----------------------------------------------------------------------------------------------------------------

// Numbers that look random and are the same at each run, -1 to 1.
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

static void clear(Data *d) { // so that a kernel that writes nothing does not inherit what is right
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
  table_row(&attention_table, "", "launches", "memory besides", shows_times() ? "time" : "", "right");
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
  Chapter chapter = chapter_begin(argc, argv, "Attention", "Attention in three launches, in one, and in tiles.");
  show_attention(chapter.quick ? 2 : 8, chapter.quick ? 128 : 512);
  return 0;
}
