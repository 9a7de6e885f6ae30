// SPDX-License-Identifier: MIT
// The kernels without shuffles in OpenCL, for PoCL. argv[1]: the name to report, argv[2]: the file of the kernels.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "bench.h"

enum { BLOCK = 256 };

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static float *floats, *result;
static unsigned int *values;

static void check(cl_int error, const char *what) {
  if (error != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL error %d\n", what, error);
    exit(1);
  }
}

static void open_device(void) {
  cl_platform_id platforms[8];
  cl_device_id device;
  cl_uint count = 0;
  cl_int error = clGetPlatformIDs(8, platforms, &count);
  for (cl_uint i = 0; i < count && i < 8; i++) {
    char name[200] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
    if (strstr(name, "Portable") == NULL ||
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS)
      continue;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error, "the context");
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "the queue");
    return;
  }
  fprintf(stderr, "no CPU device of PoCL\n");
  exit(3);
}

static void build(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "rb");
  const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
  const char *source = text;
  cl_int error;
  if (length == 0) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  program = clCreateProgramWithSource(context, 1, &source, &length, &error);
  check(error, "the program");
  check(clBuildProgram(program, 0, NULL, "", NULL, NULL), "building the program");
}

static cl_mem device(size_t bytes, void *from) {
  cl_int error;
  void *zeros = from ? NULL : calloc(1, bytes);
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, from ? from : zeros, &error);
  check(error, "memory");
  free(zeros);
  return memory;
}

/* The smallest of RUNS times; an argument of 4 bytes is `number`, the others are buffers. */
static double run(const char *name, size_t width, size_t height, size_t local_width, size_t local_height, int number,
                  const cl_mem *buffers, cl_uint count) {
  const size_t global[2] = {width, height}, local[2] = {local_width, local_height};
  cl_int error;
  double best = 1e30;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  check(clSetKernelArg(kernel, 0, sizeof number, &number), name);
  for (cl_uint i = 0; i < count; i++)
    check(clSetKernelArg(kernel, i + 1, sizeof(cl_mem), &buffers[i]), name);
  for (int i = 0; i < RUNS; i++) {
    const double begin = now_ms();
    check(clEnqueueNDRangeKernel(queue, kernel, height > 1 ? 2 : 1, NULL, global, local, 0, NULL, NULL), name);
    check(clFinish(queue), name);
    const double took = now_ms() - begin;
    best = took < best ? took : best;
  }
  clReleaseKernel(kernel);
  return best;
}

static void fetch(cl_mem from, size_t bytes) {
  check(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, result, 0, NULL, NULL), "a copy");
}

static void time_all(const char *who) {
  cl_mem x = device(COUNT * sizeof(float), floats), y = device(COUNT * sizeof(float), NULL);
  cl_mem v = device(COUNT * sizeof(int), values), counts = device(256 * sizeof(int), NULL);
  cl_mem b = device(MATRIX * MATRIX * sizeof(float), floats + MATRIX * MATRIX);
  double best = run("saxpy", COUNT, 1, BLOCK, 1, COUNT, (cl_mem[]){x, y}, 2);
  fetch(y, COUNT * sizeof(float));
  report(who, "saxpy", best, saxpy_is_right(result, floats, COUNT, RUNS));
  best = run("stencil", SIDE, SIDE, 32, 8, SIDE, (cl_mem[]){x, y}, 2);
  fetch(y, COUNT * sizeof(float));
  report(who, "stencil", best, stencil_is_right(result, floats, SIDE));
  best = run("matmul", MATRIX, MATRIX, 16, 16, MATRIX, (cl_mem[]){x, b, y}, 3);
  fetch(y, MATRIX * MATRIX * sizeof(float));
  report(who, "matmul", best, product_is_right(result, floats, floats + MATRIX * MATRIX, MATRIX));
  best = run("transpose", SIDE, SIDE / 4, 32, 8, SIDE, (cl_mem[]){x, y}, 2);
  fetch(y, COUNT * sizeof(float));
  report(who, "transpose", best, transpose_is_right(result, floats, SIDE));
  best = run("reduce_barriers", COUNT, 1, BLOCK, 1, COUNT, (cl_mem[]){x, y}, 2);
  fetch(y, COUNT / BLOCK * sizeof(float));
  report(who, "reduce_barriers", best, sum_is_right(result, COUNT / BLOCK, floats, COUNT));
  best = run("histogram", HISTOGRAM_BLOCKS * BLOCK, 1, BLOCK, 1, COUNT, (cl_mem[]){v, counts}, 2);
  fetch(counts, 256 * sizeof(int));
  report(who, "histogram", best, counts_are_right((unsigned int *)result, values, COUNT, RUNS));
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  floats = malloc(COUNT * sizeof *floats);
  values = malloc(COUNT * sizeof *values);
  result = malloc(COUNT * sizeof *result);
  if (floats == NULL || values == NULL || result == NULL)
    return 1;
  fill_floats(floats, COUNT);
  fill_values(values, COUNT);
  open_device();
  build(argv[2]);
  time_all(argv[1]);
  return 0;
}
