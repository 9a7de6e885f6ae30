// mistake: no result returned
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  (void)model;
  (void)groups;
  (void)count;
  (void)batch;
  return NULL;
}
