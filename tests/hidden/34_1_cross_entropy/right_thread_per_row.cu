// missing star: uncoalesced access
#include <cuda_runtime.h>
#include <math.h>

__global__ void cross_entropy(float *loss, float *gradient, const float *logits, const int *target, int rows,
                              int classes) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows)
    return;
  const float *row = logits + (size_t)r * classes;
  float max = row[0], sum = 1;
  for (int c = 1; c < classes; c++) {
    if (row[c] > max) {
      sum = sum * expf(max - row[c]) + 1;
      max = row[c];
    } else {
      sum += expf(row[c] - max);
    }
  }
  for (int c = 0; c < classes; c++) {
    float p = expf(row[c] - max) / sum;
    gradient[(size_t)r * classes + c] = c == target[r] ? (p - 1) / rows : p / rows;
  }
  loss[r] = logf(sum) - (row[target[r]] - max);
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
  if (rows)
    cross_entropy<<<(rows + 127) / 128, 128>>>(loss, gradient, logits, target, rows, classes);
}
