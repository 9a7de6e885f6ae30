// What an answer to exercise 5.5 defines.
#include "ferry.h"

FyModule *scaler(FyTensor *mean, FyTensor *std);
