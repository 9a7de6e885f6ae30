// SPDX-License-Identifier: MIT
// Simulated cuFFT: plans, and one operation of the plan's stream for each transform.
#include "sim/fft/cufft_impl.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/fft/fourier.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "sim/runtime/node.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

enum { MAX_PLANS = 1024 };

static struct cufft_plan *plans[MAX_PLANS]; // under sim.lock

// ---- plans ----

struct cufft_plan *sim_cufft_find(cufftHandle handle) {
  sim_lock();
  struct cufft_plan *plan = handle >= 1 && handle < MAX_PLANS ? plans[handle] : NULL;
  sim_unlock();
  return plan;
}

cufftResult cufftCreate(cufftHandle *handle) {
  if (handle == NULL)
    return CUFFT_INVALID_VALUE;
  if (sim_enter() != cudaSuccess)
    return CUFFT_SETUP_FAILED;
  struct cufft_plan *plan = sim_allocate(sizeof *plan);
  *plan = (struct cufft_plan){0};
  sim_lock();
  int free_place = 1;
  while (free_place < MAX_PLANS && plans[free_place])
    free_place++;
  if (free_place < MAX_PLANS)
    plans[free_place] = plan;
  sim_unlock();
  if (free_place == MAX_PLANS) {
    free(plan);
    return CUFFT_ALLOC_FAILED;
  }
  *handle = free_place;
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan == NULL)
    return CUFFT_INVALID_PLAN;
  sim_lock();
  plans[handle] = NULL;
  sim_unlock();
  free(plan);
  return CUFFT_SUCCESS;
}

bool sim_cufft_from_real(cufftType type) {
  return type == CUFFT_R2C || type == CUFFT_D2Z;
}
bool sim_cufft_to_real(cufftType type) {
  return type == CUFFT_C2R || type == CUFFT_Z2D;
}
bool sim_cufft_in_double(cufftType type) {
  return type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z;
}

