// SPDX-License-Identifier: MIT
// Arrays, mipmapped arrays, texture and surface objects. An array's bytes are device memory, row by row, so its copies are the
// copies of copy.c; an object is a description that kernels read (cudasim_texture.h).
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cudasim_array.h"
#include "sim/base/sim.h"

struct cudaArray {
  struct cudasim_image image;
  struct cudaExtent extent; // as it was asked for
  unsigned int flags;
};

struct cudaMipmappedArray {
  cudaArray_t levels[CUDASIM_MIPMAP_LEVELS];
  unsigned int count;
};

// ---- elements ----

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f) {
  return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

// 1, 2 or 4 channels of 8, 16 or 32 bits; floating point in 16 or 32.
static bool describe(struct cudasim_image *image, const struct cudaChannelFormatDesc *desc) {
  const int bits[4] = {desc->x, desc->y, desc->z, desc->w};
  unsigned int channels = 0;
  while (channels < 4 && bits[channels] > 0)
    channels++;
  for (unsigned int i = 0; i < 4; i++)
    if (bits[i] != (i < channels ? bits[0] : 0))
      return false;
  const bool width = bits[0] == 8 || bits[0] == 16 || bits[0] == 32;
  if (channels == 0 || channels == 3 || !width || desc->f < 0 || desc->f > cudaChannelFormatKindFloat ||
      (desc->f == cudaChannelFormatKindFloat && bits[0] == 8))
    return false;
  image->format = *desc;
  image->channels = channels;
  image->bytes = channels * (unsigned int)bits[0] / 8;
  return true;
}

// ---- arrays ----

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags) {
  SIM_TRY(sim_enter());
  SIM_TRY(
      sim_known_flags(flags, cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather));
  struct cudasim_image image = {0};
  const bool cube = flags & cudaArrayCubemap, layered = flags & cudaArrayLayered;
  enum { MOST = 131072 }; // elements on a side, as on a GPU
  if (array == NULL || desc == NULL || extent.width == 0 || !describe(&image, desc) || extent.width > MOST ||
      extent.height > MOST || extent.depth > MOST || (extent.height == 0 && extent.depth > 0 && !layered))
    return sim_fail(cudaErrorInvalidValue);
  if (cube && (extent.width != extent.height || (layered ? extent.depth % 6 != 0 : extent.depth != 6)))
    return sim_fail(cudaErrorInvalidValue);
  image.width = (unsigned int)extent.width;
  image.height = extent.height ? (unsigned int)extent.height : 1;
  image.depth = extent.depth ? (unsigned int)extent.depth : 1;
  image.pitch = (size_t)image.width * image.bytes;
  image.slice = image.pitch * image.height;
  void *data;
  SIM_TRY(cudaMalloc(&data, image.slice * image.depth));
  image.data = data;
  *array = sim_allocate(sizeof **array);
  **array = (struct cudaArray){.image = image, .extent = extent, .flags = flags};
  return cudaSuccess;
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned int flags) {
  return cudaMalloc3DArray(array, desc, make_cudaExtent(width, height, 0), flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == NULL)
    return cudaSuccess;
  cudaError_t error = cudaFree(array->image.data);
  free(array);
  return error;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array) {
  if (array == NULL)
    return sim_fail(cudaErrorInvalidResourceHandle);
  if (desc)
    *desc = array->image.format;
  if (extent)
    *extent = array->extent;
  if (flags)
    *flags = array->flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array) {
  if (array == NULL || desc == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *desc = array->image.format;
  return cudaSuccess;
}

static size_t halved(size_t size, unsigned int level, bool keep) {
  return size == 0 || keep ? size : size >> level ? size >> level : 1;
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int levels, unsigned int flags) {
  SIM_TRY(sim_enter());
  if (array == NULL || levels == 0)
    return sim_fail(cudaErrorInvalidValue);
  struct cudaMipmappedArray *made = sim_allocate(sizeof *made);
  made->count = 0;
  const bool keep = flags & (cudaArrayLayered | cudaArrayCubemap);
  while (made->count < levels && made->count < CUDASIM_MIPMAP_LEVELS) {
    const unsigned int level = made->count;
    if (level > 0 && !((extent.width | extent.height | (keep ? 0 : extent.depth)) >> level))
      break; // the level before it has one element
    const struct cudaExtent size = {halved(extent.width, level, false), halved(extent.height, level, false),
                                    halved(extent.depth, level, keep)};
    cudaError_t error = cudaMalloc3DArray(&made->levels[level], desc, size, flags);
    if (error != cudaSuccess) {
      cudaFreeMipmappedArray(made);
      return error;
    }
    made->count++;
  }
  *array = made;
  return cudaSuccess;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned int index) {
  if (level == NULL || array == NULL || index >= array->count)
    return sim_fail(cudaErrorInvalidValue);
  *level = array->levels[index];
  return cudaSuccess;
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  cudaError_t error = cudaSuccess;
  for (unsigned int i = 0; array && i < array->count; i++)
    error = cudaFreeArray(array->levels[i]);
  free(array);
  return error;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent) {
  if (pointer == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *pointer = make_cudaPitchedPtr(NULL, 0, extent.width, extent.height);
  size_t rows;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return sim_fail(cudaErrorMemoryAllocation);
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, rows);
}

// ---- copies ----

// Whether `count` from `first` on are within `size`.
static bool fits(size_t first, size_t count, size_t size) {
  return first <= size && count <= size - first;
}

static bool within(const struct cudasim_image *image, size_t x, size_t y, size_t bytes, size_t rows) {
  return fits(x, bytes, image->pitch) && fits(y, rows, image->height);
}

static char *address_in(const struct cudasim_image *image, size_t x_bytes, size_t y) {
  return image->data + y * image->pitch + x_bytes;
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (dst == NULL || !within(&dst->image, x, y, width, height))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(address_in(&dst->image, x, y), dst->image.pitch, src, pitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
  if (dst == NULL || !within(&dst->image, x, y, width, height))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(address_in(&dst->image, x, y), dst->image.pitch, src, pitch, width, height, kind);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (src == NULL || !within(&src->image, x, y, width, height))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy2DAsync(dst, pitch, address_in(&src->image, x, y), src->image.pitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
  if (src == NULL || !within(&src->image, x, y, width, height))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy2D(dst, pitch, address_in(&src->image, x, y), src->image.pitch, width, height, kind);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
                                     size_t src_y, size_t width, size_t height, enum cudaMemcpyKind kind) {
  if (src == NULL || !within(&src->image, src_x, src_y, width, height))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy2DToArray(dst, dst_x, dst_y, address_in(&src->image, src_x, src_y), src->image.pitch, width, height,
                             kind);
}

// Rows of an array follow one another without gaps: bytes that run over a row's end go on in the next.
static bool bytes_within(const struct cudasim_image *image, size_t x, size_t y, size_t bytes) {
  return x <= image->pitch && y <= image->height && fits(y * image->pitch + x, bytes, image->slice);
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes,
                              enum cudaMemcpyKind kind) {
  if (dst == NULL || !bytes_within(&dst->image, x, y, bytes))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy(address_in(&dst->image, x, y), src, bytes, kind);
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind) {
  if (src == NULL || !bytes_within(&src->image, x, y, bytes))
    return sim_fail(cudaErrorInvalidValue);
  return cudaMemcpy(dst, address_in(&src->image, x, y), bytes, kind);
}

// One side of a copy of slices: where it begins, and the bytes from row to row and from slice to slice.
struct side {
  char *begin;
  size_t pitch, slice;
};

// False when the copy leaves an array, or the last slice of a pointer's memory begins where no address is.
static bool side_of(cudaArray_const_t array, const struct cudaPitchedPtr *pointer, const struct cudaPos *position,
                    const struct cudaExtent *extent, struct side *side) {
  if (array == NULL) {
    size_t slices, bytes;
    *side = (struct side){pointer->ptr, pointer->pitch, 0};
    if (__builtin_mul_overflow(pointer->pitch, pointer->ysize, &side->slice) ||
        __builtin_add_overflow(position->z, extent->depth, &slices) ||
        __builtin_mul_overflow(slices, side->slice, &bytes))
      return false;
    side->begin += position->z * side->slice + position->y * side->pitch + position->x;
    return true;
  }
  const struct cudasim_image *image = &array->image;
  *side = (struct side){image->data, image->pitch, image->slice};
  side->begin += position->z * side->slice + position->y * side->pitch + position->x * image->bytes;
  return fits(position->x, extent->width, image->width) && fits(position->y, extent->height, image->height) &&
         fits(position->z, extent->depth, image->depth);
}

static cudaError_t copy_slices(const struct cudaMemcpy3DParms *p, bool wait, cudaStream_t stream) {
  struct side from, to;
  const cudaArray_const_t array = p ? (p->srcArray ? p->srcArray : p->dstArray) : NULL;
  if (p == NULL || (p->srcArray == NULL) == (p->srcPtr.ptr == NULL) ||
      (p->dstArray == NULL) == (p->dstPtr.ptr == NULL) ||
      !side_of(p->srcArray, &p->srcPtr, &p->srcPos, &p->extent, &from) ||
      !side_of(p->dstArray, &p->dstPtr, &p->dstPos, &p->extent, &to))
    return sim_fail(cudaErrorInvalidValue);
  const size_t width = p->extent.width * (array ? array->image.bytes : 1);
  cudaError_t error = cudaSuccess;
  if (width == 0 || p->extent.height == 0)
    return error;
  for (size_t z = 0; z < p->extent.depth && error == cudaSuccess; z++) {
    char *dst = to.begin + z * to.slice;
    const char *src = from.begin + z * from.slice;
    error = wait ? cudaMemcpy2D(dst, to.pitch, src, from.pitch, width, p->extent.height, p->kind)
                 : cudaMemcpy2DAsync(dst, to.pitch, src, from.pitch, width, p->extent.height, p->kind, stream);
  }
  return error;
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  return copy_slices(p, true, NULL);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  return copy_slices(p, false, stream);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  size_t slice, bytes;
  if (__builtin_mul_overflow(pointer.pitch, pointer.ysize, &slice) ||
      __builtin_mul_overflow(slice, extent.depth, &bytes))
    return sim_fail(cudaErrorInvalidValue);
  if (extent.width == 0 || extent.height == 0)
    return error;
  for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
    error =
        cudaMemset2DAsync((char *)pointer.ptr + z * slice, pointer.pitch, value, extent.width, extent.height, stream);
  return error;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent) {
  return cudaMemset3DAsync(pointer, value, extent, cudaStreamLegacy);
}

// ---- objects ----

static struct cudasim_image rows(void *data, size_t width, size_t height, size_t pitch) {
  return (struct cudasim_image){.data = data,
                                .pitch = pitch,
                                .slice = pitch * height,
                                .width = (unsigned int)width,
                                .height = (unsigned int)height,
                                .depth = 1};
}

static bool images_of(const struct cudaResourceDesc *resource, struct cudasim_texture *texture) {
  struct cudasim_image *image = &texture->levels[0];
  texture->level_count = 1;
  texture->resource = *resource;
  switch (resource->resType) {
  case cudaResourceTypeArray:
    if (resource->res.array.array)
      *image = resource->res.array.array->image;
    return image->data != NULL;
  case cudaResourceTypeMipmappedArray:
    if (resource->res.mipmap.mipmap == NULL)
      return false;
    texture->level_count = (int)resource->res.mipmap.mipmap->count;
    for (int i = 0; i < texture->level_count; i++)
      texture->levels[i] = resource->res.mipmap.mipmap->levels[i]->image;
    return true;
  case cudaResourceTypeLinear:
    *image = rows(resource->res.linear.devPtr, 0, 1, resource->res.linear.sizeInBytes);
    if (!describe(image, &resource->res.linear.desc))
      return false;
    image->width = (unsigned int)(resource->res.linear.sizeInBytes / image->bytes);
    return image->data != NULL;
  case cudaResourceTypePitch2D:
    *image = rows(resource->res.pitch2D.devPtr, resource->res.pitch2D.width, resource->res.pitch2D.height,
                  resource->res.pitch2D.pitchInBytes);
    return image->data != NULL && describe(image, &resource->res.pitch2D.desc);
  }
  return false;
}

// Floats come of floats and of normalized integers alone, and only they can be averaged.
static bool readable(const struct cudasim_texture *texture) {
  const struct cudaTextureDesc *desc = &texture->desc;
  const struct cudaChannelFormatDesc *format = &texture->levels[0].format;
  const bool real = format->f == cudaChannelFormatKindFloat, normalized = desc->readMode == cudaReadModeNormalizedFloat;
  return (!normalized || real || format->x < 32) && (desc->filterMode == cudaFilterModePoint || real || normalized);
}

static cudaError_t make_object(unsigned long long *object, const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *desc) {
  SIM_TRY(sim_enter());
  if (object == NULL || resource == NULL)
    return sim_fail(cudaErrorInvalidValue);
  struct cudasim_texture *made = sim_allocate(sizeof *made);
  memset(made, 0, sizeof *made);
  if (desc)
    made->desc = *desc;
  if (!images_of(resource, made) || !readable(made)) {
    free(made);
    return sim_fail(cudaErrorInvalidValue);
  }
  *object = (unsigned long long)(uintptr_t)made;
  return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view) {
  if (texture == NULL)
    return sim_fail(cudaErrorInvalidValue);
  if (view || texture->sRGB)
    return sim_fail(cudaErrorNotSupported);
  return make_object(object, resource, texture);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource) {
  if (resource && resource->resType != cudaResourceTypeArray)
    return sim_fail(cudaErrorInvalidValue);
  return make_object(object, resource, NULL);
}

// What kernels that still run read of it has to outlast them.
static cudaError_t destroy_object(unsigned long long object) {
  if (object == 0)
    return cudaSuccess;
  cudaError_t error = cudaDeviceSynchronize();
  free((void *)(uintptr_t)object);
  return error;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return destroy_object(object);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return destroy_object(object);
}

static cudaError_t resource_of(struct cudaResourceDesc *desc, unsigned long long object) {
  if (desc == NULL || object == 0)
    return sim_fail(cudaErrorInvalidValue);
  *desc = ((const struct cudasim_texture *)(uintptr_t)object)->resource;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *desc, cudaTextureObject_t object) {
  return resource_of(desc, object);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *desc, cudaSurfaceObject_t object) {
  return resource_of(desc, object);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *desc, cudaTextureObject_t object) {
  if (desc == NULL || object == 0)
    return sim_fail(cudaErrorInvalidValue);
  *desc = ((const struct cudasim_texture *)(uintptr_t)object)->desc;
  return cudaSuccess;
}
