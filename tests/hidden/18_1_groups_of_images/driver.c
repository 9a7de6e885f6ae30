// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// Two convolutions with ReLU, then the mean of each channel. It records how it is called.
typedef struct Watched {
  FyModule base;
  FyTensor *w1, *w2;
  int64_t calls, most_rows, fewest_rows, rows, recorded;
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  const int64_t rows = fy_size_at(x, 0);
  w->calls++;
  w->rows += rows;
  w->recorded += fy_is_grad_enabled();
  if (rows > w->most_rows)
    w->most_rows = rows;
  if (w->calls == 1 || rows < w->fewest_rows)
    w->fewest_rows = rows;
  FyTensor *hidden = fy_relu(fy_conv2d(x, w->w1, NULL, .padding = 1));
  return fy_mean_dims(fy_relu(fy_conv2d(hidden, w->w2, NULL, .padding = 1)), fy_shape(2, 3), false);
}

static Watched *watched(Driver *d) {
  Watched *w = fy_module_new(Watched, watched_forward);
  fy_register_parameter(w, w1, fy_clone(driver_tensor(d, "w1")));
  fy_register_parameter(w, w2, fy_clone(driver_tensor(d, "w2")));
  return w;
}

void drive(Driver *d) {
  const Array *sizes = driver_array(d, "sizes");
  const int count = (int)sizes->count;
  FyTensor *pictures = driver_tensor(d, "pictures"), *groups[256];
  int64_t at = 0;
  for (int i = 0; i < count; i++) {
    groups[i] = fy_narrow(pictures, 0, at, sizes->i64[i]);
    at += sizes->i64[i];
  }
  Watched *model = watched(d);
  driver_module(&model->base);
  fy_backends_benchmark_clear();
  fy_backends_set_benchmark(true);
  const int64_t before = fy_backends_benchmark_counts().searches;
  FyTensor *scores = score_all(&model->base, groups, count, (int64_t)driver_number(d, "batch"));
  driver_put_number(d, "searches", (double)(fy_backends_benchmark_counts().searches - before));
  driver_put_number(d, "benchmark", fy_backends_benchmark());
  driver_put_number(d, "deterministic", fy_backends_deterministic());
  driver_put_number(d, "calls", (double)model->calls);
  driver_put_number(d, "rows", (double)model->rows);
  driver_put_number(d, "most rows", (double)model->most_rows);
  driver_put_number(d, "fewest rows", (double)model->fewest_rows);
  driver_put_number(d, "recorded", (double)model->recorded);
  driver_put(d, "scores", scores);
}
