// mistake: missing return value
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  (void)x;
  (void)weight;
  (void)target;
  return NULL;
}
