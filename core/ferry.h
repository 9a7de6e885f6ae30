// SPDX-License-Identifier: MIT
// Ferry: tensors, autograd, modules, devices and data parallelism in C, on CPU and CUDA.
//
// Programs that use the library include only this header. The headers below document the functions, and core/README.md
// describes the source folders. The last header makes each call of a public function record its file and line, for
// error messages.
#ifndef FERRY_H
#define FERRY_H

#include "amp/grad_scaler.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint.h"
#include "autograd/function.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/scope.h"
#include "base/version.h"
#include "data/data.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/safetensors.h"
#include "data/transform.h"
#include "device/counters.h"
#include "device/cuda_graph.h"
#include "device/device.h"
#include "device/memory.h"
#include "distributed/ddp.h"
#include "distributed/distributed.h"
#include "nn/cuda_graph.h"
#include "nn/nn.h"
#include "onnx/onnx.h"
#include "op/autocast.h"
#include "op/benchmark.h"
#include "op/creation/factory.h"
#include "op/host/host.h"
#include "op/ops.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "parallel/parallel.h"
#include "profiler/profiler.h"
#include "tensor/list.h"
#include "tensor/tensor.h"
#include "trace/trace.h"
#include "train/checkpoint.h"

#include "ferry_where.h"

#endif
