// Lesson 29, docs/29_fusion.md: memory-bound operations of a network. Bias and GELU, softmax, layer normalization and the
// embedding gradient, in versions that move fewer and fewer bytes.
//
// prints: ^bias_gelu +1 +.* True$
// prints: ^softmax_once +1 +.* True$
// prints: ^layer_norm +1 +.* True$
// prints: ^backward: +dx True, dgamma True, dbeta True$
// prints: ^by_word +.* True$
#include "kernels.h"
#include <math.h>

enum { WARP = 32, THREADS = 256, COLUMNS = 1024, EACH = COLUMNS / THREADS };
#define ALL_LANES 0xffffffffu

// ---- reductions over a block ------------------------------------------------------------------------------------------------

// [block_sum]
static __device__ float warp_sum(float x) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(ALL_LANES, x, offset);
  return x;
}

// The sum over a block of THREADS, returned to every thread. The last barrier permits a second call.
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
// [end]

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

// ---- bias and GELU -----------------------------------------------------------------------------------------------------------

// [gelu]
static __device__ float gelu_of(float x) {
  return 0.5f * x * (1 + erff(x * 0.70710678f)); // x times the standard normal CDF at x
}

__global__ void add_bias(float *out, const float *x, const float *bias, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = x[i] + bias[i % COLUMNS];
}

__global__ void gelu(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = gelu_of(x[i]);
}

__global__ void bias_gelu(float *out, const float *x, const float *bias, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = gelu_of(x[i] + bias[i % COLUMNS]);
}
// [end]

// ---- softmax: one block per row ----------------------------------------------------------------------------------------------

// [softmax_unfused]
__global__ void row_max(float *maxima, const float *x) {
  const float *row = x + blockIdx.x * COLUMNS;
  float largest = -INFINITY;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    largest = fmaxf(largest, row[k]);
  largest = block_max(largest);
  if (threadIdx.x == 0)
    maxima[blockIdx.x] = largest;
}

__global__ void exponentials(float *out, const float *x, const float *maxima) {
  int i = blockIdx.x * COLUMNS;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    out[i + k] = expf(x[i + k] - maxima[blockIdx.x]);
}

__global__ void row_sum(float *sums, const float *x) {
  const float *row = x + blockIdx.x * COLUMNS;
  float partial = 0;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    partial += row[k];
  partial = block_sum(partial);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = partial;
}

__global__ void divide(float *x, const float *sums) {
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    x[blockIdx.x * COLUMNS + k] /= sums[blockIdx.x];
}
// [end]

// [softmax_passes]
// Three passes over the row: one for the maximum, one for the sum, one to write. x is read three times.
__global__ void softmax_passes(float *out, const float *x) {
  const float *row = x + blockIdx.x * COLUMNS;
  float largest = -INFINITY, sum = 0;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    largest = fmaxf(largest, row[k]);
  largest = block_max(largest);
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    sum += expf(row[k] - largest);
  sum = block_sum(sum);
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    out[blockIdx.x * COLUMNS + k] = expf(row[k] - largest) / sum;
}
// [end]

// [online]
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
// [end]
// [online_block]
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

// Two passes over the row: one for maximum and sum, one to write. x is read twice.
__global__ void softmax_online(float *out, const float *x) {
  const float *row = x + blockIdx.x * COLUMNS;
  Soft soft = {-INFINITY, 0};
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    soft = merged(soft, Soft{row[k], 1});
  soft = block_soft(soft);
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    out[blockIdx.x * COLUMNS + k] = expf(row[k] - soft.max) / soft.sum;
}
// [end]

// [softmax_once]
// The row stays in the registers of the block: x is read once.
__global__ void softmax_once(float *out, const float *x) {
  const float *row = x + blockIdx.x * COLUMNS;
  float values[EACH], largest = -INFINITY, sum = 0;
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    values[k] = row[k * THREADS + threadIdx.x];
    largest = fmaxf(largest, values[k]);
  }
  largest = block_max(largest);
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    values[k] = expf(values[k] - largest);
    sum += values[k];
  }
  sum = block_sum(sum);
#pragma unroll
  for (int k = 0; k < EACH; k++)
    out[blockIdx.x * COLUMNS + k * THREADS + threadIdx.x] = values[k] / sum;
}
// [end]

// ---- layer norm: one block per row -------------------------------------------------------------------------------------------

// [norm_unfused]
__global__ void row_mean(float *mean, const float *x) {
  float partial = 0;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    partial += x[blockIdx.x * COLUMNS + k];
  partial = block_sum(partial);
  if (threadIdx.x == 0)
    mean[blockIdx.x] = partial / COLUMNS;
}

