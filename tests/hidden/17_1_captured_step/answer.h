// What an answer to exercise 17.1 defines.
#include "ferry.h"

FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device);
