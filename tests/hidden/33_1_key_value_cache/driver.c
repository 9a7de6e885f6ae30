// SPDX-License-Identifier: MIT
// Calls attend once for each number of `calls`, with so many new tokens; "|" begins another text in the same cache.
#include "driver.h"
#include "answer.h"
#include <stdio.h>
#include <stdlib.h>

// Tokens [first, first + n) of (B, N, H, D), as the heads of a linear layer's output: (B, H, n, D), a view.
static FyTensor *new_tokens(Driver *d, const char *name, int64_t first, int64_t n) {
  return fy_transpose(fy_narrow(driver_tensor(d, name), 1, first, n), 1, 2);
}

void drive(Driver *d) {
  FyTensor *keys = driver_tensor(d, "keys"), *values = driver_tensor(d, "values");
  driver_may_change(d, "keys");
  driver_may_change(d, "values");
  int64_t first = 0, used = 0;
  int call = 1;
  fy_no_grad {
    for (const char *at = driver_text(d, "calls"); *at; at++) {
      if (*at == ' ')
        continue;
      if (*at == '|') {
        used = 0;
        continue;
      }
      char name[32], *end;
      const int64_t n = strtol(at, &end, 10);
      FyTensor *q = new_tokens(d, "q", first, n), *k = new_tokens(d, "k", first, n), *v = new_tokens(d, "v", first, n);
      snprintf(name, sizeof name, "call %d", call++);
      if (*end == '\0')
        driver_count(d); // only the last call
      FyTensor *result = attend(q, k, v, keys, values, used);
      if (*end == '\0')
        driver_stop(d);
      driver_put(d, name, result);
      first += n;
      used += n;
      at = end - 1;
    }
    driver_put(d, "keys", keys);
    driver_put(d, "values", values);
  }
}
