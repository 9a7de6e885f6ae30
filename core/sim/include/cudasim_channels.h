// SPDX-License-Identifier: MIT
// The channels of an element type, for host code and kernels alike.
#ifndef CUDASIM_CHANNELS_H
#define CUDASIM_CHANNELS_H

#include "cudasim_array.h"

template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc(void) {
  return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}
#define CUDASIM_CHANNELS(T, x, y, z, w, kind)                                                                          \
  template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T>(void) {                                            \
    return cudaCreateChannelDesc(x, y, z, w, cudaChannelFormatKind##kind);                                             \
  }
#define CUDASIM_VECTOR_CHANNELS(scalar, name, bits, kind)                                                              \
  CUDASIM_CHANNELS(scalar, bits, 0, 0, 0, kind)                                                                        \
  CUDASIM_CHANNELS(name##1, bits, 0, 0, 0, kind)                                                                       \
  CUDASIM_CHANNELS(name##2, bits, bits, 0, 0, kind)                                                                    \
  CUDASIM_CHANNELS(name##4, bits, bits, bits, bits, kind)
CUDASIM_CHANNELS(char, 8, 0, 0, 0, Signed)
CUDASIM_VECTOR_CHANNELS(signed char, char, 8, Signed)
CUDASIM_VECTOR_CHANNELS(unsigned char, uchar, 8, Unsigned)
CUDASIM_VECTOR_CHANNELS(short, short, 16, Signed)
CUDASIM_VECTOR_CHANNELS(unsigned short, ushort, 16, Unsigned)
CUDASIM_VECTOR_CHANNELS(int, int, 32, Signed)
CUDASIM_VECTOR_CHANNELS(unsigned int, uint, 32, Unsigned)
CUDASIM_VECTOR_CHANNELS(float, float, 32, Float)
#undef CUDASIM_VECTOR_CHANNELS
#undef CUDASIM_CHANNELS

#endif
