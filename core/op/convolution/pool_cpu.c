// Pooling on the CPU: threads share the planes, so each gradient is summed by one thread in a fixed order.
#include "op/convolution/pool_cpu.h"
#include "base/threads.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

// Outputs of a row that are computed together.
enum { BLOCK = 8 };

// Before a loop that is to become vectors as a whole, not to be unrolled first.
#ifdef _OPENMP
#define VECTORISE _Pragma("omp simd")
#else
#define VECTORISE
#endif

#define T float
#define NAME(x) f32_##x
#include "op/convolution/pool_planes.h"

#define T double
#define NAME(x) f64_##x
#include "op/convolution/pool_planes.h"

typedef struct Pool {
  FyPoolShape s;
  FyDType dtype;
  int64_t size;     // bytes of an element
  const char *from; // input, or gradient of the output
  char *to;         // output, or gradient of the input
  char *taps;       // of maxima, uint8 or int32 by `narrow`
  bool narrow;
  int32_t *rows; // one row of taps per thread
  atomic_int next_row;
} Pool;

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

static void max_planes(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  int32_t *row = p->rows + atomic_fetch_add(&p->next_row, 1) * s->ow;
  for (int64_t i = begin; i < end; i++) {
    const void *in = p->from + i * s->h * s->w * p->size;
    void *out = p->to + i * s->oh * s->ow * p->size;
    if (p->dtype == FY_FLOAT32)
      f32_max_plane(s, in, out, row, narrow_taps(p, i), wide_taps(p, i));
    else
      f64_max_plane(s, in, out, row, narrow_taps(p, i), wide_taps(p, i));
  }
}

static void max_planes_backward(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  for (int64_t i = begin; i < end; i++) {
    const void *grad = p->from + i * s->oh * s->ow * p->size;
    void *out = p->to + i * s->h * s->w * p->size;
    if (p->dtype == FY_FLOAT32)
      f32_max_plane_backward(s, grad, narrow_taps(p, i), wide_taps(p, i), out);
    else
      f64_max_plane_backward(s, grad, narrow_taps(p, i), wide_taps(p, i), out);
  }
}

static void average_planes(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  for (int64_t i = begin; i < end; i++) {
    const void *in = p->from + i * s->h * s->w * p->size;
    void *out = p->to + i * s->oh * s->ow * p->size;
    if (p->dtype == FY_FLOAT32)
      f32_average_plane(s, in, out);
    else
      f64_average_plane(s, in, out);
  }
}

static void average_planes_backward(int64_t begin, int64_t end, void *context) {
  Pool *p = context;
  const FyPoolShape *s = &p->s;
  for (int64_t i = begin; i < end; i++) {
    const void *grad = p->from + i * s->oh * s->ow * p->size;
    void *out = p->to + i * s->h * s->w * p->size;
    if (p->dtype == FY_FLOAT32)
      f32_average_plane_backward(s, grad, out);
    else
      f64_average_plane_backward(s, grad, out);
  }
}

// `input` is the array whose planes are pooled: an input of the forward, the output of the backward.
static Pool pool_of(const FyLaunch *l, const FyArray *input) {
  Pool p = {.s = fy_pool_shape(l->params, input->ndim, input->shape), .dtype = input->dtype};
  p.size = (int64_t)fy_dtype_size(p.dtype);
  p.from = l->in[0]->data;
  p.to = l->out[0]->data;
  return p;
}

static bool is_computable(const Pool *p) {
  return p->dtype == FY_FLOAT32 || p->dtype == FY_FLOAT64;
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
  fy_parallel_for(p.s.planes, grain(&p), max_planes, &p);
  return FY_LAUNCH_OK;
}

int fy_cpu_max_pool2d_backward(FyLaunch *l) {
  Pool p = pool_of(l, l->out[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  if (l->out[0]->numel == 0)
    return FY_LAUNCH_OK;
  p.taps = l->in[1]->data;
  p.narrow = l->in[1]->dtype == FY_UINT8;
  fy_parallel_for(p.s.planes, grain(&p), max_planes_backward, &p);
  return FY_LAUNCH_OK;
}

int fy_cpu_avg_pool2d(FyLaunch *l) {
  Pool p = pool_of(l, l->in[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  if (l->out[0]->numel > 0)
    fy_parallel_for(p.s.planes, grain(&p), average_planes, &p);
  return FY_LAUNCH_OK;
}

int fy_cpu_avg_pool2d_backward(FyLaunch *l) {
  Pool p = pool_of(l, l->out[0]);
  if (!is_computable(&p))
    return FY_LAUNCH_NO_KERNEL;
  if (l->out[0]->numel > 0)
    fy_parallel_for(p.s.planes, grain(&p), average_planes_backward, &p);
  return FY_LAUNCH_OK;
}
