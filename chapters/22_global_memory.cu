// Lesson 22, docs/22_global_memory.md: counts the sectors of a warp's request, for several access patterns and layouts.
// prints: ^1 +4 +4 +100 %$
// prints: ^8 +32 +4 +12 %$
// prints: ^32 +32 +4 +12 %$
// prints: ^1 +5 +4$
// prints: ^copies are right: yes$
// prints: ^one by one +32768 +128( |$)
// prints: ^four by four +8192 +512( |$)
// prints: ^the two pictures are equal: yes$
// prints: ^through the read-only path: equal$
// prints: ^smoothed +2.5 .* True$
// prints: ^resampled +0.0 .* True$
#include "kernels.h"

enum { WARP = 32, SECTOR = 32 };

// ---- counting by hand ----------------------------------------------------------------------------------------------------

// [count]
// Counts the sectors that a warp's request touches. Lane t accesses `size` bytes at byte offset first + t * step.
static int sectors_of(size_t first, size_t step, size_t size) {
  int count = 0;
  size_t last = (size_t)-1; // the last sector counted; offsets only increase
  for (int t = 0; t < WARP; t++)
    for (size_t byte = first + t * step; byte < first + t * step + size; byte++)
      if (byte / SECTOR != last) {
        last = byte / SECTOR;
        count++;
      }
  return count;
}
// [end]

// ---- copies --------------------------------------------------------------------------------------------------------------

// [strided]
template <int STRIDE> __global__ void strided(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = n / STRIDE;
  int element = i % row * STRIDE + i / row; // adjacent threads are STRIDE apart; each element is copied once
  if (i < n)
    out[element] = in[element];
}
// [end]

// [shifted]
template <int SHIFT> __global__ void shifted(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i + SHIFT] = in[i + SHIFT];
}
// [end]

// [vector]
__global__ void one_by_one(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i];
}

__global__ void four_by_four(float4 *out, const float4 *in, int quarter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < quarter)
    out[i] = in[i]; // one 16-byte load and one 16-byte store
}
// [end]

// ---- an image in two layouts ---------------------------------------------------------------------------------------------

// [aos]
typedef struct Pixel {
  float r, g, b, a;
} Pixel;

__global__ void gray_aos(float *gray, const Pixel *pixel, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    gray[i] = 0.299f * pixel[i].r + 0.587f * pixel[i].g + 0.114f * pixel[i].b;
}
// [end]

// [soa]
__global__ void gray_soa(float *gray, const float *r, const float *g, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    gray[i] = 0.299f * r[i] + 0.587f * g[i] + 0.114f * b[i];
}
// [end]

// [aos4]
__global__ void gray_aos4(float *gray, const float4 *pixel, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 p = pixel[i];
    gray[i] = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
  }
}
// [end]

// [ldg]
__global__ void gray_read_only(float *__restrict__ gray, const float *__restrict__ r, const float *__restrict__ g,
                               const float *__restrict__ b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    gray[i] = 0.299f * __ldg(&r[i]) + 0.587f * __ldg(&g[i]) + 0.114f * __ldg(&b[i]);
}
// [end]

// ---- constant memory and a texture ---------------------------------------------------------------------------------------

enum { TAPS = 3 };

// [smooth]
__constant__ float weights[TAPS]; // 64 KB at most; the host writes it, and kernels only read it

// Each element becomes a weighted sum of its neighbors. At both ends, the index is clamped.
__global__ void smooth(float *__restrict__ out, const float *__restrict__ in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int k = 0; k < TAPS; k++) // all lanes read weights[k] at the same time: a broadcast
    sum += weights[k] * __ldg(&in[min(max(i + k - TAPS / 2, 0), n - 1)]);
  out[i] = sum;
}

// Reads n values at equal distances from a texture. The hardware interpolates between elements and clamps the coordinate.
__global__ void resample(float *out, cudaTextureObject_t in, float distance, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = tex1D<float>(in, (i + 0.5f) * distance);
}
// [end]

// ---- the lesson ----------------------------------------------------------------------------------------------------------

enum { THREADS = 256 };
static int n; // elements that each kernel copies

static int blocks_for(int elements) {
  return (elements + THREADS - 1) / THREADS;
}

static void by_hand(void) {
  heading("Sectors, counted by hand");
  const Table strides = {4, {8, 10, 8, 10}};
  table_row(&strides, "stride", "sectors", "ideal", "of use");
  for (int stride = 1; stride <= 32; stride *= 2) {
    int sectors = sectors_of(0, stride * sizeof(float), sizeof(float));
    table_row(&strides, text("%d", stride), text("%d", sectors), "4", text("%d %%", 400 / sectors));
  }
  const Table shifts = {3, {8, 10, 8}};
  printf("\n");
  table_row(&shifts, "shift", "sectors", "ideal");
  for (int shift = 0; shift <= 8; shift = shift ? 8 * shift : 1)
    table_row(&shifts, text("%d", shift), text("%d", sectors_of(shift * sizeof(float), sizeof(float), sizeof(float))),
              "4");
}

