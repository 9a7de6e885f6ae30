// SPDX-License-Identifier: MIT
// Ranks are threads, each with a model of its own; an all-reduce ends when all ranks have called it.
#include "driver.h"
#include "answer.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 4 };

typedef struct Rank {
  int number;
  pthread_t thread;
  FyTensor *reducing; // its tensor in the current all-reduce
  int64_t elements, calls, rows, largest;
  float *weight, *bias, *shift;  // afterwards
  const void *parameter, *first; // the model's weight, and what was in it before the step
  size_t bytes;
} Rank;

static Driver *driver;
static Rank ranks[MOST_RANKS];
static int rank_count, arrived, ended, round_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool stuck, other_size, raised, stepped;
static char why[400];
static _Thread_local Rank *self;

static void sum_up(void) {
  const int64_t count = fy_numel(ranks[0].reducing);
  for (int r = 1; r < rank_count; r++)
    other_size |= fy_numel(ranks[r].reducing) != count;
  if (other_size)
    return;
  for (int64_t i = 0; i < count; i++) {
    float sum = 0;
    for (int r = 0; r < rank_count; r++)
      sum += ((float *)fy_data_ptr(ranks[r].reducing))[i];
    for (int r = 0; r < rank_count; r++)
      ((float *)fy_data_ptr(ranks[r].reducing))[i] = sum;
  }
}

static void all_reduce(FyTensor *t) {
  fy_check(t && fy_is_contiguous(t) && !fy_is_cuda(t) && fy_dtype_of(t) == FY_FLOAT32, FY_VALUE_ERROR,
           "all_reduce takes a contiguous float32 tensor on the CPU");
  pthread_mutex_lock(&lock);
  self->reducing = t;
  self->elements += fy_numel(t);
  if (self->calls++ == 0)
    stepped |= memcmp(self->parameter, self->first, self->bytes) != 0;
  const int mine = round_number;
  if (++arrived == rank_count) {
    sum_up();
    arrived = 0;
    round_number++;
    pthread_cond_broadcast(&changed);
  }
  while (round_number == mine && !stuck) {
    stuck = ended > 0; // a rank has returned
    if (stuck)
      pthread_cond_broadcast(&changed);
    else
      pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
}

typedef struct Counted { // a linear layer and a shift, which note what goes through them
  FyModule base;
  FyModule *linear;
  FyTensor *shift;
} Counted;

static FyTensor *counted_forward(FyModule *module, FyTensor *x) {
  const int64_t rows = fy_size_at(x, 0);
  self->rows += rows;
  self->largest = rows > self->largest ? rows : self->largest;
  const Counted *model = (const Counted *)module;
  return fy_add(fy_forward(model->linear, x), model->shift);
}

// With gradients of an earlier step.
static FyModule *new_model(const Array *weight, const Array *bias, const Array *shift) {
  Counted *model = fy_module_new(Counted, counted_forward);
  fy_register_module(model, linear, fy_nn_linear((int)weight->shape.size[1], (int)weight->shape.size[0]));
  fy_register_parameter(model, shift, fy_zeros(fy_shape(shift->count)));
  FyTensorList *parameters = fy_parameters(model); // its own first
  memcpy(fy_data_ptr(parameters->items[0]), shift->f32, (size_t)shift->count * sizeof(float));
  memcpy(fy_data_ptr(parameters->items[1]), weight->f32, (size_t)weight->count * sizeof(float));
  memcpy(fy_data_ptr(parameters->items[2]), bias->f32, (size_t)bias->count * sizeof(float));
  for (int i = 0; i < 3; i++)
    fy_set_grad(parameters->items[i], fy_full(7, fy_size(parameters->items[i])));
  return &model->base;
}

static FyTensor *rows_of(const Array *all) {
  const int64_t rows = all->shape.size[1], columns = all->shape.size[2];
  FyTensor *t = fy_empty(fy_shape(rows, columns));
  memcpy(fy_data_ptr(t), all->f32 + self->number * rows * columns, (size_t)(rows * columns) * sizeof(float));
  return t;
}

static void *run(void *argument) {
  self = argument;
  FyError error;
  fy_trap(error) {
    fy_scope {
      FyModule *model =
          new_model(driver_array(driver, "weight"), driver_array(driver, "bias"), driver_array(driver, "shift"));
      FyTensorList *parameters = fy_parameters(model);
      FyOptimizer *optimizer = fy_sgd(parameters, .lr = 0.5, .weight_decay = 0.25);
      self->parameter = fy_data_ptr(parameters->items[1]);
      self->first = driver_array(driver, "weight")->f32;
      self->bytes = fy_nbytes(parameters->items[1]);
      if (self->number == 0)
        driver_module(model);
      ddp_step(model, optimizer, rows_of(driver_array(driver, "x")), rows_of(driver_array(driver, "target")),
               (int)driver_number(driver, "parts"), rank_count, all_reduce);
      memcpy(self->shift, fy_data_ptr(parameters->items[0]), fy_nbytes(parameters->items[0]));
      memcpy(self->weight, fy_data_ptr(parameters->items[1]), fy_nbytes(parameters->items[1]));
      memcpy(self->bias, fy_data_ptr(parameters->items[2]), fy_nbytes(parameters->items[2]));
    }
  }
  pthread_mutex_lock(&lock);
  if (error.kind && !raised)
    snprintf(why, sizeof why, "%.380s", error.message);
  raised |= error.kind != 0;
  ended++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return NULL;
}

void drive(Driver *d) {
  driver = d;
  const Array *x = driver_array(d, "x"), *weight = driver_array(d, "weight"), *bias = driver_array(d, "bias");
  driver_array(d, "target");
  driver_array(d, "shift");
  rank_count = (int)x->shape.size[0];
  float *weights = calloc((size_t)(rank_count * weight->count), sizeof *weights);
  float *biases = calloc((size_t)(rank_count * bias->count), sizeof *biases);
  float *shifts = calloc((size_t)(rank_count * bias->count), sizeof *shifts);
  for (int r = 0; r < rank_count; r++)
    ranks[r] = (Rank){.number = r,
                      .weight = weights + r * weight->count,
                      .bias = biases + r * bias->count,
                      .shift = shifts + r * bias->count};
  for (int r = 0; r < rank_count; r++)
    if (pthread_create(&ranks[r].thread, NULL, run, &ranks[r]) != 0)
      abort();
  int64_t elements = 0, rows = 0, largest = 0;
  for (int r = 0; r < rank_count; r++) {
    pthread_join(ranks[r].thread, NULL);
    elements = ranks[r].elements > elements ? ranks[r].elements : elements;
    rows = ranks[r].rows > rows ? ranks[r].rows : rows;
    largest = ranks[r].largest > largest ? ranks[r].largest : largest;
  }
  driver_put_array(d, "weights", FY_FLOAT32, shape(rank_count, weight->shape.size[0], weight->shape.size[1]), weights);
  driver_put_array(d, "biases", FY_FLOAT32, shape(rank_count, bias->count), biases);
  driver_put_array(d, "shifts", FY_FLOAT32, shape(rank_count, bias->count), shifts);
  driver_put_number(d, "elements", (double)elements);
  driver_put_number(d, "rows", (double)rows);
  driver_put_number(d, "largest", (double)largest);
  driver_put_number(d, "stepped", stepped);
  driver_put_number(d, "stuck", stuck);
  driver_put_number(d, "other size", other_size);
  driver_put_text(d, "raised", raised ? why : "");
}
