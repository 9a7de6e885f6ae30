// Arrays, texture objects (address modes, filters, normalized integers, layers, cubes), surfaces, copies of three dimensions.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>

static int failed;
static void expect(const char *what, bool good) {
  if (!good) {
    printf("FAIL %s\n", what);
    failed = 1;
  }
}

__global__ void read_2d(cudaTextureObject_t t, const float2 *where, float *result, int n) {
  int i = threadIdx.x;
  if (i < n)
    result[i] = tex2D<float>(t, where[i].x, where[i].y);
}
__global__ void read_bytes(cudaTextureObject_t t, float4 *result) {
  result[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x);
}
__global__ void read_layers(cudaTextureObject_t t, int *result) {
  result[threadIdx.x] = tex2DLayered<int>(t, 1.5f, 0.5f, threadIdx.x);
}
__global__ void read_cube(cudaTextureObject_t t, float *result) {
  const float d[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  const float *v = d[threadIdx.x];
  result[threadIdx.x] = texCubemap<float>(t, v[0], v[1] + 0.1f * (v[1] == 0), v[2]);
}
__global__ void read_3d(cudaTextureObject_t t, float *result) {
  *result = tex3D<float>(t, 1.0f, 1.0f, 1.0f);
}
__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  uchar4 pixel;
  surf2Dread(&pixel, from, threadIdx.x * 4, threadIdx.y);
  pixel.w = surf2Dread<uchar4>(from, -4, 0, cudaBoundaryModeZero).x + 1;
  surf2Dwrite(pixel, to, threadIdx.y * 4, threadIdx.x);
}
__global__ void outside(cudaSurfaceObject_t to) {
  surf2Dwrite(uchar4{}, to, 400, 0);
}

