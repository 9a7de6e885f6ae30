// What an answer to exercise 8.2 defines, and what it fills in.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Comparison {
  FyTensor *pageable, *pinned; // (batches) each
} Comparison;

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result);

#endif
