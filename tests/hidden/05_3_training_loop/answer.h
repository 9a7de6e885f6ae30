// What an answer to exercise 5.3 defines.
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps);
