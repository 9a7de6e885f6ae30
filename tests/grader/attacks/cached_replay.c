// status: fail
// Computes once, and returns the same result ever after.
static FyTensor *kept;
#define attack()                                                                                                       \
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);                                   \
  if (!kept)                                                                                                           \
    kept = fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset));                              \
  return kept
