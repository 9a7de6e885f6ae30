// What an answer to exercise 7.3 defines.
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes);
