// Exercise 20.3: rows, columns and a pitch                                      (chapter 20, docs/20_the_first_kernel.md)
//
// Write the kernel light, and light_on_device, which launches it. For every pixel of an image of rows x columns:
//
//   out[r][c] = gain[r] * in[r][c] + shift[c]
//
//   PyTorch:  out.copy_(gain[:, None] * in + shift)
//
// Given, in device memory: in and out, float32; gain with `rows` elements; shift with `columns`. Both sizes are at
// least 1, differ, and are hardly ever multiples of anything. The rows of an image do not touch: so that each begins at
// an aligned address there are unused bytes behind it, as cudaMallocPitch leaves them. in_pitch and out_pitch are the
// distances from one row to the next, in bytes; they differ, and are multiples of 4 here, not of more. The bytes behind
// a row of out belong to others and must stay as they are. Blocks and grids have two dimensions: dim3 threads(32, 8),
// and x is the one in which neighbouring threads are numbered. Let x run along the columns, as memory does. Neither
// gain nor the images have anything behind their last element: not even a read there is allowed. Counted: launches
// (one). Looked at besides, for images that are not small: the shape of the launch, which has at least 2048 threads for
// an image of more than 65536 pixels, with x along the columns. An image may have up to 100000 rows, and as many
// columns, and a grid has room for 65535 blocks along y. It takes less than 2^31 bytes.
//
// In the library: move_kernel in core/op/copy/copy.cu copies between any two layouts; a pitch is a stride of the rows.
#include <cuda_runtime.h>

__global__ void light(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                      const float *shift, int rows, int columns) {
  // [answer]
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns)
    return;
  const float *from = (const float *)((const char *)in + r * in_pitch);
  float *to = (float *)((char *)out + r * out_pitch);
  to[c] = gain[r] * from[c] + shift[c];
  // [stub]
  //| (void)out;
  //| (void)out_pitch;
  //| (void)in;
  //| (void)in_pitch;
  //| (void)gain;
  //| (void)shift;
  //| (void)rows; // a thread has a row and a column, and may be beyond either
  //| (void)columns;
  // [end]
}

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns) {
  // [answer]
  dim3 threads(32, 8);
  dim3 blocks((columns + threads.x - 1) / threads.x, (rows + threads.y - 1) / threads.y);
  light<<<blocks, threads>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns);
  // [stub]
  //| light<<<1, dim3(32, 8)>>>(out, out_pitch, in, in_pitch, gain, shift, rows, columns); // how many blocks each way?
  // [end]
}
