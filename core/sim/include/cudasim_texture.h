// SPDX-License-Identifier: MIT
// What a kernel reads through texture objects and reads and writes through surface objects. Linear filtering weighs with eight
// bits behind the point, as the CUDA programming guide has it; the rounding of a GPU's sums is its own.
#ifndef CUDASIM_TEXTURE_H
#define CUDASIM_TEXTURE_H

#include <math.h>
#include <type_traits>

#include "cudasim_array.h"
#include "cudasim_half.h"
#include "cudasim_warp.h"

namespace cudasim {

struct texel {
  float c[4];
};

// Coordinates of one dimension: the elements before and after it, their weights; -1: outside, where the border's color is.
struct axis {
  int first, second;
  float weight; // of the second
};

inline const cudasim_texture &texture_of(unsigned long long object) {
  return *reinterpret_cast<const cudasim_texture *>(object);
}

inline int wrapped(const cudasim_texture &t, int dimension, int i, int size) {
  if (i >= 0 && i < size)
    return i;
  const cudaTextureAddressMode mode = t.desc.addressMode[dimension];
  if (mode == cudaAddressModeBorder)
    return -1;
  if (t.desc.normalizedCoords && mode == cudaAddressModeWrap) {
    const int rest = i % size;
    return rest < 0 ? rest + size : rest;
  }
  if (t.desc.normalizedCoords && mode == cudaAddressModeMirror) {
    int rest = i % (2 * size);
    rest = rest < 0 ? rest + 2 * size : rest;
    return rest < size ? rest : 2 * size - 1 - rest;
  }
  return i < 0 ? 0 : size - 1;
}

// A coordinate as a number of an element; far outside and NaN are inside an int's range.
inline int whole(float x) {
  return x > -1e9f && x < 1e9f ? static_cast<int>(floorf(x)) : x >= 1e9f ? 1000000000 : -1000000000;
}

inline axis along(const cudasim_texture &t, int dimension, float x, unsigned int elements) {
  const int size = static_cast<int>(elements);
  if (t.desc.normalizedCoords)
    x *= static_cast<float>(size);
  if (t.desc.filterMode == cudaFilterModePoint) {
    const int i = wrapped(t, dimension, whole(x), size);
    return {i, i, 0};
  }
  x -= 0.5f;
  const int i = whole(x);
  const float weight = floorf((x - floorf(x)) * 256.0f + 0.5f) / 256.0f;
  return {wrapped(t, dimension, i, size), wrapped(t, dimension, i + 1, size), weight};
}

inline axis layer(unsigned int index, unsigned int layers) {
  const int i = static_cast<int>(index < layers ? index : layers - 1);
  return {i, i, 0};
}

template <class E> inline float element(const char *at, float scale) {
  E value;
  __builtin_memcpy(&value, at, sizeof value);
  const float x = static_cast<float>(value) * scale;
  return x < -1.0f ? -1.0f : x; // the lowest of a signed integer
}

inline float channel(const cudasim_image &image, const char *at) {
  const bool is_signed = image.format.f == cudaChannelFormatKindSigned;
  if (image.format.f == cudaChannelFormatKindFloat && image.format.x == 32) {
    float value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
  }
  if (image.format.f == cudaChannelFormatKindFloat) {
    uint16_t bits;
    __builtin_memcpy(&bits, at, sizeof bits);
    return cudasim_half_to_float(bits);
  }
  if (image.format.x == 8)
    return is_signed ? element<signed char>(at, 1.0f / 127.0f) : element<unsigned char>(at, 1.0f / 255.0f);
  return is_signed ? element<short>(at, 1.0f / 32767.0f) : element<unsigned short>(at, 1.0f / 65535.0f);
}

inline texel decode(const cudasim_texture &t, const cudasim_image &image, int x, int y, int z) {
  texel result = {};
  if (x < 0 || y < 0 || z < 0) {
    __builtin_memcpy(result.c, t.desc.borderColor, sizeof result.c);
    return result;
  }
  const char *at = image.data + static_cast<size_t>(z) * image.slice + static_cast<size_t>(y) * image.pitch +
                   static_cast<size_t>(x) * image.bytes;
  for (unsigned int i = 0; i < image.channels; i++)
    result.c[i] = channel(image, at + i * (image.bytes / image.channels));
  return result;
}

inline texel mixed(texel a, texel b, float weight) {
  for (float *p = a.c, *q = b.c; p < a.c + 4; p++, q++)
    *p = *p * (1.0f - weight) + *q * weight;
  return a;
}

inline texel filtered(const cudasim_texture &t, const cudasim_image &image, axis x, axis y, axis z) {
  texel planes[2] = {};
  for (int plane = 0; plane < (z.weight != 0 ? 2 : 1); plane++) {
    const int k = plane ? z.second : z.first;
    planes[plane] = x.weight != 0
                        ? mixed(decode(t, image, x.first, y.first, k), decode(t, image, x.second, y.first, k), x.weight)
                        : decode(t, image, x.first, y.first, k);
    if (y.weight != 0)
      planes[plane] = mixed(planes[plane],
                            x.weight != 0 ? mixed(decode(t, image, x.first, y.second, k),
                                                  decode(t, image, x.second, y.second, k), x.weight)
                                          : decode(t, image, x.first, y.second, k),
                            y.weight);
  }
  return z.weight != 0 ? mixed(planes[0], planes[1], z.weight) : planes[0];
}

// As elements where they are not to be converted, as floats otherwise.
template <class T> inline T sampled(const cudasim_texture &t, const cudasim_image &image, axis x, axis y, axis z) {
  T result;
  __builtin_memset(static_cast<void *>(&result), 0, sizeof result);
  const bool real = image.format.f == cudaChannelFormatKindFloat;
  if (real || t.desc.readMode == cudaReadModeNormalizedFloat) {
    const texel value = filtered(t, image, x, y, z);
    __builtin_memcpy(static_cast<void *>(&result), value.c,
                     sizeof result < sizeof value ? sizeof result : sizeof value);
  } else if (x.first >= 0 && y.first >= 0 && z.first >= 0) {
    __builtin_memcpy(static_cast<void *>(&result),
                     image.data + static_cast<size_t>(z.first) * image.slice +
                         static_cast<size_t>(y.first) * image.pitch + static_cast<size_t>(x.first) * image.bytes,
                     sizeof result < image.bytes ? sizeof result : image.bytes);
  }
  return result;
}

// The level of a mipmapped texture: the nearest, since sampling between two is by the caller.
inline const cudasim_image &level_of(const cudasim_texture &t, float level) {
  level += t.desc.mipmapLevelBias;
  if (t.desc.maxMipmapLevelClamp > t.desc.minMipmapLevelClamp || t.level_count > 1) {
    level = level > t.desc.maxMipmapLevelClamp ? t.desc.maxMipmapLevelClamp : level;
    level = level < t.desc.minMipmapLevelClamp ? t.desc.minMipmapLevelClamp : level;
  }
  const int nearest = whole(level + 0.5f);
  return t.levels[nearest < 0 ? 0 : nearest < t.level_count ? nearest : t.level_count - 1];
}

static constexpr axis only = {0, 0, 0};

// Two levels weighed, where the texture says so and T is of floats.
template <class T, class Sample> inline T at_level(const cudasim_texture &t, float level, Sample sample) {
  const float place =
      fmaxf(t.desc.minMipmapLevelClamp, fminf(level + t.desc.mipmapLevelBias, t.desc.maxMipmapLevelClamp));
  const float weight = floorf((place - floorf(place)) * 256.0f) / 256.0f;
  if (t.desc.mipmapFilterMode == cudaFilterModePoint || t.level_count < 2 || weight == 0 || sizeof(T) % 4 != 0)
    return sample(level_of(t, level));
  const int low = whole(place), last = t.level_count - 1;
  T a = sample(t.levels[low < last ? low : last]), b = sample(t.levels[low < last ? low + 1 : last]);
  texel x = {}, y = {};
  __builtin_memcpy(x.c, &a, sizeof a);
  __builtin_memcpy(y.c, &b, sizeof b);
  x = mixed(x, y, weight);
  __builtin_memcpy(static_cast<void *>(&a), x.c, sizeof a);
  return a;
}

// The face of a cube that a direction meets, and where.
struct cube_place {
  int face;
  float x, y;
};
inline cube_place on_cube(float x, float y, float z) {
  const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
  float s, t, m;
  int face;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1;
    m = ax;
    s = x >= 0 ? -z : z;
    t = -y;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3;
    m = ay;
    s = x;
    t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5;
    m = az;
    s = z >= 0 ? x : -x;
    t = -y;
  }
  return {face, (s / m + 1.0f) / 2.0f, (t / m + 1.0f) / 2.0f};
}