__global__ void row_rstd(float *rstd, const float *x, const float *mean) {
  float partial = 0;
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS) {
    float difference = x[blockIdx.x * COLUMNS + k] - mean[blockIdx.x];
    partial += difference * difference;
  }
  partial = block_sum(partial);
  if (threadIdx.x == 0)
    rstd[blockIdx.x] = rsqrtf(partial / COLUMNS + 1e-5f);
}

__global__ void normalize(float *out, const float *x, const float *mean, const float *rstd) {
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    out[blockIdx.x * COLUMNS + k] = (x[blockIdx.x * COLUMNS + k] - mean[blockIdx.x]) * rstd[blockIdx.x];
}

__global__ void scale_shift(float *x, const float *gamma, const float *beta) {
  for (int k = threadIdx.x; k < COLUMNS; k += THREADS)
    x[blockIdx.x * COLUMNS + k] = x[blockIdx.x * COLUMNS + k] * gamma[k] + beta[k];
}
// [end]

// [layer_norm]
__global__ void layer_norm(float *out, float *mean, float *rstd, const float *x, const float *gamma,
                           const float *beta) {
  float values[EACH], sum = 0, squares = 0;
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    values[k] = x[blockIdx.x * COLUMNS + k * THREADS + threadIdx.x];
    sum += values[k];
  }
  float m = block_sum(sum) / COLUMNS;
#pragma unroll
  for (int k = 0; k < EACH; k++)
    squares += (values[k] - m) * (values[k] - m);
  float r = rsqrtf(block_sum(squares) / COLUMNS + 1e-5f);
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int column = k * THREADS + threadIdx.x;
    out[blockIdx.x * COLUMNS + column] = (values[k] - m) * r * gamma[column] + beta[column];
  }
  if (threadIdx.x == 0) { // two numbers per row, saved for the backward pass
    mean[blockIdx.x] = m;
    rstd[blockIdx.x] = r;
  }
}
// [end]

// [norm_dx]
__global__ void layer_norm_dx(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                              const float *rstd) {
  float g[EACH], hat[EACH], sum_g = 0, sum_both = 0, r = rstd[blockIdx.x];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int column = k * THREADS + threadIdx.x, i = blockIdx.x * COLUMNS + column;
    hat[k] = (x[i] - mean[blockIdx.x]) * r; // recomputed: cheaper than storing and reloading it
    g[k] = dy[i] * gamma[column];
    sum_g += g[k];
    sum_both += g[k] * hat[k];
  }
  sum_g = block_sum(sum_g) / COLUMNS;
  sum_both = block_sum(sum_both) / COLUMNS;
#pragma unroll
  for (int k = 0; k < EACH; k++)
    dx[blockIdx.x * COLUMNS + k * THREADS + threadIdx.x] = r * (g[k] - sum_g - hat[k] * sum_both);
}
// [end]

// [norm_columns]
enum { TALL = 8 }; // rows of threads in a block

// The gradients of gamma and beta are column sums. A block sums 32 columns over a part of the rows, in a fixed order. The blocks
// with the same blockIdx.y write one row of `parts`.
__global__ void layer_norm_columns(float *parts, const float *dy, const float *x, const float *mean, const float *rstd,
                                   int rows) {
  __shared__ float dgamma_sums[TALL][WARP], dbeta_sums[TALL][WARP];
  int column = blockIdx.x * WARP + threadIdx.x;
  float dgamma = 0, dbeta = 0;
  for (int row = blockIdx.y * TALL + threadIdx.y; row < rows; row += gridDim.y * TALL) {
    float d = dy[row * COLUMNS + column];
    dgamma += d * (x[row * COLUMNS + column] - mean[row]) * rstd[row];
    dbeta += d;
  }
  dgamma_sums[threadIdx.y][threadIdx.x] = dgamma;
  dbeta_sums[threadIdx.y][threadIdx.x] = dbeta;
  __syncthreads();
  if (threadIdx.y != 0)
    return;
  for (int y = 1; y < TALL; y++) {
    dgamma += dgamma_sums[y][threadIdx.x];
    dbeta += dbeta_sums[y][threadIdx.x];
  }
  parts[blockIdx.y * 2 * COLUMNS + column] = dgamma;
  parts[blockIdx.y * 2 * COLUMNS + COLUMNS + column] = dbeta;
}

__global__ void add_parts(float *sums, const float *parts, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int part = 0; i < n && part < count; part++)
    sum += parts[part * n + i];
  if (i < n)
    sums[i] = sum;
}
// [end]

