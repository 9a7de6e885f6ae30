// SPDX-License-Identifier: MIT
// nn.DataParallel: scatter, replicate, parallel_apply, gather.
#include "nn/impl.h"
#include "parallel/impl.h"
#include <stdlib.h>

typedef struct DataParallel {
  FyModule base;
  FyModule *module;
  int device_ids[FY_MAX_DEVICES];
  int count; // 0 without CUDA: the module is called as it is
} DataParallel;

void fy_check_device_ids(const char *function, const int *device_ids, int count) {
  int available = fy_cuda_device_count();
  fy_check(available > 0, FY_RUNTIME_ERROR, "%s needs CUDA devices, and there are none: %s", function,
           fy_cuda_description());
  fy_check(device_ids && count > 0 && count <= FY_MAX_DEVICES, FY_VALUE_ERROR,
           "%s: device_ids must name 1 to %d devices, but has %d", function, FY_MAX_DEVICES, count);
  for (int i = 0; i < count; i++) {
    fy_check(device_ids[i] >= 0 && device_ids[i] < available, FY_RUNTIME_ERROR,
             "%s: invalid device ordinal: device_ids[%d] is %d, but the CUDA devices here are cuda:0 to cuda:%d",
             function, i, device_ids[i], available - 1);
    for (int j = 0; j < i; j++)
      fy_check(device_ids[i] != device_ids[j], FY_VALUE_ERROR, "%s: device_ids names cuda:%d twice", function,
               device_ids[i]);
  }
}

// The slowest device sets the pace of all, so a much smaller one is worth a word.
static void warn_of_imbalance(const DataParallel *self) {
  static bool warned;
  FyDeviceProperties first = fy_cuda_get_device_properties(self->device_ids[0]);
  int small = 0, large = 0;
  double low[2] = {(double)first.total_memory, first.multi_processor_count}, high[2] = {low[0], low[1]};
  for (int i = 1; i < self->count; i++) {
    FyDeviceProperties p = fy_cuda_get_device_properties(self->device_ids[i]);
    double size[2] = {(double)p.total_memory, p.multi_processor_count};
    for (int k = 0; k < 2; k++) {
      if (size[k] < low[k]) {
        low[k] = size[k];
        small = i;
      }
      if (size[k] > high[k]) {
        high[k] = size[k];
        large = i;
      }
    }
  }
  if (low[0] < 0.75 * high[0] || low[1] < 0.75 * high[1])
    fy_warn_once(
        &warned,
        "DataParallel: the devices are unequal: cuda:%d has less than 75%% of the memory or the multiprocessors "
        "of cuda:%d, and every batch waits for the slowest. Leave it out through device_ids or "
        "CUDA_VISIBLE_DEVICES.",
        self->device_ids[small], self->device_ids[large]);
}

// ---- the module --------------------------------------------------------------------------------------------------------

static void check_place(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  (void)name;
  FyDevice wanted = *(FyDevice *)context, found = fy_device_of(field->tensor);
  fy_check(
      fy_device_equal(wanted, found), FY_RUNTIME_ERROR,
      "module must have its parameters and buffers on device %s (device_ids[0]) but found one of them on device: %s",
      fy_device_name_of(wanted), fy_device_name_of(found));
}

static FyTensor *data_parallel_forward(FyModule *self_, FyTensor *input) {
  DataParallel *self = (DataParallel *)self_;
  FyTensor *inputs[FY_MAX_DEVICES], *outputs[FY_MAX_DEVICES];
  FyModule *replicas[FY_MAX_DEVICES];
  if (self->count == 0)
    return fy_forward_of(self->module, input);
  FyDevice first = fy_cuda_device(self->device_ids[0]);
  fy_module_visit(self->module, 1u << FY_PARAMETER | 1u << FY_BUFFER, check_place, &first);
  int n = fy_scatter(input, self->device_ids, self->count, 0, inputs);
  if (n == 1)
    return fy_forward_of(self->module, inputs[0]);
  fy_replicate(self->module, self->device_ids, n, replicas);
  fy_parallel_apply(replicas, inputs, n, outputs);
  return fy_gather((FyTensors){.count = n, .items = outputs}, self->device_ids[0], 0);
}

static const FyModuleClass data_parallel_class = {.name = "DataParallel", .forward = data_parallel_forward};

FyModule *fy_nn_data_parallel_with(FyModule *module, const int *device_ids, int count) {
  fy_module_required(module, "fy_nn_data_parallel");
  fy_check(count >= 0 && (device_ids || count == 0), FY_VALUE_ERROR,
           "fy_nn_data_parallel: device_ids is %s, and count %d", device_ids ? "given" : "NULL", count);
  DataParallel *self = fy_module_new_of(sizeof *self, &data_parallel_class);
  fy_register_module(self, module, module);
  int available = fy_cuda_device_count();
  if (available == 0)
    return &self->base;
  self->count = count ? count : available < FY_MAX_DEVICES ? available : FY_MAX_DEVICES;
  const int readable = self->count <= FY_MAX_DEVICES ? self->count : 0; // more are refused below, unread
  for (int i = 0; i < readable; i++)
    self->device_ids[i] = count ? device_ids[i] : i;
  fy_check_device_ids("fy_nn_data_parallel", self->device_ids, self->count);
  warn_of_imbalance(self);
  return &self->base;
}

FyModule *fy_data_parallel_module(FyModule *data_parallel) {
  fy_module_required(data_parallel, "fy_data_parallel_module");
  fy_check(data_parallel->type == &data_parallel_class, FY_TYPE_ERROR, "'%s' object has no attribute 'module'",
           data_parallel->type->name);
  return ((DataParallel *)data_parallel)->module;
}
