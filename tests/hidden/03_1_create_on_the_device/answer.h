// What an answer to exercise 3.1 defines.
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset);
