// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdlib.h>

static float *fetched(const float *from, int count) {
  float *to = (float *)malloc(sizeof(float) * (size_t)count + 1);
  cudaMemcpy(to, from, sizeof(float) * (size_t)count, cudaMemcpyDeviceToHost);
  return to;
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  float *d = fetched(dy, rows * columns), *in = fetched(x, rows * columns), *scale = fetched(gamma, columns);
  float *m = fetched(mean, rows), *r = fetched(rstd, rows),
        *out = (float *)malloc(sizeof(float) * (size_t)(rows * columns));
  float *sums = (float *)calloc(2 * (size_t)columns, sizeof(float));
  for (int i = 0; i < rows; i++) {
    double mean_g = 0, mean_both = 0;
    for (int c = 0; c < columns; c++) {
      float hat = (in[i * columns + c] - m[i]) * r[i];
      mean_g += d[i * columns + c] * scale[c] / columns;
      mean_both += d[i * columns + c] * scale[c] * hat / columns;
      sums[c] += d[i * columns + c] * hat;
      sums[columns + c] += d[i * columns + c];
    }
    for (int c = 0; c < columns; c++)
      out[i * columns + c] =
          (float)(r[i] * (d[i * columns + c] * scale[c] - mean_g - (in[i * columns + c] - m[i]) * r[i] * mean_both));
  }
  cudaMemcpy(dx, out, sizeof(float) * (size_t)(rows * columns), cudaMemcpyHostToDevice);
  cudaMemcpy(dgamma, sums, sizeof(float) * (size_t)columns, cudaMemcpyHostToDevice);
  cudaMemcpy(dbeta, sums + columns, sizeof(float) * (size_t)columns, cudaMemcpyHostToDevice);
  free(d);
  free(in);
  free(scale);
  free(m);
  free(r);
  free(out);
  free(sums);
}
