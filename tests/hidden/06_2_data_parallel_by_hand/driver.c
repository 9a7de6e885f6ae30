// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <pthread.h>
#include <time.h>

// A linear layer that records how many rows each GPU had.
typedef struct Layer {
  FyModule base;
  FyTensor *weight, *bias, *spare; // spare is unused
} Layer;

static int64_t rows[16];

// Concurrent replicas are in forward at the same time: each waits here until all have arrived. After one timeout none waits again.
static struct {
  pthread_mutex_t lock;
  pthread_cond_t came;
  int expected, inside;
  bool alone;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};

static void meet(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 5;
  pthread_mutex_lock(&meeting.lock);
  meeting.inside++;
  pthread_cond_broadcast(&meeting.came);
  while (meeting.inside < meeting.expected && !meeting.alone)
    if (pthread_cond_timedwait(&meeting.came, &meeting.lock, &until) != 0)
      meeting.alone = true;
  pthread_mutex_unlock(&meeting.lock);
}

static FyTensor *layer_forward(FyModule *self, FyTensor *x) {
  Layer *layer = (Layer *)self;
  int at = fy_device_of(x).index;
  if (at >= 0 && at < 16)
    rows[at] += fy_size_at(x, 0); // each thread has its own element
  meet();
  return fy_linear(x, layer->weight, layer->bias);
}

void drive(Driver *d) {
  const Array *given = driver_array(d, "ids");
  int ids[8], count = (int)given->count;
  for (int i = 0; i < count; i++)
    ids[i] = (int)given->i64[i];
  Layer *model = fy_module_new(Layer, layer_forward);
  fy_register_parameter(model, weight, fy_clone(driver_tensor(d, "weight")));
  fy_register_parameter(model, bias, fy_clone(driver_tensor(d, "bias")));
  fy_register_parameter(model, spare, fy_ones(fy_shape(3)));
  fy_module_to(model, fy_cuda_device(ids[0]));
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = driver_number(d, "lr"));
  FyTensor *x = driver_tensor(d, "x"), *target = driver_tensor(d, "target");
  int chunk = ((int)fy_size_at(x, 0) + count - 1) / count;
  meeting.expected = ((int)fy_size_at(x, 0) + chunk - 1) / chunk;
  FyTensorList *parameters = fy_parameters(&model->base);
  for (int i = 0; i < parameters->count; i++) // from an earlier step
    fy_set_grad(parameters->items[i],
                fy_full(7, fy_size(parameters->items[i]), .device = fy_device_of(parameters->items[i])));
  driver_module(&model->base);
  driver_count(d);
  FyTensor *first = parallel_step(&model->base, optimizer, x, target, ids, count);
  driver_put_array(d, "rows", FY_INT64, shape(16), rows);
  FyTensor *second = parallel_step(&model->base, optimizer, x, target, ids, count);
  driver_stop(d);
  driver_put_number(d, "alone", meeting.alone);
  driver_put(d, "unused parameter after two steps", model->spare);
  driver_put(d, "first loss", first);
  driver_put(d, "second loss", second);
  driver_put(d, "weight after two steps", model->weight);
  driver_put(d, "bias after two steps", model->bias);
}