// Elements one after another. `last`: how many the last dimension has.
static struct cufft_layout packed(const struct cufft_plan *plan, int last) {
  struct cufft_layout layout = {.stride = 1, .distance = 1};
  for (int d = 0; d < plan->rank; d++) {
    layout.embed[d] = d == plan->rank - 1 ? last : plan->n[d];
    layout.distance *= layout.embed[d];
  }
  return layout;
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *workSize) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan == NULL || plan->made)
    return CUFFT_INVALID_PLAN;
  if (plan->gpus && (type == CUFFT_R2C || type == CUFFT_C2R || type == CUFFT_D2Z || type == CUFFT_Z2D)) {
    fputs("cudasim: real transforms on several devices (cufftXtSetGPUs) are not simulated\n", stderr);
    return CUFFT_NOT_SUPPORTED;
  }
  if (rank < 1 || rank > CUFFT_MAX_RANK || n == NULL || batch < 1)
    return CUFFT_INVALID_VALUE;
  if (type != CUFFT_R2C && type != CUFFT_C2R && type != CUFFT_C2C && type != CUFFT_D2Z && type != CUFFT_Z2D &&
      type != CUFFT_Z2Z)
    return CUFFT_INVALID_TYPE;
  for (int d = 0; d < rank; d++) {
    if (n[d] < 1)
      return CUFFT_INVALID_SIZE;
    plan->n[d] = n[d];
  }
  plan->rank = rank;
  plan->batch = batch;
  plan->type = type;
  const int last = n[rank - 1], half = last / 2 + 1;
  plan->packed = inembed == NULL || onembed == NULL;
  plan->in = packed(plan, sim_cufft_to_real(type) ? half : last);
  plan->out = packed(plan, sim_cufft_from_real(type) ? half : last);
  if (!plan->packed) {
    for (int d = 0; d < rank; d++) {
      plan->in.embed[d] = inembed[d];
      plan->out.embed[d] = onembed[d];
    }
    plan->in.stride = istride;
    plan->in.distance = idist;
    plan->out.stride = ostride;
    plan->out.distance = odist;
  }
  plan->made = true;
  for (int i = 0; workSize && i < (plan->gpus ? plan->gpus : 1); i++)
    workSize[i] = 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *workSize) {
  return cufftMakePlanMany(plan, 1, (int[]){nx}, NULL, 1, 0, NULL, 1, 0, type, batch, workSize);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *workSize) {
  return cufftMakePlanMany(plan, 2, (int[]){nx, ny}, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *workSize) {
  return cufftMakePlanMany(plan, 3, (int[]){nx, ny, nz}, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                          int ostride, int odist, cufftType type, int batch) {
  cufftResult result = cufftCreate(plan);
  if (result == CUFFT_SUCCESS)
    result = cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, NULL);
  return result;
}
cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch) {
  return cufftPlanMany(plan, 1, (int[]){nx}, NULL, 1, 0, NULL, 1, 0, type, batch);
}
cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type) {
  return cufftPlanMany(plan, 2, (int[]){nx, ny}, NULL, 1, 0, NULL, 1, 0, type, 1);
}
cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type) {
  return cufftPlanMany(plan, 3, (int[]){nx, ny, nz}, NULL, 1, 0, NULL, 1, 0, type, 1);
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan)
    plan->stream = stream;
  return plan ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftGetSize(cufftHandle handle, size_t *workSize) {
  if (workSize)
    *workSize = 0;
  return sim_cufft_find(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
static cufftResult estimate(size_t *workSize) {
  if (workSize == NULL)
    return CUFFT_INVALID_VALUE;
  *workSize = 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t *workSize) {
  (void)type;
  return nx < 1 || batch < 1 ? CUFFT_INVALID_SIZE : estimate(workSize);
}
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t *workSize) {
  (void)type;
  return nx < 1 || ny < 1 ? CUFFT_INVALID_SIZE : estimate(workSize);
}
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *workSize) {
  (void)type;
  return nx < 1 || ny < 1 || nz < 1 ? CUFFT_INVALID_SIZE : estimate(workSize);
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  (void)automatic;
  return sim_cufft_find(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetWorkArea(cufftHandle handle, void *area) {
  (void)area;
  return sim_cufft_find(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftGetVersion(int *version) {
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

// ---- transforms ----

struct transform_work {
  struct sim_work base;
  struct cufft_plan plan;
  const void *in;
  void *out, *shared; // shared: for the program's own loads and stores
  int sign;
};

// Sizes of all transforms as three dimensions, the missing ones in front.
static void sizes(const struct cufft_plan *plan, int *n) {
  for (int d = 0; d < CUFFT_MAX_RANK; d++)
    n[d] = d < CUFFT_MAX_RANK - plan->rank ? 1 : plan->n[d - (CUFFT_MAX_RANK - plan->rank)];
}

static size_t element_index(const struct cufft_plan *plan, const struct cufft_layout *layout, int batch, const int *i) {
  size_t at = 0;
  for (int d = 0; d < plan->rank; d++)
    at = at * (size_t)layout->embed[d] + (size_t)i[CUFFT_MAX_RANK - plan->rank + d];
  return at * (size_t)layout->stride + (size_t)batch * (size_t)layout->distance;
}

static double complex load(const struct transform_work *w, size_t at) {
  const struct cufft_callback *user = &w->plan.load;
  void *in = (void *)w->in;
  if (sim_cufft_from_real(w->plan.type)) {
    if (sim_cufft_in_double(w->plan.type))
      return user->routine ? ((cufftCallbackLoadD)user->routine)(in, at, user->info, w->shared) : ((double *)in)[at];
    return user->routine ? ((cufftCallbackLoadR)user->routine)(in, at, user->info, w->shared) : ((float *)in)[at];
  }
  if (sim_cufft_in_double(w->plan.type)) {
    const cufftDoubleComplex value = user->routine ? ((cufftCallbackLoadZ)user->routine)(in, at, user->info, w->shared)
                                                   : ((cufftDoubleComplex *)in)[at];
    return CMPLX(value.x, value.y);
  }
  const cufftComplex value =
      user->routine ? ((cufftCallbackLoadC)user->routine)(in, at, user->info, w->shared) : ((cufftComplex *)in)[at];
  return CMPLX(value.x, value.y);
}

// The program's own function writes what it likes, where it likes.
static void store_by_callback(const struct transform_work *w, size_t at, double complex value) {
  const struct cufft_callback *user = &w->plan.store;
  const double x = creal(value), y = cimag(value);
  if (sim_cufft_to_real(w->plan.type)) {
    if (sim_cufft_in_double(w->plan.type))
      ((cufftCallbackStoreD)user->routine)(w->out, at, x, user->info, w->shared);
    else
      ((cufftCallbackStoreR)user->routine)(w->out, at, (float)x, user->info, w->shared);
  } else if (sim_cufft_in_double(w->plan.type)) {
    ((cufftCallbackStoreZ)user->routine)(w->out, at, make_cuDoubleComplex(x, y), user->info, w->shared);
  } else {
    ((cufftCallbackStoreC)user->routine)(w->out, at, make_cuComplex((float)x, (float)y), user->info, w->shared);
  }
}

static void store(const struct transform_work *w, size_t at, double complex value) {
  if (w->plan.store.routine) {
    store_by_callback(w, at, value);
    return;
  }
  const size_t parts = sim_cufft_to_real(w->plan.type) ? 1 : 2;
  for (size_t part = 0; part < parts; part++) {
    const double number = part == 0 ? creal(value) : cimag(value);
    if (sim_cufft_in_double(w->plan.type))
      ((double *)w->out)[parts * at + part] = number;
    else
      ((float *)w->out)[parts * at + part] = (float)number;
  }
}

// To an inspector: what a batch reads or writes, a row at a time. What goes by way of the
// program's own functions nobody knows.
static void notify_batch(const struct transform_work *w, bool writes, int batch, const int *n) {
  const struct cufft_layout *layout = writes ? &w->plan.out : &w->plan.in;
  const bool real = writes ? sim_cufft_to_real(w->plan.type) : sim_cufft_from_real(w->plan.type);
  const bool half = writes ? sim_cufft_from_real(w->plan.type) : sim_cufft_to_real(w->plan.type);
  const size_t bytes = (real ? 1 : 2) * (sim_cufft_in_double(w->plan.type) ? sizeof(double) : sizeof(float));
  const int columns = half ? n[2] / 2 + 1 : n[2];
  int i[CUFFT_MAX_RANK];
  if (sim_plugin_at(0) == NULL || (writes ? w->plan.store.routine : w->plan.load.routine))
    return;
  for (i[0] = 0; i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++) {
      i[2] = 0;
      const char *const begin =
          (const char *)(writes ? w->out : w->in) + bytes * element_index(&w->plan, layout, batch, i);
      const size_t pitch = bytes * (size_t)layout->stride;
      const struct sim_region row = {begin, bytes, pitch, (size_t)columns};
      if (writes)
        SIM_NOTIFY(wrote, (&row));
      else
        SIM_NOTIFY(was_read, (&row));
    }
}

static void load_all(const struct transform_work *w, int batch, const int *n, double complex *data) {
  int i[CUFFT_MAX_RANK];
  for (i[0] = 0; i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++)
      for (i[2] = 0; i[2] < n[2]; i[2]++) {
        double complex *to = &data[((size_t)i[0] * (size_t)n[1] + (size_t)i[1]) * (size_t)n[2] + (size_t)i[2]];
        if (!sim_cufft_to_real(w->plan.type) || i[2] <= n[2] / 2) {
          *to = load(w, element_index(&w->plan, &w->plan.in, batch, i));
        } else { // the other half is its mirror image
          const int mirror[CUFFT_MAX_RANK] = {(n[0] - i[0]) % n[0], (n[1] - i[1]) % n[1], n[2] - i[2]};
          *to = conj(load(w, element_index(&w->plan, &w->plan.in, batch, mirror)));
        }
      }
}

static void store_all(const struct transform_work *w, int batch, const int *n, const double complex *data) {
  const int last = sim_cufft_from_real(w->plan.type) ? n[2] / 2 + 1 : n[2];
  int i[CUFFT_MAX_RANK];
  for (i[0] = 0; i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++)
      for (i[2] = 0; i[2] < last; i[2]++)
        store(w, element_index(&w->plan, &w->plan.out, batch, i),
              data[((size_t)i[0] * (size_t)n[1] + (size_t)i[1]) * (size_t)n[2] + (size_t)i[2]]);
}

// Along one dimension: all lines of it, each by way of `line`.
static void transform_lines(double complex *data, const int *n, int dimension, int sign, double complex *line) {
  const size_t total = (size_t)n[0] * (size_t)n[1] * (size_t)n[2], length = (size_t)n[dimension];
  const size_t step = dimension == 2 ? 1 : dimension == 1 ? (size_t)n[2] : (size_t)n[1] * (size_t)n[2];
  for (size_t block = 0; block < total; block += step * length)
    for (size_t first = block; first < block + step; first++) {
      for (size_t i = 0; i < length; i++)
        line[i] = data[first + i * step];
      sim_fourier(line, n[dimension], sign);
      for (size_t i = 0; i < length; i++)
        data[first + i * step] = line[i];
    }
}

static cudaError_t run_transform(struct sim_work *base) {
  struct transform_work *w = (struct transform_work *)base;
  int n[CUFFT_MAX_RANK];
  sizes(&w->plan, n);
  const size_t total = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
  const int longest = n[0] > n[1] ? (n[0] > n[2] ? n[0] : n[2]) : n[1] > n[2] ? n[1] : n[2];
  double complex *data = sim_allocate(total * sizeof *data), *line = sim_allocate((size_t)longest * sizeof *line);
  w->shared = w->plan.shared ? sim_allocate(w->plan.shared) : NULL;
  for (int batch = 0; batch < w->plan.batch; batch++) {
    notify_batch(w, false, batch, n);
    load_all(w, batch, n, data);
    for (int d = 0; d < CUFFT_MAX_RANK; d++)
      if (n[d] > 1)
        transform_lines(data, n, d, w->sign, line);
    store_all(w, batch, n, data);
    notify_batch(w, true, batch, n);
  }
  free(data);
  free(line);
  free(w->shared);
  return cudaSuccess;
}

static void describe_transform(const struct sim_work *work, struct cudasim_activity *activity) {
  (void)work;
  activity->kind = CUDASIM_KERNEL;
  activity->name = "cufft";
}

static void count_transform(const struct sim_work *work) {
  (void)work;
  sim_count_kernel(&sim.counters.launches);
}

static size_t reach(const struct cufft_plan *plan, const struct cufft_layout *layout, int last, size_t element) {
  int end[CUFFT_MAX_RANK];
  sizes(plan, end);
  end[CUFFT_MAX_RANK - 1] = last;
  for (int d = 0; d < CUFFT_MAX_RANK; d++)
    end[d]--;
  return (element_index(plan, layout, plan->batch - 1, end) + 1) * element;
}

cufftResult sim_cufft_execute(cufftHandle handle, cufftType type, const void *in, void *out, int sign) {
  const struct cufft_plan *found = sim_cufft_find(handle);
  if (found == NULL || !found->made)
    return CUFFT_INVALID_PLAN;
  if (found->type != type)
    return CUFFT_INVALID_TYPE;
  if (in == NULL || out == NULL || (sign != CUFFT_FORWARD && sign != CUFFT_INVERSE))
    return CUFFT_INVALID_VALUE;
  struct cufft_plan plan = *found;
  const int last = plan.n[plan.rank - 1], half = last / 2 + 1;
  if (in == out && plan.packed &&
      sim_cufft_from_real(type)) // the real numbers of a row lie where its complex ones will
    plan.in = packed(&plan, 2 * half);
  if (in == out && plan.packed && sim_cufft_to_real(type))
    plan.out = packed(&plan, 2 * half);
  const size_t real = sim_cufft_in_double(type) ? sizeof(double) : sizeof(float);
  const size_t in_bytes =
      reach(&plan, &plan.in, sim_cufft_to_real(type) ? half : last, sim_cufft_from_real(type) ? real : 2 * real);
  const size_t out_bytes =
      reach(&plan, &plan.out, sim_cufft_from_real(type) ? half : last, sim_cufft_to_real(type) ? real : 2 * real);
  struct CUstream_st *stream;
  if (sim_stream_get(plan.stream, &stream) != cudaSuccess || sim_sticky(stream->device) != cudaSuccess)
    return CUFFT_EXEC_FAILED;
  if (sim.config.check && (sim_pointer_fault(in, stream->device) || sim_range_check(in, in_bytes) != cudaSuccess ||
                           sim_pointer_fault(out, stream->device) || sim_range_check(out, out_bytes) != cudaSuccess))
    return CUFFT_INVALID_VALUE;
  struct transform_work *work = sim_work_new(sizeof *work, run_transform, NULL);
  work->base.count = count_transform;
  work->base.describe = describe_transform;
  work->plan = plan;
  work->in = in;
  work->out = out;
  work->sign = sign;
  work->base.caller = sim_api_caller;
  return sim_submit(stream, &work->base, NULL) == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_C2C, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_R2C, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_C2R, in, out, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_Z2Z, in, out, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_D2Z, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out) {
  SIM_CALLED();
  return sim_cufft_execute(plan, CUFFT_Z2D, in, out, CUFFT_INVERSE);
}
