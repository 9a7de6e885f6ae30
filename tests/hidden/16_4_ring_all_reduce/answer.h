// What an answer to exercise 16.4 defines.
#include "ferry.h"

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count));
