// SPDX-License-Identifier: MIT
// Gradients that are written where they are to stay.
#include "graph/place.h"

atomic_int fy_grad_places;
_Thread_local FyPlaced fy_placed;

void fy_set_grad_place(FyTensor *leaf, FyTensor *place) {
  atomic_fetch_add(&fy_grad_places, (place != NULL) - (leaf->grad_place != NULL));
  leaf->grad_place = place;
}

FyTensor *fy_node_place(const FyNode *node, int i) {
  if (atomic_load_explicit(&fy_grad_places, memory_order_relaxed) == 0 || fy_placed.node != node || i >= FY_MAX_PLACED)
    return NULL;
  return fy_placed.inputs >> i & 1 ? node->next[i].node->leaf->grad_place : NULL;
}

bool fy_fits_place(const FyTensor *place, const FyTensor *grad) {
  return place->array.dtype == grad->array.dtype && fy_device_equal(place->device, grad->device) &&
         fy_same_shape(&place->array, &grad->array);
}