// Always in coordinates from 0 to 1, and never beyond a face's edge.
template <class T> inline T from_cube(unsigned long long object, float x, float y, float z, unsigned int first) {
  cudasim_texture t = texture_of(object);
  t.desc.normalizedCoords = 1;
  t.desc.addressMode[0] = t.desc.addressMode[1] = cudaAddressModeClamp;
  const cudasim_image &image = t.levels[0];
  const cube_place p = on_cube(x, y, z);
  return sampled<T>(t, image, along(t, 0, p.x, image.width), along(t, 1, p.y, image.height),
                    layer(6 * first + static_cast<unsigned int>(p.face), image.depth));
}

} // namespace cudasim

// ---- textures --------------------------------------------------------------------------------------------------------------

// Outside the array: 0.
template <class T> inline T tex1Dfetch(cudaTextureObject_t object, int x) {
  const cudasim_texture &t = cudasim::texture_of(object);
  const cudasim_image &image = t.levels[0];
  if (x < 0 || static_cast<unsigned int>(x) >= image.width)
    return T{};
  return cudasim::sampled<T>(t, image, {x, x, 0}, cudasim::only, cudasim::only);
}

#define CUDASIM_FETCH(name, parameters, x, y, z)                                                                       \
  template <class T> inline T name parameters {                                                                        \
    const cudasim_texture &t = cudasim::texture_of(object);                                                            \
    const cudasim_image &image = t.levels[0];                                                                          \
    return cudasim::sampled<T>(t, image, x, y, z);                                                                     \
  }
