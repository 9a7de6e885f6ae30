// SPDX-License-Identifier: MIT
// Arrays, their copies, and the objects by which kernels read and write them: types and functions of the host, valid in C and in
// C++. Names and values are CUDA's. What a kernel calls is in cudasim_texture.h.
#ifndef CUDASIM_ARRAY_H
#define CUDASIM_ARRAY_H

#include "cudasim_abi.h"
#include "driver_types.h"

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3
};

struct cudaChannelFormatDesc {
  int x, y, z, w; // bits of each channel
  enum cudaChannelFormatKind f;
};

struct cudaExtent {
  size_t width, height, depth;
};

struct cudaPos {
  size_t x, y, z;
};

struct cudaPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
};

typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;

#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08

struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};

enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
enum cudaSurfaceFormatMode { cudaFormatModeForced = 0, cudaFormatModeAuto = 1 };
enum cudaResourceType {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3
};

struct cudaResourceDesc {
  enum cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      cudaMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void *devPtr;
      struct cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void *devPtr;
      struct cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};

struct cudaTextureDesc {
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int seamlessCubemap;
};

struct cudaResourceViewDesc {
  int format;
  size_t width, height, depth;
  unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

// Not CUDA's: what a texture or surface object points to. The bytes are device memory.
enum { CUDASIM_MIPMAP_LEVELS = 16 };
struct cudasim_image {
  char *data;
  size_t pitch, slice;               // bytes from row to row, and from one depth, layer or face to the next
  unsigned int width, height, depth; // in elements; height and depth are at least 1; depth counts layers and faces, too
  struct cudaChannelFormatDesc format;
  unsigned int bytes, channels; // of an element
};
struct cudasim_texture {
  struct cudasim_image levels[CUDASIM_MIPMAP_LEVELS];
  int level_count;
  struct cudaTextureDesc desc;
  struct cudaResourceDesc resource;
};

CUDASIM_BEGIN_C

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
    CUDASIM_SYMBOL(cudaCreateChannelDesc);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
    CUDASIM_SYMBOL(cudaGetChannelDesc);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width,
                            size_t height CUDASIM_DEFAULT(0), unsigned int flags CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMallocArray);
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMalloc3DArray);
cudaError_t cudaFreeArray(cudaArray_t array) CUDASIM_SYMBOL(cudaFreeArray);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array) CUDASIM_SYMBOL(cudaArrayGetInfo);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int levels,
                                     unsigned int flags CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMallocMipmappedArray);
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level, cudaMipmappedArray_const_t array, unsigned int index)
    CUDASIM_SYMBOL(cudaGetMipmappedArrayLevel);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) CUDASIM_SYMBOL(cudaFreeMipmappedArray);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent) CUDASIM_SYMBOL(cudaMalloc3D);

// Offsets in x and widths are bytes, as CUDA has them; a copy of several slices is one copy for each.
cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpy2DToArray);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpy2DToArrayAsync);
cudaError_t cudaMemcpy2DFromArray(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpy2DFromArray);
cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpy2DFromArrayAsync);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
                                     size_t src_y, size_t width, size_t height,
                                     enum cudaMemcpyKind kind CUDASIM_DEFAULT(cudaMemcpyDeviceToDevice))
    CUDASIM_SYMBOL(cudaMemcpy2DArrayToArray);
cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes,
                              enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpyToArray);
cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                enum cudaMemcpyKind kind) CUDASIM_SYMBOL(cudaMemcpyFromArray);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) CUDASIM_SYMBOL(cudaMemcpy3D);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream CUDASIM_DEFAULT(0))
    CUDASIM_SYMBOL(cudaMemcpy3DAsync);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
    CUDASIM_SYMBOL(cudaMemset3D);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream CUDASIM_DEFAULT(0)) CUDASIM_SYMBOL(cudaMemset3DAsync);

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
    CUDASIM_SYMBOL(cudaCreateTextureObject);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) CUDASIM_SYMBOL(cudaDestroyTextureObject);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *desc, cudaTextureObject_t object)
    CUDASIM_SYMBOL(cudaGetTextureObjectResourceDesc);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *desc, cudaTextureObject_t object)
    CUDASIM_SYMBOL(cudaGetTextureObjectTextureDesc);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
    CUDASIM_SYMBOL(cudaCreateSurfaceObject);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) CUDASIM_SYMBOL(cudaDestroySurfaceObject);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *desc, cudaSurfaceObject_t object)
    CUDASIM_SYMBOL(cudaGetSurfaceObjectResourceDesc);

CUDASIM_END_C

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  struct cudaExtent extent = {width, height, depth};
  return extent;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos position = {x, y, z};
  return position;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t xsize, size_t ysize) {
  struct cudaPitchedPtr pitched = {pointer, pitch, xsize, ysize};
  return pitched;
}

#endif
