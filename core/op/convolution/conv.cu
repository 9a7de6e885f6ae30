// SPDX-License-Identifier: MIT
// F.conv2d and its gradients on CUDA: matrix products of cuBLAS over columns (im2col), or, when it is asked for, over columns that
// are never written (conv_implicit.cuh). The images are taken in chunks, so that the columns fit into a bounded workspace. No
// atomics: results are the same in every run.
#include "op/convolution/conv_cudnn.cuh"
#include "op/convolution/conv_implicit.cuh"
#include "op/product/cublas_gemm.cuh"

enum { COLUMNS_BYTES = 128 << 20 };

// ---- columns -------------------------------------------------------------------------------------------------------------

// columns (n, c, kh, kw, oh, ow) from images (n, c, h, w). A thread writes all taps of one output position of one channel,
// so that neighboring threads read and write neighboring elements. I is the type of indices.
template <class T, class I> __global__ void im2col(T *columns, const T *images, FyConvShape s, int64_t n) {
  const I area = (I)(s.oh * s.ow), ow = (I)s.ow;
  FY_GRID_STRIDE(index, n) {
    const I plane = (I)index / area, position = (I)index % area;
    const int64_t top = (int64_t)(position / ow) * s.stride - s.padding;
    const int64_t left = (int64_t)(position % ow) * s.stride - s.padding;
    const T *image = images + (int64_t)plane * s.h * s.w;
    T *to = columns + (int64_t)plane * s.kh * s.kw * area + position;
    for (int64_t i = 0; i < s.kh; i++) {
      const int64_t y = top + i * s.dilation;
      for (int64_t j = 0; j < s.kw; j++) {
        const int64_t x = left + j * s.dilation;
        const bool inside = y >= 0 && y < s.h && x >= 0 && x < s.w;
        *to = inside ? image[y * s.w + x] : fy_cast<T>(0.0f);
        to += area;
      }
    }
  }
}

// images (n, c, h, w) from columns: a thread gathers the taps that met its pixel.
template <class T, class I> __global__ void col2im(T *images, const T *columns, FyConvShape s, int64_t n) {
  const I pixels = (I)(s.h * s.w), width = (I)s.w;
  const int64_t area = s.oh * s.ow;
  FY_GRID_STRIDE(index, n) {
    const I plane = (I)index / pixels, pixel = (I)index % pixels;
    const int y = (int)(pixel / width), x = (int)(pixel % width), stride = (int)s.stride;
    const T *from = columns + (int64_t)plane * s.kh * s.kw * area;
    typename FyMath<T>::type sum = 0;
    for (int i = 0; i < (int)s.kh; i++) {
      const int top = y + (int)s.padding - i * (int)s.dilation, oy = top / stride;
      if (top < 0 || top % stride != 0 || oy >= (int)s.oh)
        continue;
      for (int j = 0; j < (int)s.kw; j++) {
        const int left = x + (int)s.padding - j * (int)s.dilation, ox = left / stride;
        if (left >= 0 && left % stride == 0 && ox < (int)s.ow)
          sum += fy_load(from + (i * s.kw + j) * area + oy * s.ow + ox);
      }
    }
    fy_store(images + index, sum);
  }
}

static int run_im2col(FyLaunch *l, int dtype, const FyConvShape *s, int64_t images, void *columns, const void *from) {
  const int64_t n = images * s->c * s->oh * s->ow;
  FY_SWITCH_FLOATING(dtype, T, {
    if (n <= INT32_MAX)
      im2col<T, uint32_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)columns, (const T *)from, *s, n);
    else
      im2col<T, int64_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)columns, (const T *)from, *s, n);
  });
  return (int)cudaGetLastError();
}

static int run_col2im(FyLaunch *l, int dtype, const FyConvShape *s, int64_t images, void *to, const void *columns) {
  const int64_t n = images * s->c * s->h * s->w;
  FY_SWITCH_FLOATING(dtype, T, {
    if (n <= INT32_MAX)
      col2im<T, uint32_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)to, (const T *)columns, *s, n);
    else
      col2im<T, int64_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)to, (const T *)columns, *s, n);
  });
  return (int)cudaGetLastError();
}

