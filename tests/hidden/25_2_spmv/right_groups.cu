#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// A tile of WIDTH lanes for each row, with WIDTH in the template.
template <int WIDTH>
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows) {
  auto tile = cg::tiled_partition<WIDTH>(cg::this_thread_block());
  int row = blockIdx.x * (128 / WIDTH) + tile.meta_group_rank();
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = offsets[row] + (int)tile.thread_rank(); k < offsets[row + 1]; k += WIDTH)
    sum += values[k] * x[columns[k]];
  sum = cg::reduce(tile, sum, cg::plus<float>());
  if (tile.thread_rank() == 0)
    y[row] = alpha * sum + (beta != 0 ? beta * y[row] : 0.0f);
}

template <int WIDTH>
static void launch(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                   float beta, int rows) {
  int per_block = 128 / WIDTH;
  spmv<WIDTH><<<(rows + per_block - 1) / per_block, 128>>>(y, offsets, columns, values, x, alpha, beta, rows);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows == 0)
    return;
  double average = (double)count / rows;
  if (average <= 4)
    launch<4>(y, offsets, columns, values, x, alpha, beta, rows);
  else if (average <= 12)
    launch<8>(y, offsets, columns, values, x, alpha, beta, rows);
  else
    launch<32>(y, offsets, columns, values, x, alpha, beta, rows);
}
