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
  return NULL; // (B, H, n, D)
}