// ---- products --------------------------------------------------------------------------------------------------------------

// A matrix for each image and group, with the distance in elements from one to the next.
typedef struct ConvOperand {
  const void *data;
  int64_t per_image, per_group;
} ConvOperand;

// Runs g for every image and group: the longer of the two ranges in one call of cuBLAS, the other in a loop.
static int run_products(FyLaunch *l, FyCudaGemm g, ConvOperand a, ConvOperand b, ConvOperand c, int64_t images,
                        int64_t groups) {
  const int64_t size = (int64_t)fy_dtype_size(g.dtype), c_size = g.c_float ? (int64_t)sizeof(float) : size;
  const bool batch_images = images >= groups;
  const int64_t loops = batch_images ? groups : images;
  g.batches = batch_images ? images : groups;
  g.stride_a = batch_images ? a.per_image : a.per_group;
  g.stride_b = batch_images ? b.per_image : b.per_group;
  g.stride_c = batch_images ? c.per_image : c.per_group;
  for (int64_t i = 0; i < loops; i++) {
    g.a = (const char *)a.data + i * (batch_images ? a.per_group : a.per_image) * size;
    g.b = (const char *)b.data + i * (batch_images ? b.per_group : b.per_image) * size;
    g.c = (char *)c.data + i * (batch_images ? c.per_group : c.per_image) * c_size;
    const int status = fy_cuda_gemm(l, &g);
    if (status != FY_LAUNCH_OK)
      return status;
  }
  return FY_LAUNCH_OK;
}

static FyCudaGemm product(int dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double beta) {
  FyCudaGemm g = {};
  g.dtype = dtype;
  g.trans_a = trans_a;
  g.trans_b = trans_b;
  g.m = m;
  g.n = n;
  g.k = k;
  g.lda = trans_a ? m : k;
  g.ldb = trans_b ? k : n;
  g.ldc = n;
  g.beta = beta;
  return g;
}

// Sizes in elements, and the chunk of images that the workspace holds.
typedef struct ConvSizes {
  int64_t depth, area, image_x, image_out, image_columns, weight, chunk;
  int64_t size; // bytes of an element
} ConvSizes;

static ConvSizes conv_sizes(const FyConvShape *s, int dtype, int64_t extra_bytes) {
  ConvSizes z;
  z.size = (int64_t)fy_dtype_size(dtype);
  z.depth = fy_conv_depth(s);
  z.area = fy_conv_area(s);
  z.image_x = s->c * s->h * s->w;
  z.image_out = s->o * z.area;
  z.image_columns = s->groups * z.depth * z.area;
  z.weight = s->o / s->groups * z.depth; // of a group
  const int64_t bytes = z.image_columns * z.size + extra_bytes;
  z.chunk = bytes > 0 ? COLUMNS_BYTES / bytes : s->n;
  z.chunk = z.chunk < 1 ? 1 : z.chunk < s->n ? z.chunk : s->n;
  return z;
}

static void *columns_workspace(FyLaunch *l, const ConvSizes *z) {
  return l->workspace(l, (size_t)(z->chunk * z->image_columns * z->size) + 1);
}

static const void *offset(const void *data, int64_t elements, const ConvSizes *z) {
  return (const char *)data + elements * z->size;
}

static int algorithm_of(const FyLaunch *l) {
  return ((const FyConv2dParams *)l->params)->algorithm;
}

static bool asks_for_implicit(const FyLaunch *l) {
  return algorithm_of(l) == FY_CONV_IMPLICIT_GEMM;
}

static bool asks_for_cudnn(const FyLaunch *l) {
  return algorithm_of(l) >= FY_CONV_CUDNN;
}

// Which the rule always takes.
static bool asks_for_explicit(const FyLaunch *l) {
  return algorithm_of(l) == FY_CONV_BY_RULE || algorithm_of(l) == FY_CONV_EXPLICIT_GEMM;
}

static int run_cudnn(FyLaunch *l, FyCudnnPass pass, const FyConvShape *s, int dtype, const void *x, const void *weight,
                     const void *y, bool add) {
  const FyCudnnArrays arrays = {(void *)x, (void *)weight, (void *)y, add};
  return fy_cudnn_conv(l, pass, algorithm_of(l) - FY_CONV_CUDNN, s, dtype, &arrays);
}

