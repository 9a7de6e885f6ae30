// SPDX-License-Identifier: MIT
// Pooling on the CPU: threads share the planes, so each gradient is summed by one thread in a fixed order.
#include "op/convolution/pool_cpu.h"
#include "base/threads.h"
#include "tensor/half.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// Outputs of a row that are computed together.
enum { BLOCK = 8 };

// Before a loop that is to become vectors as a whole, not to be unrolled first.
#ifdef _OPENMP
#define VECTORIZE _Pragma("omp simd")
#else
#define VECTORIZE
#endif

#define T float
#define NAME(x) f32_##x
#include "op/convolution/pool_planes.h"

#define T double
#define NAME(x) f64_##x
#include "op/convolution/pool_planes.h"

typedef struct Pool {
  FyPoolShape s;
  FyDType dtype;    // of the arithmetic
  int64_t size;     // bytes of an element of it
  bool half;        // the planes are bfloat16, and `dtype` float32: each is widened when its turn comes
  const char *from; // input, or gradient of the output
  char *to;         // output, or gradient of the input
  char *taps;       // of maxima, uint8 or int32 by `narrow`
  bool narrow;
  int32_t *rows; // one row of taps per thread
  float *wide;   // of bfloat16: a plane of `from` and one of `to` per thread
  atomic_int next_thread;
} Pool;

// Planes as the arithmetic has them, for one thread.
typedef struct Planes {
  float *from, *to; // NULL: where they are
} Planes;

// Elements of the planes below which another thread costs more than it saves.
static int64_t grain(const Pool *p) {
  return (1 << 15) / (p->s.h * p->s.w + 1) + 1;
}

static uint8_t *narrow_taps(const Pool *p, int64_t plane) {
  return p->narrow ? (uint8_t *)p->taps + plane * p->s.oh * p->s.ow : NULL;
}

static int32_t *wide_taps(const Pool *p, int64_t plane) {
  return p->narrow ? NULL : (int32_t *)(void *)p->taps + plane * p->s.oh * p->s.ow;
}

// Elements of a plane of `from`, and of one of `to`: larger is that which is pooled.
static int64_t plane_of(const Pool *p, bool pooled) {
  return pooled ? p->s.oh * p->s.ow : p->s.h * p->s.w;
}

static Planes planes_of(const Pool *p, int thread, bool backward) {
  if (!p->half)
    return (Planes){NULL, NULL};
  float *own = p->wide + thread * (plane_of(p, false) + plane_of(p, true));
  return (Planes){own, own + plane_of(p, backward)};
}

// Plane i, to be read or to be written.
static const void *plane_from(const Pool *p, const Planes *planes, int64_t i, bool backward) {
  int64_t n = plane_of(p, backward);
  if (!p->half)
    return p->from + i * n * p->size;
  fy_widen_bfloat16(planes->from, (const uint16_t *)(const void *)p->from + i * n, n);
  return planes->from;
}
static void *plane_to(const Pool *p, const Planes *planes, int64_t i, bool backward) {
  return p->half ? (void *)planes->to : p->to + i * plane_of(p, !backward) * p->size;
}
static void plane_done(const Pool *p, const Planes *planes, int64_t i, bool backward) {
  int64_t n = plane_of(p, !backward);
  if (p->half)
    fy_narrow_floats((uint16_t *)(void *)p->to + i * n, planes->to, n);
}

static void max_planes(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  const int thread = atomic_fetch_add(&p->next_thread, 1);
  const Planes planes = planes_of(p, thread, false);
  int32_t *row = p->rows + thread * s->ow;
  for (int64_t i = begin; i < end; i++) {
    const void *in = plane_from(p, &planes, i, false);
    void *out = plane_to(p, &planes, i, false);
    if (p->dtype == FY_FLOAT32)
      f32_max_plane(s, in, out, row, narrow_taps(p, i), wide_taps(p, i));
    else
      f64_max_plane(s, in, out, row, narrow_taps(p, i), wide_taps(p, i));
    plane_done(p, &planes, i, false);
  }
}

