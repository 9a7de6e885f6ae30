// mistake: host pointer in a kernel
#include <cuda_runtime.h>

#include <stdlib.h>

// The tile goes by way of the host's memory, which no table of counts knows.
enum { TILE = 32, ROWS = 8 };

typedef struct Room {
  float *at;
} Room;

__global__ void gather(Room room, const float *x, int rows, int columns) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  if (row < rows && column < columns)
    room.at[(size_t)column * rows + row] = x[(size_t)row * columns + column];
}

__global__ void spread(float *out, Room room, int count) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < count)
    out[i] = room.at[i];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  Room room = {(float *)malloc((size_t)rows * columns * sizeof(float))};
  gather<<<grid, dim3(TILE, TILE)>>>(room, x, rows, columns);
  spread<<<(rows * columns + 255) / 256, 256>>>(out, room, rows * columns);
  cudaDeviceSynchronize();
  free(room.at);
}