// ---- forward -----------------------------------------------------------------------------------------------------------------

template <class T> __global__ void fill_channels(T *out, const T *bias, int64_t channels, int64_t area, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    out[i] = bias[i / area % channels];
  }
}

extern "C" int fy_cuda_conv2d(FyLaunch *l) {
  const FyArray *x = l->in[0], *weight = l->in[1], *bias = l->in[2];
  FyArray *out = l->out[0];
  const FyConvShape s = fy_conv_shape((const FyConv2dParams *)l->params, x->shape, weight->shape);
  const ConvSizes z = conv_sizes(&s, x->dtype, 0);
  const bool pointwise = fy_conv_is_pointwise(&s);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  if (asks_for_implicit(l))
    return fy_implicit_conv<FyConvForward>(l, s, out, weight->data, x->data, bias ? bias->data : NULL);
  if (!asks_for_explicit(l) && !asks_for_cudnn(l))
    return FY_LAUNCH_NO_KERNEL;
  void *columns = pointwise || asks_for_cudnn(l) ? NULL : columns_workspace(l, &z);
  if (!pointwise && !asks_for_cudnn(l) && !columns)
    return FY_LAUNCH_NO_MEMORY;
  if (bias)
    FY_SWITCH_FLOATING(out->dtype, T, {
      fill_channels<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (const T *)bias->data,
                                                                                s.o, z.area, out->numel);
    });
  if (asks_for_cudnn(l))
    return run_cudnn(l, FY_CUDNN_FORWARD, &s, x->dtype, x->data, weight->data, out->data, bias != NULL);
  const FyCudaGemm g = product(x->dtype, false, false, s.o / s.groups, z.area, z.depth, bias ? 1 : 0);
  for (int64_t i = 0; i < s.n; i += z.chunk) {
    const int64_t images = s.n - i < z.chunk ? s.n - i : z.chunk;
    const void *from = offset(x->data, i * z.image_x, &z);
    int status = pointwise ? FY_LAUNCH_OK : run_im2col(l, x->dtype, &s, images, columns, from);
    const ConvOperand a = {weight->data, 0, z.weight};
    const ConvOperand b = {pointwise ? from : columns, z.image_columns, z.depth * z.area};
    const ConvOperand c = {offset(out->data, i * z.image_out, &z), z.image_out, s.o / s.groups * z.area};
    if (status == FY_LAUNCH_OK)
      status = run_products(l, g, a, b, c, images, s.groups);
    if (status != FY_LAUNCH_OK)
      return status;
  }
  return (int)cudaGetLastError();
}

// ---- backward ----------------------------------------------------------------------------------------------------------------

extern "C" int fy_cuda_conv2d_backward_input(FyLaunch *l) {
  const FyArray *grad = l->in[0], *weight = l->in[1];
  FyArray *out = l->out[0];
  const FyConvShape s = fy_conv_shape((const FyConv2dParams *)l->params, out->shape, weight->shape);
  const ConvSizes z = conv_sizes(&s, out->dtype, 0);
  const bool pointwise = fy_conv_is_pointwise(&s);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  if (asks_for_implicit(l))
    return fy_implicit_conv<FyConvBackwardInput>(l, s, out, weight->data, grad->data, NULL);
  if (!asks_for_explicit(l) && !asks_for_cudnn(l))
    return FY_LAUNCH_NO_KERNEL;
  if (asks_for_cudnn(l))
    return run_cudnn(l, FY_CUDNN_BACKWARD_INPUT, &s, out->dtype, out->data, weight->data, grad->data, false);
  void *columns = pointwise ? NULL : columns_workspace(l, &z);
  if (!pointwise && !columns)
    return FY_LAUNCH_NO_MEMORY;
  const FyCudaGemm g = product(out->dtype, true, false, z.depth, z.area, s.o / s.groups, 0);
  for (int64_t i = 0; i < s.n; i += z.chunk) {
    const int64_t images = s.n - i < z.chunk ? s.n - i : z.chunk;
    void *to = (void *)offset(out->data, i * z.image_x, &z);
    const ConvOperand a = {weight->data, 0, z.weight};
    const ConvOperand b = {offset(grad->data, i * z.image_out, &z), z.image_out, s.o / s.groups * z.area};
    const ConvOperand c = {pointwise ? to : columns, z.image_columns, z.depth * z.area};
    int status = run_products(l, g, a, b, c, images, s.groups);
    if (status == FY_LAUNCH_OK && !pointwise)
      status = run_col2im(l, out->dtype, &s, images, to, columns);
    if (status != FY_LAUNCH_OK)
      return status;
  }
  return (int)cudaGetLastError();
}

