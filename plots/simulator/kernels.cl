// The kernels of kernels.cuh in OpenCL, for PoCL.
#define TILE 16
#define BLOCK 256
#define BINS 256
#define EDGE 32
#define ROWS 8

kernel void saxpy(int n, global const float *x, global float *y) {
  int i = get_global_id(0);
  if (i < n)
    y[i] = 2.0f * x[i] + y[i];
}

kernel void stencil(int n, global const float *in, global float *out) {
  int c = get_global_id(0), r = get_global_id(1);
  if (c > 0 && r > 0 && c < n - 1 && r < n - 1)
    out[r * n + c] = 0.2f * (in[r * n + c] + in[r * n + c - 1] + in[r * n + c + 1] + in[(r - 1) * n + c] +
                             in[(r + 1) * n + c]);
}

kernel void matmul(int n, global const float *a, global const float *b, global float *c) {
  local float left[TILE][TILE], right[TILE][TILE];
  int tx = get_local_id(0), ty = get_local_id(1);
  int column = get_group_id(0) * TILE + tx, row = get_group_id(1) * TILE + ty;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    left[ty][tx] = a[row * n + t + tx];
    right[ty][tx] = b[(t + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; k++)
      sum += left[ty][k] * right[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void transpose(int n, global const float *in, global float *out) {
  local float tile[EDGE][EDGE + 1];
  int tx = get_local_id(0), ty = get_local_id(1);
  int c = get_group_id(0) * EDGE + tx, r = get_group_id(1) * EDGE + ty;
  for (int k = 0; k < EDGE; k += ROWS)
    tile[ty + k][tx] = in[(r + k) * n + c];
  barrier(CLK_LOCAL_MEM_FENCE);
  c = get_group_id(1) * EDGE + tx;
  r = get_group_id(0) * EDGE + ty;
  for (int k = 0; k < EDGE; k += ROWS)
    out[(r + k) * n + c] = tile[tx][ty + k];
}

kernel void reduce_barriers(int n, global const float *x, global float *sums) {
  local float part[BLOCK];
  int t = get_local_id(0), i = get_global_id(0);
  part[t] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0)
    sums[get_group_id(0)] = part[0];
}

kernel void histogram(int n, global const uint *values, global uint *counts) {
  local uint mine[BINS];
  for (int b = get_local_id(0); b < BINS; b += get_local_size(0))
    mine[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_add(&mine[values[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < BINS; b += get_local_size(0))
    atomic_add(&counts[b], mine[b]);
}
