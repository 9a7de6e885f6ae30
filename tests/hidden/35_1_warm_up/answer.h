// What an answer to exercise 35.1 defines.
#include "ferry.h"

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low);