#define CUDASIM_X cudasim::along(t, 0, x, image.width)
#define CUDASIM_Y cudasim::along(t, 1, y, image.height)
#define CUDASIM_Z cudasim::along(t, 2, z, image.depth)
#define CUDASIM_LAYER cudasim::layer(static_cast<unsigned int>(layer < 0 ? 0 : layer), image.depth)
CUDASIM_FETCH(tex1D, (cudaTextureObject_t object, float x), CUDASIM_X, cudasim::only, cudasim::only)
CUDASIM_FETCH(tex2D, (cudaTextureObject_t object, float x, float y), CUDASIM_X, CUDASIM_Y, cudasim::only)
CUDASIM_FETCH(tex3D, (cudaTextureObject_t object, float x, float y, float z), CUDASIM_X, CUDASIM_Y, CUDASIM_Z)
CUDASIM_FETCH(tex1DLayered, (cudaTextureObject_t object, float x, int layer), CUDASIM_X, cudasim::only, CUDASIM_LAYER)
CUDASIM_FETCH(tex2DLayered, (cudaTextureObject_t object, float x, float y, int layer), CUDASIM_X, CUDASIM_Y,
              CUDASIM_LAYER)
#undef CUDASIM_FETCH

template <class T> inline T tex1DLod(cudaTextureObject_t object, float x, float level) {
  const cudasim_texture &t = cudasim::texture_of(object);
  return cudasim::at_level<T>(t, level, [&](const cudasim_image &image) {
    return cudasim::sampled<T>(t, image, CUDASIM_X, cudasim::only, cudasim::only);
  });
}
template <class T> inline T tex2DLod(cudaTextureObject_t object, float x, float y, float level) {
  const cudasim_texture &t = cudasim::texture_of(object);
  return cudasim::at_level<T>(t, level, [&](const cudasim_image &image) {
    return cudasim::sampled<T>(t, image, CUDASIM_X, CUDASIM_Y, cudasim::only);
  });
}
template <class T> inline T tex3DLod(cudaTextureObject_t object, float x, float y, float z, float level) {
  const cudasim_texture &t = cudasim::texture_of(object);
  return cudasim::at_level<T>(t, level, [&](const cudasim_image &image) {
    return cudasim::sampled<T>(t, image, CUDASIM_X, CUDASIM_Y, CUDASIM_Z);
  });
}
#undef CUDASIM_X
#undef CUDASIM_Y
#undef CUDASIM_Z
#undef CUDASIM_LAYER

template <class T> inline T texCubemap(cudaTextureObject_t object, float x, float y, float z) {
  return cudasim::from_cube<T>(object, x, y, z, 0);
}
template <class T> inline T texCubemapLayered(cudaTextureObject_t object, float x, float y, float z, int layer) {
  return cudasim::from_cube<T>(object, x, y, z, static_cast<unsigned int>(layer));
}

// One channel of the four elements round a place: lower left, lower right, upper right, upper left.
template <class T> inline T tex2Dgather(cudaTextureObject_t object, float x, float y, int component = 0) {
  cudasim_texture t = cudasim::texture_of(object);
  const cudasim_image &image = t.levels[0];
  t.desc.filterMode = cudaFilterModeLinear;
  const cudasim::axis i = cudasim::along(t, 0, x, image.width), j = cudasim::along(t, 1, y, image.height);
  const int xs[4] = {i.first, i.second, i.second, i.first}, ys[4] = {j.second, j.second, j.first, j.first};
  T result = {};
  using E = std::remove_reference_t<decltype(result.x)>;
  E *out[4] = {&result.x, &result.y, &result.z, &result.w};
  for (int n = 0; n < 4; n++) {
    if constexpr (std::is_floating_point_v<E>)
      *out[n] = cudasim::decode(t, image, xs[n], ys[n], 0).c[component];
    else if (xs[n] >= 0 && ys[n] >= 0)
      __builtin_memcpy(out[n],
                       image.data + static_cast<size_t>(ys[n]) * image.pitch +
                           static_cast<size_t>(xs[n]) * image.bytes + static_cast<size_t>(component) * sizeof(E),
                       sizeof(E));
  }
  return result;
}

