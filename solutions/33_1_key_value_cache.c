// Exercise 33.1: Attention with a key/value cache  lesson 33 · medium · 40 min
//
// Task      A GPT that writes text should compute each token once. So attention
//           keeps the keys and values of earlier tokens in a cache. Store those
//           of n new tokens after the `used` tokens in the cache, and compute
//           the causal attention of the new tokens. New token i is token
//           used + i of the text, and it looks at tokens 0 to used + i:
//               out[i] = sum over j of weight[j] * values[j]
//               weight = softmax over j of (q[i] . keys[j]) / sqrt(D)
// Example   used = 5, n = 2: the new tokens are 5 and 6. Token 5 looks at
//           tokens 0 to 5, and token 6 at tokens 0 to 6.
// Write     attend. It returns (B, H, n, D). The cache then has used + n
//           tokens.
// Inputs    q, k, v       float32 (B, H, n, D), non-contiguous, on a GPU or CPU
//           keys, values  the cache: float32 (B, H, context, D), same device;
//                         tokens after `used` have old values
//           n             1 or more; used + n is at most context
// Required  - correct results, for a prompt and for one token after the other;
//             the rest of the cache does not change
// Stars     ** no copy of the cached keys or values
#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  // [answer]
  int64_t n = fy_size_at(q, 2), D = fy_size_at(q, 3), all = used + n;
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  fy_copy_(fy_narrow(values, 2, used, n), v);
  FyTensor *scores = fy_matmul(q, fy_transpose(fy_narrow(keys, 2, 0, all), -2, -1)); // (B, H, n, used + n)
  scores = fy_mul_scalar(scores, 1 / sqrt((double)D));
  FyTensor *position = fy_arange((double)all, .device = fy_device_of(q));
  FyTensor *own = fy_unsqueeze(fy_narrow(position, 0, used, n), 1); // (n, 1): the positions of the new tokens
  FyTensor *future = fy_gt(fy_unsqueeze(position, 0), own);         // (n, used + n)
  scores = fy_where(future, fy_full_like(scores, -INFINITY), scores);
  return fy_matmul(fy_softmax(scores, -1), fy_narrow(values, 2, 0, all));
  // [stub]
  //| return NULL; // (B, H, n, D)
  // [end]
}