// total (count) = [total +] the sum of parts (n, count); out = total in the weight's own type, once the last chunk is in.
template <class T, class X>
__global__ void sum_images(T *out, X *total, const X *parts, int64_t n, int64_t count, bool first) {
  FY_GRID_STRIDE(i, count) {
    X sum = first ? (X)0 : total[i];
    for (int64_t p = 0; p < n; p++)
      sum += parts[p * count + i];
    total[i] = sum;
    fy_store(out + i, sum);
  }
}

// Each image's own gradient by a batched product, then their sum: enough parallel work, and a fixed order of summation.
extern "C" int fy_cuda_conv2d_backward_weight(FyLaunch *l) {
  const FyArray *grad = l->in[0], *x = l->in[1];
  FyArray *out = l->out[0];
  const FyConvShape s = fy_conv_shape((const FyConv2dParams *)l->params, x->shape, out->shape);
  const bool pointwise = fy_conv_is_pointwise(&s), half = out->dtype == FY_FLOAT16 || out->dtype == FY_BFLOAT16;
  const int64_t sum_size = out->dtype == FY_FLOAT64 ? 8 : 4;
  const ConvSizes z = conv_sizes(&s, out->dtype, out->numel * sum_size);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  if (grad->numel == 0)
    return (int)cudaMemsetAsync(out->data, 0, (size_t)(out->numel * z.size), fy_stream(l));
  if (asks_for_implicit(l))
    return fy_implicit_conv<FyConvBackwardWeight>(l, s, out, grad->data, x->data, NULL);
  if (!asks_for_explicit(l) && !asks_for_cudnn(l))
    return FY_LAUNCH_NO_KERNEL;
  if (asks_for_cudnn(l))
    return run_cudnn(l, FY_CUDNN_BACKWARD_WEIGHT, &s, out->dtype, x->data, out->data, grad->data, false);
  void *columns = pointwise ? NULL : columns_workspace(l, &z);
  void *parts = l->workspace(l, (size_t)(z.chunk * out->numel * sum_size));
  void *total = l->workspace(l, (size_t)(out->numel * sum_size));
  if ((!pointwise && !columns) || !parts || !total)
    return FY_LAUNCH_NO_MEMORY;
  FyCudaGemm g = product(out->dtype, false, true, s.o / s.groups, z.depth, z.area, 0);
  g.c_float = half;
  for (int64_t i = 0; i < s.n; i += z.chunk) {
    const int64_t images = s.n - i < z.chunk ? s.n - i : z.chunk;
    const void *from = offset(x->data, i * z.image_x, &z);
    int status = pointwise ? FY_LAUNCH_OK : run_im2col(l, x->dtype, &s, images, columns, from);
    const ConvOperand a = {offset(grad->data, i * z.image_out, &z), z.image_out, s.o / s.groups * z.area};
    const ConvOperand b = {pointwise ? from : columns, z.image_columns, z.depth * z.area};
    const ConvOperand c = {parts, out->numel, z.weight};
    if (status == FY_LAUNCH_OK)
      status = run_products(l, g, a, b, c, images, s.groups);
    if (status != FY_LAUNCH_OK)
      return status;
    FY_SWITCH_FLOATING(out->dtype, T, {
      typedef typename FyMath<T>::type X;
      sum_images<T, X><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>(
          (T *)out->data, (X *)total, (const X *)parts, images, out->numel, i == 0);
    });
  }
  return (int)cudaGetLastError();
}
