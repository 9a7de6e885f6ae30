// mistake: nothing returned
#include "ferry.h"

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  (void)mean;
  (void)std;
  return NULL;
}
