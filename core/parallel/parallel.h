// SPDX-License-Identifier: MIT
// One model on several devices: torch.nn.DataParallel and its parts, torch.nn.parallel. A model is for one thread at a
// time; the threads of the replicas are made and joined inside.
#ifndef FERRY_PARALLEL_PARALLEL_H
#define FERRY_PARALLEL_PARALLEL_H

#include "nn/nn.h"

// nn.DataParallel(module, device_ids): a module that scatters its input over dimension 0, runs a replica per device in a
// thread of its own, and gathers the outputs on device_ids[0]. device_ids NULL with count 0: every CUDA device; on a
// machine without CUDA it just calls the module. Raises FY_RUNTIME_ERROR when a parameter is not on device_ids[0]
// ("module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: cpu").
// An error of a replica is raised again here, after all threads have ended, with "Caught RuntimeError in replica 1 on
// device 1." and a line break before its text. Replicas draw random numbers (dropout) each from a generator of its own, which
// follows from fy_manual_seed and the replica's index: the same in every run, though others than on one device. Ids that do not exist raise FY_RUNTIME_ERROR, repeated ones FY_VALUE_ERROR.
#define fy_nn_data_parallel(module, ...) fy_nn_data_parallel_with((FyModule *)(module), __VA_ARGS__)
FY_API FyModule *fy_nn_data_parallel_with(FyModule *module, const int *device_ids, int count);

// The module inside (DataParallel's .module).
FY_API FyModule *fy_data_parallel_module(FyModule *data_parallel);

// The parts, differentiable. scatter: t in chunks over dimension `dim`, one per device; returns how many there are (fewer
// than count for a small batch), stored in out.
FY_API int fy_scatter(FyTensor *t, const int *device_ids, int count, int dim, FyTensor **out);
// gather: concatenates on device `target`; 0-dim tensors become a vector.
FY_API FyTensor *fy_gather(FyTensors tensors, int target, int dim);
// replicate: one replica per device; the gradients of its parameters sum onto the module's. out[count], owned by the scope.
FY_API void fy_replicate(FyModule *module, const int *device_ids, int count, FyModule **out);
// parallel_apply: replicas[i](inputs[i]) in a thread each, on inputs[i]'s device; stores outputs.
FY_API void fy_parallel_apply(FyModule *const *replicas, FyTensor *const *inputs, int count, FyTensor **outputs);

#endif