// The forms that write to where a pointer says.
#define CUDASIM_INTO(name)                                                                                             \
  template <class T, class... A> inline void name(T *result, cudaTextureObject_t object, A... place) {                 \
    *result = name<T>(object, place...);                                                                               \
  }
CUDASIM_INTO(tex1Dfetch)
CUDASIM_INTO(tex1D)
CUDASIM_INTO(tex2D)
CUDASIM_INTO(tex3D)
CUDASIM_INTO(tex1DLayered)
CUDASIM_INTO(tex2DLayered)
CUDASIM_INTO(texCubemap)
CUDASIM_INTO(tex2DLod)
#undef CUDASIM_INTO

// ---- surfaces --------------------------------------------------------------------------------------------------------------

namespace cudasim {

// Where bytes x of an element begin; NULL: outside, and nothing is to be read or written.
template <class T>
inline char *on_surface(unsigned long long object, int x, int y, int z, cudaSurfaceBoundaryMode mode, const char *file,
                        int line) {
  const cudasim_image &image = texture_of(object).levels[0];
  const int width = static_cast<int>(image.width * image.bytes) - static_cast<int>(sizeof(T));
  const int height = static_cast<int>(image.height) - 1, depth = static_cast<int>(image.depth) - 1;
  if (x < 0 || y < 0 || z < 0 || x > width || y > height || z > depth) {
    if (mode == cudaBoundaryModeTrap)
      cudasim_refuse("an access outside a surface (x counts bytes)", file, line);
    if (mode == cudaBoundaryModeZero)
      return nullptr;
    x = x < 0 ? 0 : x > width ? width : x;
    y = y < 0 ? 0 : y > height ? height : y;
    z = z < 0 ? 0 : z > depth ? depth : z;
  }
  return image.data + static_cast<size_t>(z) * image.slice + static_cast<size_t>(y) * image.pitch +
         static_cast<size_t>(x);
}

} // namespace cudasim

#define CUDASIM_MODE                                                                                                   \
  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define CUDASIM_SURFACE(name, coordinates, names, x, y, z)                                                             \
  template <class T> inline T name##read(cudaSurfaceObject_t object, CUDASIM_ARGUMENTS coordinates, CUDASIM_MODE) {    \
    T value;                                                                                                           \
    __builtin_memset(static_cast<void *>(&value), 0, sizeof value);                                                    \
    if (const char *at = cudasim::on_surface<T>(object, x, y, z, mode, file, line))                                    \
      __builtin_memcpy(static_cast<void *>(&value), at, sizeof value);                                                 \
    return value;                                                                                                      \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  inline void name##read(T *value, cudaSurfaceObject_t object, CUDASIM_ARGUMENTS coordinates, CUDASIM_MODE) {          \
    *value = name##read<T>(object, CUDASIM_ARGUMENTS names, mode, file, line);                                         \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  inline void name##write(T value, cudaSurfaceObject_t object, CUDASIM_ARGUMENTS coordinates, CUDASIM_MODE) {          \
    if (char *at = cudasim::on_surface<T>(object, x, y, z, mode, file, line))                                          \
      __builtin_memcpy(at, static_cast<const void *>(&value), sizeof value);                                           \
  }
#define CUDASIM_ARGUMENTS(...) __VA_ARGS__
CUDASIM_SURFACE(surf1D, (int a), (a), a, 0, 0)
CUDASIM_SURFACE(surf2D, (int a, int b), (a, b), a, b, 0)
CUDASIM_SURFACE(surf3D, (int a, int b, int c), (a, b, c), a, b, c)
CUDASIM_SURFACE(surf1DLayered, (int a, int c), (a, c), a, 0, c)
CUDASIM_SURFACE(surf2DLayered, (int a, int b, int c), (a, b, c), a, b, c)
CUDASIM_SURFACE(surfCubemap, (int a, int b, int c), (a, b, c), a, b, c)
#undef CUDASIM_SURFACE
#undef CUDASIM_ARGUMENTS
#undef CUDASIM_MODE

#endif
