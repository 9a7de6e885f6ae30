// What an answer to exercise 12.1 defines.
#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm);