// ---- the embedding gradient --------------------------------------------------------------------------------------------------

enum { WIDTH = 64 }; // length of a word's vector

// [by_token]
// One block per token adds the token's gradient to the row of its word. Tokens of the same word share a row: add atomically.
__global__ void by_token(float *table, const float *grad, const int *words) {
  atomicAdd(&table[words[blockIdx.x] * WIDTH + threadIdx.x], grad[blockIdx.x * WIDTH + threadIdx.x]);
}
// [end]

// [by_word]
// One warp per word tests the tokens, 32 at a time, and adds the gradients of those that are its word, in order.
__global__ void by_word(float *table, const float *grad, const int *words, int tokens, int vocabulary) {
  int word = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  if (word >= vocabulary) // the same for all lanes of a warp
    return;
  float sum[WIDTH / WARP] = {0};
  for (int first = 0; first < tokens; first += WARP) {
    unsigned int matches = __ballot_sync(ALL_LANES, first + lane < tokens && words[first + lane] == word);
    for (; matches; matches &= matches - 1) { // clears the lowest set bit
      int token = first + __ffs((int)matches) - 1;
#pragma unroll
      for (int k = 0; k < WIDTH / WARP; k++)
        sum[k] += grad[token * WIDTH + k * WARP + lane];
    }
  }
#pragma unroll
  for (int k = 0; k < WIDTH / WARP; k++)
    table[word * WIDTH + k * WARP + lane] = sum[k];
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

static const Table ladder = {5, {16, 9, 12, 20, 6}};

static void ladder_head(const char *what) {
  table_row(&ladder, what, "launches", "MB of task", shows_times() ? "time" : "", "right");
}

// `bytes`: counts each array once for each kernel, or pass over the row, that reads or writes it
static void ladder_row(const char *name, int launches, double bytes, float milliseconds, bool right) {
  table_row(&ladder, name, text("%d", launches), text("%.2f", bytes / 1e6),
            shows_times() ? time_text(milliseconds) : "", yes(right));
}

static void show_bias_gelu(int rows) {
  heading("Bias and GELU");
  int n = rows * COLUMNS, blocks = (n + THREADS - 1) / THREADS;
  double bytes = 4.0 * n;
  Data x = data_new(n, 1, 2), bias = data_new(COLUMNS, 2, 1), sum = data_new(n, 0, 0), out = data_new(n, 0, 0);
  float unfused = 0, fused = 0;
  bool right[2] = {true, true};
  timed(unfused) {
    add_bias<<<blocks, THREADS>>>(sum.device, x.device, bias.device, n);
    gelu<<<blocks, THREADS>>>(out.device, sum.device, n);
  }
  for (int way = 0; way < 2; way++) {
    fetch(&out);
    for (int i = 0; i < n; i += 61) {
      double a = (double)x.host[i] + (double)bias.host[i % COLUMNS];
      right[way] &= near_enough((double)out.host[i], 0.5 * a * (1 + erf(a * sqrt(0.5))));
    }
    if (way == 1)
      break;
    clear(&out);
    timed(fused) {
      bias_gelu<<<blocks, THREADS>>>(out.device, x.device, bias.device, n);
    }
  }
  ladder_head("");
  ladder_row("add_bias, gelu", 2, 4 * bytes, unfused, right[0]);
  ladder_row("bias_gelu", 1, 2 * bytes, fused, right[1]);
  data_free(&x), data_free(&bias), data_free(&sum), data_free(&out);
}

static bool softmax_right(Data *out, const Data *x, int rows) {
  bool right = true;
  fetch(out);
  for (int row = 0; row < rows; row += 1 + rows / 16) {
    const float *in = x->host + row * COLUMNS;
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < COLUMNS; k++)
      most = fmax(most, (double)in[k]);
    for (int k = 0; k < COLUMNS; k++)
      sum += exp((double)in[k] - most);
    for (int k = 0; k < COLUMNS; k++)
      right &= near_enough(COLUMNS * (double)out->host[row * COLUMNS + k], COLUMNS * exp((double)in[k] - most) / sum);
  }
  clear(out);
  return right;
}

