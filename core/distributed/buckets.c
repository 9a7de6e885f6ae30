// SPDX-License-Identifier: MIT
// Which gradients share a bucket: PyTorch's rule.
#include "distributed/reducer.h"
#include <stdlib.h>
#include <string.h>

typedef struct Kind { // of tensors that may share a bucket
  int dtype;
  FyDevice device;
  int open;     // number of the bucket that is being filled, in the order of opening; -1: none
  size_t bytes; // in it
  int limit;
} Kind;

enum { KINDS = FY_DTYPE_COUNT * (FY_MAX_DEVICES + 1) };

static Kind *kind_of(Kind *kinds, int *count, const FyTensor *t) {
  for (int k = 0; k < *count; k++)
    if (kinds[k].dtype == t->array.dtype && fy_device_equal(kinds[k].device, t->device))
      return &kinds[k];
  kinds[*count] = (Kind){.dtype = t->array.dtype, .device = t->device, .open = -1};
  return &kinds[(*count)++];
}

// Full buckets come first, in the order in which they were filled; then those that were left open. Without an order of the
// tensors, PyTorch sorts the buckets by their first tensor.
static void number_buckets(int *number, int buckets, const int *closed, const int *first, bool sorted) {
  for (int a = 0; a < buckets; a++) {
    number[a] = 0;
    for (int b = 0; b < buckets; b++) {
      const bool before = sorted                   ? first[b] < first[a]
                          : closed[a] != closed[b] ? closed[b] < closed[a]
                                                   : first[b] < first[a];
      number[a] += b != a && before;
    }
  }
}

int fy_assign_buckets(const FyTensorList *tensors, const int *order, const size_t *limits, int limit_count,
                      int *bucket_of, int *place) {
  const int n = tensors->count;
  Kind kinds[KINDS];
  int kind_count = 0, buckets = 0, full = 0;
  int *room =
      calloc(4 * (size_t)n + 1, sizeof *room); // for each bucket: members, when it was closed, its first, its number
  fy_check(room, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the buckets of %d parameters", n);
  int *members = room, *closed = room + n, *first = room + 2 * n, *number = room + 3 * n;
  for (int k = 0; k < n; k++) {
    const int i = order ? order[k] : k;
    const FyTensor *t = tensors->items[i];
    Kind *kind = kind_of(kinds, &kind_count, t);
    if (kind->open < 0) {
      kind->open = buckets;
      kind->bytes = 0;
      closed[buckets] = n; // after all full ones
      first[buckets++] = order ? k : i;
    }
    bucket_of[i] = kind->open;
    place[i] = members[kind->open]++;
    kind->bytes += fy_nbytes(t);
    if (kind->bytes < limits[kind->limit])
      continue;
    closed[kind->open] = full++;
    kind->open = -1;
    kind->limit += kind->limit + 1 < limit_count;
  }
  number_buckets(number, buckets, closed, first, order == NULL);
  for (int i = 0; i < n; i++)
    bucket_of[i] = number[bucket_of[i]];
  free(room);
  return buckets;
}