static float *new_on_device(size_t elements) {
  float *p;
  CHECK(cudaMalloc(&p, elements * sizeof(float)));
  CHECK(cudaMemset(p, 0, elements * sizeof(float)));
  return p;
}

static float *count_up(size_t elements) {
  float *host = (float *)malloc(elements * sizeof(float)), *p = new_on_device(elements);
  for (size_t i = 0; i < elements; i++)
    host[i] = (float)(i % 4096);
  CHECK(cudaMemcpy(p, host, elements * sizeof(float), cudaMemcpyHostToDevice));
  free(host);
  return p;
}

static bool is_copy(const float *d_out, int from) {
  float *host = (float *)malloc((n + from) * sizeof(float));
  CHECK(cudaMemcpy(host, d_out, (n + from) * sizeof(float), cudaMemcpyDeviceToHost));
  bool right = true;
  for (int i = from; i < n + from; i++)
    right &= host[i] == (float)(i % 4096);
  free(host);
  return right;
}

static bool all_right = true;

static void copied(const char *name, float *d_out, int from, float ms) {
  static const Table table = {3, {14, 18, 12}};
  all_right &= is_copy(d_out, from);
  if (shows_times())
    table_row(&table, name, time_text(ms), rate_text(2.0 * n * sizeof(float), ms));
  CHECK(cudaMemset(d_out, 0, n * sizeof(float)));
}