static void show_softmax(int rows) {
  heading("Softmax");
  double bytes = 4.0 * rows * COLUMNS;
  Data x = data_new(rows * COLUMNS, 3, 8), out = data_new(rows * COLUMNS, 0, 0);
  Data most = data_new(rows, 0, 0), sum = data_new(rows, 0, 0);
  float ms = 0;
  ladder_head("");
  timed(ms) {
    row_max<<<rows, THREADS>>>(most.device, x.device);
    exponentials<<<rows, THREADS>>>(out.device, x.device, most.device);
    row_sum<<<rows, THREADS>>>(sum.device, out.device);
    divide<<<rows, THREADS>>>(out.device, sum.device);
  }
  ladder_row("unfused", 4, 6 * bytes, ms, softmax_right(&out, &x, rows));
  timed(ms) {
    softmax_passes<<<rows, THREADS>>>(out.device, x.device);
  }
  ladder_row("softmax_passes", 1, 4 * bytes, ms, softmax_right(&out, &x, rows));
  timed(ms) {
    softmax_online<<<rows, THREADS>>>(out.device, x.device);
  }
  ladder_row("softmax_online", 1, 3 * bytes, ms, softmax_right(&out, &x, rows));
  timed(ms) {
    softmax_once<<<rows, THREADS>>>(out.device, x.device);
  }
  ladder_row("softmax_once", 1, 2 * bytes, ms, softmax_right(&out, &x, rows));
  data_free(&x), data_free(&out), data_free(&most), data_free(&sum);
}

typedef struct Norm {
  Data x, out, mean, rstd, gamma, beta;
  int rows;
} Norm;

static bool norm_right(Norm *n) {
  bool right = true;
  fetch(&n->out);
  for (int row = 0; row < n->rows; row += 1 + n->rows / 16) {
    const float *in = n->x.host + row * COLUMNS;
    double mean = 0, var = 0;
    for (int k = 0; k < COLUMNS; k++)
      mean += (double)in[k] / COLUMNS;
    for (int k = 0; k < COLUMNS; k++)
      var += ((double)in[k] - mean) * ((double)in[k] - mean) / COLUMNS;
    for (int k = 0; k < COLUMNS; k++)
      right &=
          near_enough((double)n->out.host[row * COLUMNS + k],
                      ((double)in[k] - mean) / sqrt(var + 1e-5) * (double)n->gamma.host[k] + (double)n->beta.host[k]);
  }
  clear(&n->out);
  return right;
}

// Compares one row of dx, and one column of dgamma and dbeta, with their formulas.
static void norm_backward_right(Norm *n, const Data *dy, Data *dx, Data *sums) {
  const int row = n->rows / 3, column = COLUMNS / 3;
  bool right = true;
  double mean_g = 0, mean_both = 0, dgamma = 0, dbeta = 0;
  fetch(&n->mean), fetch(&n->rstd), fetch(dx), fetch(sums);
  double m = (double)n->mean.host[row], r = (double)n->rstd.host[row];
  for (int k = 0; k < COLUMNS; k++) {
    double g = (double)dy->host[row * COLUMNS + k] * (double)n->gamma.host[k];
    mean_g += g / COLUMNS;
    mean_both += g * ((double)n->x.host[row * COLUMNS + k] - m) * r / COLUMNS;
  }
  for (int k = 0; k < COLUMNS; k++) {
    int i = row * COLUMNS + k;
    double hat = ((double)n->x.host[i] - m) * r, g = (double)dy->host[i] * (double)n->gamma.host[k];
    right &= near_enough((double)dx->host[i], r * (g - mean_g - hat * mean_both));
  }
  for (int i = 0; i < n->rows; i++) {
    double d = (double)dy->host[i * COLUMNS + column];
    dgamma += d * ((double)n->x.host[i * COLUMNS + column] - (double)n->mean.host[i]) * (double)n->rstd.host[i];
    dbeta += d;
  }
  printf("backward:  dx %s, dgamma %s, dbeta %s\n", yes(right), yes(near_enough((double)sums->host[column], dgamma)),
         yes(near_enough((double)sums->host[COLUMNS + column], dbeta)));
}

static void norm_backward(Norm *n) {
  enum { PARTS = 16 };
  Data dy = data_new(n->rows * COLUMNS, 7, 1), dx = data_new(n->rows * COLUMNS, 0, 0);
  Data parts = data_new(PARTS * 2 * COLUMNS, 0, 0), sums = data_new(2 * COLUMNS, 0, 0);
  dim3 grid(COLUMNS / WARP, PARTS), block(WARP, TALL);
  layer_norm_dx<<<n->rows, THREADS>>>(dx.device, dy.device, n->x.device, n->gamma.device, n->mean.device,
                                      n->rstd.device);
  CHECK_LAUNCH();
  layer_norm_columns<<<grid, block>>>(parts.device, dy.device, n->x.device, n->mean.device, n->rstd.device, n->rows);
  CHECK_LAUNCH();
  add_parts<<<2 * COLUMNS / THREADS, THREADS>>>(sums.device, parts.device, PARTS, 2 * COLUMNS);
  CHECK_LAUNCH();
  norm_backward_right(n, &dy, &dx, &sums);
  data_free(&dy), data_free(&dx), data_free(&parts), data_free(&sums);
}

