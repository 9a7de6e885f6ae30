// SPDX-License-Identifier: MIT
// Attention on the CPU, for one type, by tiles of queries and keys. Included by attention.c, which describes the formulas.
//
// Expects, for each inclusion: T, the element type; DTYPE; S, the end of names for it (f32 or f64). No include guard.
#if !defined T || !defined DTYPE || !defined S
#error "attention_tiles.h expects T, DTYPE, S"
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, S)
#define EXP JOIN(fy_exp_, S)
#define SUM JOIN(fy_sum_, T)
#define DOT JOIN(fy_dot_, T)
#define MAX JOIN(fy_max_, T)

// The matrix of a batch.
static T *NAME(matrix_)(const Operand *o, int64_t batch) {
  int64_t offset = 0;
  for (int d = o->array->ndim - 3; d >= 0; d--) {
    offset += batch % o->array->shape[d] * o->array->stride[d];
    batch /= o->array->shape[d];
  }
  return (T *)o->array->data + offset;
}

// scores (rows, n) = scale * query[first ..] key[from ..]^T
static int NAME(score_)(const Attention *p, int64_t batch, int64_t first, int64_t rows, int64_t from, int64_t n,
                        T *scores) {
  const Operand *q = &p->query, *k = &p->key;
  return fy_gemm_serial(DTYPE, false, true, rows, n, p->s.e, p->scale, NAME(matrix_)(q, batch) + first * q->ld, q->ld,
                        NAME(matrix_)(k, batch) + from * k->ld, k->ld, 0, scores, n);
}

// A row's scores become weights e^(score - max), those of unseen keys 0; max and sum follow. Returns what the sums so far are to
// be multiplied by.
static T NAME(weigh_)(T *row, int64_t n, int64_t seen, T *max, double *sum) {
  T before = *max, factor = 1;
  memset(row + seen, 0, (size_t)(n - seen) * sizeof *row);
  if (seen == 0)
    return factor;
  const T largest = MAX(row, seen);
  *max = largest > before ? largest : before;
  for (int64_t j = 0; j < seen; j++)
    row[j] = EXP(row[j] - *max);
  if (*max != before)
    factor = EXP(before - *max);
  *sum = *sum * (double)factor + SUM(row, NULL, seen);
  return factor;
}

static void NAME(finish_)(const Attention *p, T *out, T *lse, int64_t rows, const T *max, const double *sum) {
  const int64_t ev = p->s.ev;
  for (int64_t i = 0; i < rows; i++) {
    const T factor = (T)(1 / sum[i]);
    lse[i] = max[i] + (T)log(sum[i]);
    for (int64_t j = 0; j < ev; j++)
      out[i * ev + j] *= factor;
  }
}

// A tile of queries of one batch against all tiles of keys that they see.
static int NAME(queries_)(const Attention *p, int64_t batch, int64_t first, T *scores) {
  const int64_t rows = fy_smaller(QUERIES, p->s.l - first), ev = p->s.ev;
  const int64_t keys = p->causal ? fy_smaller(p->s.s, first + rows) : p->s.s;
  T *out = (T *)p->out + (batch * p->s.l + first) * ev, max[QUERIES];
  double sum[QUERIES] = {0};
  for (int64_t i = 0; i < rows; i++)
    max[i] = (T)-INFINITY;
  for (int64_t from = 0; from < keys; from += KEYS) {
    const int64_t n = fy_smaller(KEYS, keys - from);
    int status = NAME(score_)(p, batch, first, rows, from, n, scores);
    for (int64_t i = 0; i < rows; i++) {
      const T factor = NAME(weigh_)(scores + i * n, n, seen_by(p, first + i, from, n), &max[i], &sum[i]);
      for (int64_t j = 0; from > 0 && factor != 1 && j < ev; j++)
        out[i * ev + j] *= factor;
    }
    if (status == FY_LAUNCH_OK)
      status = fy_gemm_serial(DTYPE, false, false, rows, ev, n, 1, scores, n,
                              NAME(matrix_)(&p->value, batch) + from * p->value.ld, p->value.ld, from > 0, out, ev);
    if (status != FY_LAUNCH_OK)
      return status;
  }
  NAME(finish_)(p, out, (T *)p->lse + batch * p->s.l + first, rows, max, sum);
  return FY_LAUNCH_OK;
}

static void NAME(forward_)(int64_t begin, int64_t end, void *context) {
  Attention *p = context;
  T *scores = (T *)p->scratch + atomic_fetch_add(&p->next_thread, 1) * p->scratch_elements;
  for (int64_t task = begin; task < end; task++) {
    const int status = NAME(queries_)(p, task / p->tiles, task % p->tiles * QUERIES, scores);
    if (status != FY_LAUNCH_OK)
      atomic_store(&p->status, status);
  }
}