static void copies(void) {
  heading("Copies with strides and shifts");
  const int blocks = blocks_for(n);
  float *in = count_up(n + 32), *out = new_on_device(n + 32), ms = 0;
  timed(ms) {
    strided<1><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 1", out, 0, ms);
  timed(ms) {
    strided<2><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 2", out, 0, ms);
  timed(ms) {
    strided<4><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 4", out, 0, ms);
  timed(ms) {
    strided<8><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 8", out, 0, ms);
  timed(ms) {
    strided<16><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 16", out, 0, ms);
  timed(ms) {
    strided<32><<<blocks, THREADS>>>(out, in, n);
  }
  copied("stride 32", out, 0, ms);
  timed(ms) {
    shifted<1><<<blocks, THREADS>>>(out, in, n);
  }
  copied("shift 1", out, 1, ms);
  timed(ms) {
    shifted<8><<<blocks, THREADS>>>(out, in, n);
  }
  copied("shift 8", out, 8, ms);
  printf("copies are right: %s\n", all_right ? "yes" : "no");
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

static void vectors(void) {
  heading("float4: more bytes in flight");
  float *in = count_up(n), *out = new_on_device(n), ms = 0;
  const Table table = {shows_times() ? 5 : 3, {14, 10, 16, 20, 12}};
  table_row(&table, "copy", "requests", "bytes in each", "time", "of use");
  timed(ms) {
    one_by_one<<<blocks_for(n), THREADS>>>(out, in, n);
  }
  table_row(&table, "one by one", text("%d", n / WARP), text("%d", (int)sizeof(float) * WARP), time_text(ms),
            rate_text(2.0 * n * sizeof(float), ms));
  // [four]
  timed(ms) {
    four_by_four<<<blocks_for(n / 4), THREADS>>>((float4 *)out, (const float4 *)in, n / 4);
  }
  // [end]
  table_row(&table, "four by four", text("%d", n / 4 / WARP), text("%d", (int)sizeof(float4) * WARP), time_text(ms),
            rate_text(2.0 * n * sizeof(float), ms));
  printf("%s\n", is_copy(out, 0) ? "right" : "wrong");
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

// The same image twice: as an array of pixels, and as one plane per color.
typedef struct Picture {
  Pixel *pixels;
  float *r, *g, *b, *gray;
} Picture;

static Picture picture_new(void) {
  Picture p = {NULL, new_on_device(n), new_on_device(n), new_on_device(n), new_on_device(n)};
  const size_t bytes = n * sizeof(Pixel);
  Pixel *host = (Pixel *)malloc(bytes);
  float *plane = (float *)malloc(n * sizeof(float));
  for (int i = 0; i < n; i++)
    host[i] = (Pixel){(float)(i % 256), (float)(i % 100), (float)(i % 7), 255};
  CHECK(cudaMalloc(&p.pixels, bytes));
  CHECK(cudaMemcpy(p.pixels, host, bytes, cudaMemcpyHostToDevice));
  float *planes[3] = {p.r, p.g, p.b};
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < n; i++)
      plane[i] = c == 0 ? host[i].r : c == 1 ? host[i].g : host[i].b;
    CHECK(cudaMemcpy(planes[c], plane, n * sizeof(float), cudaMemcpyHostToDevice));
  }
  free(host);
  free(plane);
  return p;
}

static void picture_free(const Picture *p) {
  CHECK(cudaFree(p->pixels));
  CHECK(cudaFree(p->r));
  CHECK(cudaFree(p->g));
  CHECK(cudaFree(p->b));
  CHECK(cudaFree(p->gray));
}

static void take(float *host, const Picture *p) {
  CHECK(cudaMemcpy(host, p->gray, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(p->gray, 0, n * sizeof(float)));
}

// Rounding may differ where the compiler fuses a multiplication and an addition into one instruction (FMA).
static bool near(const float *a, const float *b) {
  for (int i = 0; i < n; i++)
    if (!(a[i] - b[i] < 1e-3f && b[i] - a[i] < 1e-3f))
      return false;
  return a[255] > 70;
}

static void layout(const char *name, float ms) {
  const Table table = {3, {18, 18, 12}};
  if (shows_times())
    table_row(&table, name, time_text(ms), rate_text(16.0 * n, ms));
}

static void layouts(void) {
  heading("A picture in two layouts");
  Picture p = picture_new();
  float *first = (float *)malloc(n * sizeof(float)), *second = (float *)malloc(n * sizeof(float)), ms = 0;
  timed(ms) {
    gray_aos<<<blocks_for(n), THREADS>>>(p.gray, p.pixels, n);
  }
  layout("pixels", ms);
  take(first, &p);
  timed(ms) {
    gray_soa<<<blocks_for(n), THREADS>>>(p.gray, p.r, p.g, p.b, n);
  }
  layout("planes", ms);
  take(second, &p);
  printf("the two pictures are equal: %s\n", near(first, second) ? "yes" : "no");
  timed(ms) {
    gray_aos4<<<blocks_for(n), THREADS>>>(p.gray, (const float4 *)p.pixels, n);
  }
  layout("pixels as float4", ms);
  take(second, &p);
  printf("pixels as float4: %s\n", near(first, second) ? "equal" : "different");
  timed(ms) {
    gray_read_only<<<blocks_for(n), THREADS>>>(p.gray, p.r, p.g, p.b, n);
  }
  layout("read-only path", ms);
  take(second, &p);
  printf("through the read-only path: %s\n", near(first, second) ? "equal" : "different");
  free(first);
  free(second);
  picture_free(&p);
}

// [texture]
static cudaTextureObject_t texture_new(cudaArray_t *array, const float *host, int width) {
  const size_t bytes = width * sizeof(float);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(array, &format, width, 0)); // height 0: one dimension
  CHECK(cudaMemcpy2DToArray(*array, 0, 0, host, bytes, bytes, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {}; // which memory
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = *array;
  cudaTextureDesc how = {}; // how a kernel reads it
  how.addressMode[0] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
  return texture;
}
// [end]

static void printed(const char *name, const float *d_out, const float *want, int count) {
  float *host = (float *)malloc(count * sizeof(float));
  bool right = true;
  CHECK(cudaMemcpy(host, d_out, count * sizeof(float), cudaMemcpyDeviceToHost));
  printf("%-10s", name);
  for (int i = 0; i < count; i++) {
    if (i < 8)
      printf(" %5.1f", host[i]);
    right &= host[i] - want[i] < 1e-3f && want[i] - host[i] < 1e-3f;
  }
  printf("  %s\n", right ? "True" : "False");
  free(host);
}

static void read_only(void) {
  heading("Constant memory and a texture");
  const float few[4] = {0, 10, 20, 40}, host_weights[TAPS] = {0.25f, 0.5f, 0.25f};
  float *host = (float *)malloc(n * sizeof(float)), *want = (float *)malloc(n * sizeof(float)), *in = new_on_device(n);
  float *out = new_on_device(n);
  for (int i = 0; i < n; i++)
    host[i] = few[i % 4];
  for (int i = 0; i < n; i++)
    want[i] = 0.25f * host[i > 0 ? i - 1 : 0] + 0.5f * host[i] + 0.25f * host[i < n - 1 ? i + 1 : i];
  CHECK(cudaMemcpy(in, host, n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
  smooth<<<blocks_for(n), THREADS>>>(out, in, n);
  CHECK_LAUNCH();
  printf("%-10s", "in");
  for (int i = 0; i < 8; i++)
    printf(" %5.1f", host[i]);
  printf("\n");
  printed("smoothed", out, want, n);
  const float between[8] = {0, 2.5f, 7.5f, 12.5f, 17.5f, 25, 35, 40};
  cudaArray_t array;
  cudaTextureObject_t texture = texture_new(&array, few, 4);
  resample<<<1, 8>>>(out, texture, 0.5f, 8);
  CHECK_LAUNCH();
  printed("resampled", out, between, 8);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  free(host);
  free(want);
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Global memory", "What a warp's request costs, by how data lie.");
  n = chapter.quick || (chapter.simulated && !chapter.modeled) ? 1 << 20 : 1 << 23;
  by_hand();
  copies();
  vectors();
  layouts();
  read_only();
  return 0;
}