static void show_layer_norm(int rows) {
  heading("Layer norm, forward and backward");
  const int n = rows * COLUMNS;
  Norm norm = {data_new(n, 4, 3),
               data_new(n, 0, 0),
               data_new(rows, 0, 0),
               data_new(rows, 0, 0),
               data_new(COLUMNS, 5, 1),
               data_new(COLUMNS, 6, 1),
               rows};
  float ms = 0;
  ladder_head("");
  timed(ms) {
    row_mean<<<rows, THREADS>>>(norm.mean.device, norm.x.device);
    row_rstd<<<rows, THREADS>>>(norm.rstd.device, norm.x.device, norm.mean.device);
    normalize<<<rows, THREADS>>>(norm.out.device, norm.x.device, norm.mean.device, norm.rstd.device);
    scale_shift<<<rows, THREADS>>>(norm.out.device, norm.gamma.device, norm.beta.device);
  }
  ladder_row("unfused", 4, 6 * 4.0 * n, ms, norm_right(&norm));
  timed(ms) {
    layer_norm<<<rows, THREADS>>>(norm.out.device, norm.mean.device, norm.rstd.device, norm.x.device, norm.gamma.device,
                                  norm.beta.device);
  }
  ladder_row("layer_norm", 1, 2 * 4.0 * n, ms, norm_right(&norm));
  norm_backward(&norm);
  data_free(&norm.x), data_free(&norm.out), data_free(&norm.mean);
  data_free(&norm.rstd), data_free(&norm.gamma), data_free(&norm.beta);
}

static bool embedding_right(Data *table, const Data *grad, const int *words, int tokens) {
  double *want = (double *)calloc((size_t)table->count, sizeof(double));
  bool right = want != NULL;
  fetch(table);
  for (int i = 0; right && i < tokens * WIDTH; i++)
    want[words[i / WIDTH] * WIDTH + i % WIDTH] += (double)grad->host[i];
  for (int i = 0; right && i < table->count; i++)
    right = near_enough((double)table->host[i], want[i]);
  free(want);
  return right;
}

static void show_embedding(int tokens, int vocabulary) {
  heading("The embedding gradient");
  const Table table = {3, {12, 20, 8}};
  Data grad = data_new(tokens * WIDTH, 8, 1), sums = data_new(vocabulary * WIDTH, 0, 0);
  int *words = (int *)malloc((size_t)tokens * sizeof(int)), *device = NULL;
  float ms = 0;
  for (int i = 0; words && i < tokens; i++) // half of the tokens are the same word: a text has frequent words, too
    words[i] = i % 2 ? 3 : (int)((number(9, (unsigned int)i) + 1) * 0.4999f * (float)vocabulary);
  CHECK(cudaMalloc((void **)&device, (size_t)tokens * sizeof(int)));
  CHECK(cudaMemcpy(device, words, (size_t)tokens * sizeof(int), cudaMemcpyHostToDevice));
  table_row(&table, "", shows_times() ? "time" : "", "right");
  clear(&sums);
  timed(ms) {
    by_token<<<tokens, WIDTH>>>(sums.device, grad.device, device);
  }
  table_row(&table, "by_token", shows_times() ? time_text(ms) : "", yes(embedding_right(&sums, &grad, words, tokens)));
  clear(&sums);
  timed(ms) {
    by_word<<<(vocabulary * WARP + THREADS - 1) / THREADS, THREADS>>>(sums.device, grad.device, device, tokens,
                                                                      vocabulary);
  }
  table_row(&table, "by_word", shows_times() ? time_text(ms) : "", yes(embedding_right(&sums, &grad, words, tokens)));
  CHECK(cudaFree(device));
  free(words);
  data_free(&grad), data_free(&sums);
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Kernel fusion, softmax and layer normalization",
                                  "Bias and GELU, softmax, layer norm, and the embedding gradient.");
  const bool small = chapter.quick;
  show_bias_gelu(small ? 64 : 1024);
  show_softmax(small ? 32 : 1024);
  show_layer_norm(small ? 64 : 1024);
  show_embedding(small ? 300 : 2000, small ? 100 : 500);
  return 0;
}
