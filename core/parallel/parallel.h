// SPDX-License-Identifier: MIT
// One model on several devices: torch.nn.DataParallel, and the functions that it consists of, torch.nn.parallel. Only
// one thread at a time may use a model; the functions start and join the threads of the replicas themselves.
#ifndef FERRY_PARALLEL_PARALLEL_H
#define FERRY_PARALLEL_PARALLEL_H

#include "nn/nn.h"

// Creates a module, owned by the innermost scope, whose forward splits the input along dimension 0, runs one replica of
// `module` per device, each in its own thread, and concatenates the outputs on device_ids[0]. If device_ids is NULL and
// count is 0, it uses all CUDA devices. Without CUDA, forward just calls `module`.
//
// Each replica has its own random number generator (for dropout), derived from fy_manual_seed and the replica's index.
// The numbers are the same in every run, but differ from those on one device.
//
// Raises FY_RUNTIME_ERROR for device ids that do not exist, and FY_VALUE_ERROR for repeated ones. Forward raises
// FY_RUNTIME_ERROR if a parameter or buffer is not on device_ids[0] ("module must have its parameters and buffers on
// device cuda:0 (device_ids[0]) but found one of them on device: cpu"). If a replica raises an error, forward raises it
// again after all threads have ended, with "Caught RuntimeError in replica 1 on device 1." and a line break before the
// message. PyTorch: torch.nn.DataParallel(module, device_ids).
#define fy_nn_data_parallel(module, ...) fy_nn_data_parallel_with((FyModule *)(module), __VA_ARGS__)
FY_API FyModule *fy_nn_data_parallel_with(FyModule *module, const int *device_ids, int count);

// Returns the module that was given to fy_nn_data_parallel, borrowed. Raises FY_TYPE_ERROR for a different kind of
// module. PyTorch: model.module.
FY_API FyModule *fy_data_parallel_module(FyModule *data_parallel);

// ---- the steps of DataParallel --------------------------------------------------------------------------------------
// Autograd records these functions. They raise FY_RUNTIME_ERROR for devices that do not exist.

// Splits t into chunks along dimension `dim`, one per device, and copies them to the devices. Stores the chunks in
// `out`, owned by the innermost scope, and returns their number, which is less than `count` if the batch is small.
// Raises FY_RUNTIME_ERROR for a 0-dim tensor. PyTorch: torch.nn.parallel.scatter(t, device_ids, dim).
FY_API int fy_scatter(FyTensor *t, const int *device_ids, int count, int dim, FyTensor **out);

// Concatenates tensors along dimension `dim` on CUDA device `target`. For dim 0, several 0-dim tensors become a vector.
// PyTorch: torch.nn.parallel.gather(tensors, target, dim).
FY_API FyTensor *fy_gather(FyTensors tensors, int target, int dim);

// Creates one replica of a module per device, and stores them in out[count], owned by the innermost scope. Backward
// adds the gradients of the replicas' parameters to those of the module. PyTorch: torch.nn.parallel.replicate(module,
// device_ids).
FY_API void fy_replicate(FyModule *module, const int *device_ids, int count, FyModule **out);

// Computes replicas[i](inputs[i]) for every i, each in its own thread on the device of inputs[i], and stores the
// results in `outputs`, owned by the innermost scope. Raises the error of a replica like fy_nn_data_parallel. PyTorch:
// torch.nn.parallel.parallel_apply(replicas, inputs).
FY_API void fy_parallel_apply(FyModule *const *replicas, FyTensor *const *inputs, int count, FyTensor **outputs);

#endif