// ---- backward ----------------------------------------------------------------------------------------------------------

// From scores to weights, and from the gradients of weights to those of scores, each (rows, n).
static void NAME(weights_)(const Attention *p, int64_t first, int64_t rows, int64_t from, int64_t n, const T *lse,
                           T *weights) {
  for (int64_t i = 0; i < rows; i++) {
    T *row = weights + i * n;
    const int64_t seen = seen_by(p, first + i, from, n);
    for (int64_t j = 0; j < seen; j++)
      row[j] = EXP(row[j] - lse[i]);
    memset(row + seen, 0, (size_t)(n - seen) * sizeof *row);
  }
}

static void NAME(score_gradients_)(const Attention *p, int64_t first, int64_t rows, int64_t from, int64_t n,
                                   const T *restrict weights, const T *level, T *restrict grads) {
  for (int64_t i = 0; i < rows; i++, weights += n, grads += n) {
    const int64_t seen = seen_by(p, first + i, from, n);
    for (int64_t j = 0; j < seen; j++)
      grads[j] = weights[j] * (grads[j] - level[i]) * (T)p->scale;
    memset(grads + seen, 0, (size_t)(n - seen) * sizeof *grads);
  }
}

// A tile of queries and a tile of keys: adds to the gradients of both.
static int NAME(tile_)(const Attention *p, int64_t batch, int64_t first, int64_t rows, int64_t from, int64_t n,
                       const T *level, T *weights) {
  const FyAttentionShape *s = &p->s;
  const Operand *q = &p->query, *k = &p->key, *v = &p->value;
  const T *grad = (const T *)p->grad + (batch * s->l + first) * s->ev;
  T *grads = weights + QUERIES * KEYS;
  T *dq = (T *)p->grad_query + (batch * s->l + first) * s->e, *dk = (T *)p->grad_key + (batch * s->s + from) * s->e;
  T *dv = (T *)p->grad_value + (batch * s->s + from) * s->ev;
  int status = NAME(score_)(p, batch, first, rows, from, n, weights);
  NAME(weights_)(p, first, rows, from, n, (const T *)p->lse + batch * s->l + first, weights);
  if (status == FY_LAUNCH_OK)
    status = fy_gemm_serial(DTYPE, true, false, n, s->ev, rows, 1, weights, n, grad, s->ev, 1, dv, s->ev);
  if (status == FY_LAUNCH_OK)
    status = fy_gemm_serial(DTYPE, false, true, rows, n, s->ev, 1, grad, s->ev, NAME(matrix_)(v, batch) + from * v->ld,
                            v->ld, 0, grads, n);
  NAME(score_gradients_)(p, first, rows, from, n, weights, level, grads);
  if (status == FY_LAUNCH_OK)
    status = fy_gemm_serial(DTYPE, false, false, rows, s->e, n, 1, grads, n, NAME(matrix_)(k, batch) + from * k->ld,
                            k->ld, from > 0, dq, s->e);
  if (status == FY_LAUNCH_OK)
    status = fy_gemm_serial(DTYPE, true, false, n, s->e, rows, 1, grads, n, NAME(matrix_)(q, batch) + first * q->ld,
                            q->ld, 1, dk, s->e);
  return status;
}

static int NAME(batch_)(const Attention *p, int64_t batch, T *weights) {
  const FyAttentionShape *s = &p->s;
  for (int64_t first = 0; first < s->l; first += QUERIES) {
    const int64_t rows = fy_smaller(QUERIES, s->l - first), at = (batch * s->l + first) * s->ev;
    T level[QUERIES];
    for (int64_t i = 0; i < rows; i++)
      level[i] = (T)DOT((const T *)p->grad + at + i * s->ev, (const T *)p->out + at + i * s->ev, s->ev);
    const int64_t keys = p->causal ? fy_smaller(s->s, first + rows) : s->s;
    for (int64_t from = 0; from < keys; from += KEYS) {
      const int status = NAME(tile_)(p, batch, first, rows, from, fy_smaller(KEYS, keys - from), level, weights);
      if (status != FY_LAUNCH_OK)
        return status;
    }
  }
  return FY_LAUNCH_OK;
}

static void NAME(backward_)(int64_t begin, int64_t end, void *context) {
  Attention *p = context;
  T *weights = (T *)p->scratch + atomic_fetch_add(&p->next_thread, 1) * p->scratch_elements;
  for (int64_t batch = begin; batch < end; batch++) {
    const int status = NAME(batch_)(p, batch, weights);
    if (status != FY_LAUNCH_OK)
      atomic_store(&p->status, status);
  }
}

#undef MAX
#undef DOT
#undef SUM
#undef EXP
#undef NAME
#undef JOIN
#undef JOIN_
#undef T
#undef DTYPE
#undef S
