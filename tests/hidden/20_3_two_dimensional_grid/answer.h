// What an answer to exercise 20.3 defines. Pitches are in bytes.
#include <stddef.h>

extern "C" void light_on_device(float *out, size_t out_pitch, const float *in, size_t in_pitch, const float *gain,
                                const float *shift, int rows, int columns);