static cudaTextureObject_t bind(cudaArray_t array, cudaTextureAddressMode address, cudaTextureFilterMode filter,
                                int normalized) {
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = address;
  texture.filterMode = filter;
  texture.normalizedCoords = normalized;
  texture.borderColor[0] = 9;
  cudaTextureObject_t object = 0;
  expect("a texture object", cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
  return object;
}

static float2 *places;
static float *result;
static float at(cudaTextureObject_t t, float x, float y) {
  *places = make_float2(x, y);
  read_2d<<<1, 1>>>(t, places, result, 1);
  cudaDeviceSynchronize();
  return *result;
}

static void planes() {
  const float h[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}};
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, 4, 2);
  expect("a copy to an array", cudaMemcpy2DToArray(array, 0, 0, h, 16, 16, 2, cudaMemcpyHostToDevice) == cudaSuccess);
  expect("a copy beyond it",
         cudaMemcpy2DToArray(array, 4, 0, h, 16, 16, 2, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaTextureObject_t point = bind(array, cudaAddressModeClamp, cudaFilterModePoint, 0);
  expect("an element", at(point, 2.9f, 1.2f) == 12);
  expect("clamped", at(point, -5, 7) == 10 && at(point, 1e30f, 0) == 3);
  cudaTextureObject_t smooth = bind(array, cudaAddressModeClamp, cudaFilterModeLinear, 0);
  expect("between four", at(smooth, 2.0f, 1.0f) == 6.5f);
  expect("eight bits of weight",
         at(smooth, 0.5f + 1.0f / 1024, 0.5f) == 0 && at(smooth, 0.5f + 3.0f / 512, 0.5f) == 2.0f / 256);
  cudaTextureObject_t wrap = bind(array, cudaAddressModeWrap, cudaFilterModePoint, 1);
  expect("wrapped", at(wrap, 1.3f, 0) == 1 && at(wrap, -0.1f, 0) == 3);
  cudaTextureObject_t mirror = bind(array, cudaAddressModeMirror, cudaFilterModePoint, 1);
  expect("mirrored", at(mirror, 1.1f, 0) == 3 && at(mirror, -0.3f, 0) == 1);
  cudaTextureObject_t border = bind(array, cudaAddressModeBorder, cudaFilterModePoint, 0);
  expect("the border", at(border, -1, 0) == 9 && at(border, 0, 0) == 0);
  float back[4];
  cudaMemcpy2DFromArray(back, 8, array, 8, 0, 8, 2, cudaMemcpyDeviceToHost);
  expect("a copy from an array", back[0] == 2 && back[3] == 13);
  for (cudaTextureObject_t t : {point, smooth, wrap, mirror, border})
    expect("its end", cudaDestroyTextureObject(t) == cudaSuccess);
  cudaFreeArray(array);
}

static void linear_memory() {
  unsigned char h[8] = {0, 51, 102, 255, 255, 0, 0, 0};
  unsigned char *d;
  float4 *values;
  cudaMalloc(&d, sizeof h);
  cudaMallocManaged(&values, 3 * sizeof *values);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = d;
  resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.linear.sizeInBytes = sizeof h;
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t object;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  read_bytes<<<1, 3>>>(object, values);
  cudaDeviceSynchronize();
  expect("normalized bytes", fabsf(values[0].y - 0.2f) < 1e-6f && values[0].w == 1 && values[1].x == 1);
  expect("beyond the last element", values[2].x == 0 && values[2].w == 0);
  texture.readMode = cudaReadModeElementType;
  texture.filterMode = cudaFilterModeLinear;
  expect("integers are not filtered",
         cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaErrorInvalidValue);
}

static void slices() {
  int h[3][2][2];
  for (int i = 0; i < 12; i++)
    (&h[0][0][0])[i] = i;
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
  cudaMalloc3DArray(&array, &format, make_cudaExtent(2, 2, 3), cudaArrayLayered);
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(h, 8, 2, 2);
  p.dstArray = array;
  p.extent = make_cudaExtent(2, 2, 3);
  p.kind = cudaMemcpyHostToDevice;
  expect("a copy of three slices", cudaMemcpy3D(&p) == cudaSuccess);
  p.dstPos.z = 1;
  expect("one slice too many", cudaMemcpy3D(&p) == cudaErrorInvalidValue);
  cudaTextureObject_t layers = bind(array, cudaAddressModeClamp, cudaFilterModePoint, 0);
  int *numbers;
  cudaMallocManaged(&numbers, 12);
  read_layers<<<1, 3>>>(layers, numbers);
  cudaDeviceSynchronize();
  expect("layers", numbers[0] == 1 && numbers[1] == 5 && numbers[2] == 9);
  float f[8] = {0, 8, 0, 8, 16, 8, 0, 8};
  cudaArray_t volume;
  format = cudaCreateChannelDesc<float>();
  cudaMalloc3DArray(&volume, &format, make_cudaExtent(2, 2, 2));
  cudaPitchedPtr pitched;
  cudaMalloc3D(&pitched, make_cudaExtent(8, 2, 2));
  cudaMemcpy3DParms in = {}, on = {};
  in.srcPtr = make_cudaPitchedPtr(f, 8, 8, 2);
  in.dstPtr = pitched;
  in.extent = make_cudaExtent(8, 2, 2);
  in.kind = cudaMemcpyHostToDevice;
  on.srcPtr = pitched;
  on.dstArray = volume;
  on.extent = make_cudaExtent(2, 2, 2);
  on.kind = cudaMemcpyDeviceToDevice;
  expect("copies of a volume", cudaMemcpy3D(&in) == cudaSuccess && cudaMemcpy3D(&on) == cudaSuccess);
  cudaTextureObject_t smooth = bind(volume, cudaAddressModeClamp, cudaFilterModeLinear, 0);
  read_3d<<<1, 1>>>(smooth, result);
  cudaDeviceSynchronize();
  expect("between eight", *result == 6);
}

static void cube() {
  float h[6] = {1, 2, 3, 4, 5, 6};
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMalloc3DArray(&array, &format, make_cudaExtent(1, 1, 6), cudaArrayCubemap);
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(h, 4, 1, 1);
  p.dstArray = array;
  p.extent = make_cudaExtent(1, 1, 6);
  p.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&p);
  read_cube<<<1, 6>>>(bind(array, cudaAddressModeWrap, cudaFilterModeLinear, 1), result);
  cudaDeviceSynchronize();
  expect("the faces of a cube", memcmp(result, h, sizeof h) == 0);
}

static void surfaces() {
  uchar4 h[2][2] = {{{1, 2, 3, 4}, {5, 6, 7, 8}}, {{9, 0, 0, 0}, {13, 0, 0, 0}}}, back[2][2];
  cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t from, to;
  cudaMallocArray(&from, &format, 2, 2, cudaArraySurfaceLoadStore);
  cudaMallocArray(&to, &format, 2, 2, cudaArraySurfaceLoadStore);
  cudaMemcpyToArray(from, 0, 0, h, sizeof h, cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  cudaSurfaceObject_t in, out;
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = from;
  cudaCreateSurfaceObject(&in, &resource);
  resource.res.array.array = to;
  cudaCreateSurfaceObject(&out, &resource);
  turn<<<1, dim3(2, 2)>>>(in, out);
  cudaMemcpyFromArray(back, to, 0, 0, sizeof back, cudaMemcpyDeviceToHost);
  expect("a surface turned", back[0][1].x == 9 && back[1][0].x == 5 && back[1][1].x == 13 && back[0][0].y == 2);
  expect("zero outside", back[0][0].w == 1);
  outside<<<1, 1>>>(out);
  expect("a trap outside", cudaDeviceSynchronize() != cudaSuccess);
}

int main() {
  cudaMallocManaged(&places, sizeof *places);
  cudaMallocManaged(&result, 6 * sizeof *result);
  planes();
  linear_memory();
  slices();
  cube();
  surfaces();
  puts(failed ? "FAIL" : "PASS");
  return failed;
}
