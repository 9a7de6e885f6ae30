// Exercise 23.1: a transpose through shared memory                               (chapter 23, docs/23_shared_memory.md)
//
// Write the kernel transpose, and transpose_on_device, which launches it:
//
//   out[c][r] = in[r][c]        in: rows x columns, out: columns x rows, both contiguous float32 in device memory
//
//   PyTorch:  out.copy_(in.T)
//
// A warp's 32 accesses are fetched in sectors of 32 bytes. Neighbours share sectors; a thread that goes down a column
// has one to itself. A plain transpose reads along rows and writes along columns, so one of the two needs eight times
// what it should. Let a block carry a square tile: read it along rows of `in` into __shared__ memory, wait with
// __syncthreads() until all of it is there, and write it along rows of `out`, so that the turning happens in shared
// memory. Shared memory has 32 banks: words that are 32 apart are in the same one and are served one after another. A
// tile 33 words wide puts a column's elements into different banks.
//
// Every access of the kernel to memory, global or shared, goes through
//   float load(const float *address)      void store(float *address, float value)
// which are in counted.cuh, and are what is counted: sectors of each warp's access (read and written, each at most
// twice the least there can be), and passes over the banks (at most two for each access of a warp). What does not go
// through load finds NaN in `in`, and fewer accesses to shared memory than all elements take (one in, one out) are
// refused. rows and columns are at least 1 and at most 100000, differ, and are hardly ever multiples of the tile; `in`
// has less than 2^31 bytes. Counted besides: launches (one, for a single row or column too); elements read and written,
// each once: a tile that an edge cuts off ends with the row, and reads nothing of the next.
//
// In the library: transpose_kernel in core/op/copy/copy.cu does this, with tiles of 64.
#include "counted.cuh" // load, store
#include <cuda_runtime.h>
#include <stdio.h>

// [answer]
enum { TILE = 32, TILE_ROWS = 8 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  for (int k = 0; k < TILE; k += TILE_ROWS)
    if (r + k < rows && c < columns)
      store(&tile[threadIdx.y + k][threadIdx.x],
            load(&in[(size_t)(r + k) * columns + c])); // a product of ints overflows
  __syncthreads();
  r = blockIdx.x * TILE + threadIdx.y; // of out, which has `columns` rows
  c = blockIdx.y * TILE + threadIdx.x;
  for (int k = 0; k < TILE; k += TILE_ROWS)
    if (r + k < columns && c < rows)
      store(&out[(size_t)(r + k) * rows + c], load(&tile[threadIdx.x][threadIdx.y + k]));
}
// [stub]
//| enum { TILE = 32, TILE_ROWS = 8 }; // 32 x 8 threads, each with four elements of a tile
//|
//| __global__ void transpose(float *out, const float *in, int rows, int columns) {
//|   (void)out;
//|   (void)in;
//|   (void)rows;
//|   (void)columns;
//| }
// [end]

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<blocks, dim3(TILE, TILE_ROWS)>>>(out, in, rows, columns);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "transpose: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
