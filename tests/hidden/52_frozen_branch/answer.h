// What an answer to exercise 52 defines.
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit);
