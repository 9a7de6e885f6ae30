// What an answer to exercise 15.1 defines.
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit);
