// mistake: missing return value
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  (void)state;
  (void)transition;
  (void)device;
  (void)changes;
  return NULL;
}