static void max_planes_backward(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  const int thread = atomic_fetch_add(&p->next_thread, 1);
  const Planes planes = planes_of(p, thread, true);
  for (int64_t i = begin; i < end; i++) {
    const void *grad = plane_from(p, &planes, i, true);
    void *out = plane_to(p, &planes, i, true);
    if (p->dtype == FY_FLOAT32)
      f32_max_plane_backward(s, grad, narrow_taps(p, i), wide_taps(p, i), out);
    else
      f64_max_plane_backward(s, grad, narrow_taps(p, i), wide_taps(p, i), out);
    plane_done(p, &planes, i, true);
  }
}

static void average_planes(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  const int thread = atomic_fetch_add(&p->next_thread, 1);
  const Planes planes = planes_of(p, thread, false);
  for (int64_t i = begin; i < end; i++) {
    const void *in = plane_from(p, &planes, i, false);
    void *out = plane_to(p, &planes, i, false);
    if (p->dtype == FY_FLOAT32)
      f32_average_plane(s, in, out);
    else
      f64_average_plane(s, in, out);
    plane_done(p, &planes, i, false);
  }
}

static void average_planes_backward(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  const int thread = atomic_fetch_add(&p->next_thread, 1);
  const Planes planes = planes_of(p, thread, true);
  for (int64_t i = begin; i < end; i++) {
    const void *grad = plane_from(p, &planes, i, true);
    void *out = plane_to(p, &planes, i, true);
    if (p->dtype == FY_FLOAT32)
      f32_average_plane_backward(s, grad, out);
    else
      f64_average_plane_backward(s, grad, out);
    plane_done(p, &planes, i, true);
  }
}

// `input` is the array whose planes are pooled: an input of the forward, the output of the backward.
static Pool pool_of(const FyLaunch *l, const FyArray *input) {
  Pool p = {.s = fy_pool_shape(l->params, input->ndim, input->shape), .half = input->dtype == FY_BFLOAT16};
  p.dtype = p.half ? FY_FLOAT32 : (FyDType)input->dtype;
  p.size = (int64_t)fy_dtype_size(p.dtype);
  p.from = l->in[0]->data;
  p.to = l->out[0]->data;
  return p;
}

static bool is_computable(const Pool *p) {
  return p->dtype == FY_FLOAT32 || p->dtype == FY_FLOAT64;
}

static int run(FyLaunch *l, Pool *p, void (*body)(int64_t, int64_t, void *)) {
  if (p->half) {
    int64_t planes = plane_of(p, false) + plane_of(p, true);
    p->wide = l->workspace(l, (size_t)(fy_get_num_threads() * planes) * sizeof *p->wide);
    if (!p->wide)
      return FY_LAUNCH_NO_MEMORY;
  }
  fy_parallel_for(p->s.planes, grain(p), body, p);
  return FY_LAUNCH_OK;
}

int fy_cpu_max_pool2d(FyLaunch *l) {
  Pool p = pool_of(l, l->in[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  if (l->out[0]->numel == 0)
    return FY_LAUNCH_OK;
  p.taps = l->out[1]->data;
  p.narrow = l->out[1]->dtype == FY_UINT8;
  p.rows = l->workspace(l, (size_t)(fy_get_num_threads() * p.s.ow) * sizeof *p.rows);
  if (!p.rows)
    return FY_LAUNCH_NO_MEMORY;
  return run(l, &p, max_planes);
}

int fy_cpu_max_pool2d_backward(FyLaunch *l) {
  Pool p = pool_of(l, l->out[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  if (l->out[0]->numel == 0)
    return FY_LAUNCH_OK;
  p.taps = l->in[1]->data;
  p.narrow = l->in[1]->dtype == FY_UINT8;
  return run(l, &p, max_planes_backward);
}

int fy_cpu_avg_pool2d(FyLaunch *l) {
  Pool p = pool_of(l, l->in[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  return l->out[0]->numel > 0 ? run(l, &p, average_planes) : FY_LAUNCH_OK;
}

int fy_cpu_avg_pool2d_backward(FyLaunch *l) {
  Pool p = pool_of(l, l->out[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  return l->out[0]->numel > 0 ? run(l, &p, average_planes_backward) : FY_LAUNCH_OK;
}
