// SPDX-License-Identifier: MIT
// Mixed precision: torch.autocast. In an autocast region, matrix products and convolutions compute in float16 or
// bfloat16, and ops that need the precision of float32 compute in float32, whatever the dtypes of their inputs are. The
// input tensors themselves do not change.
//
//   fy_autocast(FY_CUDA) {
//     loss = fy_cross_entropy(fy_forward(model, x), y); // products in float16, the loss in float32
//   }
//   fy_backward(loss); // outside of the region: backward of each op uses the dtype of its forward
//
// The record of each op (op/op.h) defines how autocast casts its inputs on the CPU and on CUDA. As in PyTorch, the
// rules for the two differ. The graph records the casts, so a float32 parameter has a float32 gradient. Autocast does
// not affect in-place ops and float64 tensors.
#ifndef FERRY_OP_AUTOCAST_H
#define FERRY_OP_AUTOCAST_H

#include "base/options.h"
#include "device/device.h"
#include "tensor/dtype.h"

// Runs the following block as an autocast region for ops on tensors of a device type:
//
//   fy_autocast(FY_CUDA) { ... }
//   fy_autocast(device.type, .dtype = FY_BFLOAT16, .enabled = use_amp) { ... }
//
// The region applies to the calling thread. The threads of DataParallel and fy_parallel_apply inherit the caller's
// settings, including the dtype (which they do not inherit in PyTorch). Regions may be nested; in an inner region with
// .enabled = false, ops compute in the dtypes of their inputs. The previous settings are restored however the block is
// left: at its end, with return, break or goto, or by an error.
//
// While the cache is enabled, a float32 leaf that requires grad is cast only once, and the result is used until the
// outermost region of the thread ends. So, as in PyTorch, if you change the leaf within the region, for example with an
// optimizer step, ops do not use the new values before the region ends or you call fy_clear_autocast_cache.
//
// On the CPU, autocast supports float16 and bfloat16; on CUDA, it supports all floating-point dtypes, as in PyTorch. If
// the dtype is not supported, or if CUDA is not available, prints a warning and leaves autocast off. Raises
// FY_RUNTIME_ERROR for any other device type.
//
// PyTorch: with torch.autocast(device_type, dtype, enabled, cache_enabled).
typedef struct FyAutocast {
  int device_type; // FY_CPU or FY_CUDA
  FyDType dtype;   // 0 means fy_get_autocast_dtype(device_type): at first float16 on CUDA, bfloat16 on the CPU
  bool enabled, cache_enabled; // defaults: true, and the setting of the enclosing region, which is true at first
  const char *named;           // set by the macro: the arguments as text. If NULL, both flags are used as they are
} FyAutocast;
#define fy_autocast(...)                                                                                               \
  for (FY_AT_END(fy_autocast_guard_close) FyAutocastGuard fy_autocast_guard =                                          \
           fy_autocast_guard_open((FyAutocast){.named = FY_TEXT_OF(__VA_ARGS__), .device_type = __VA_ARGS__});         \
       fy_autocast_guard.open; fy_autocast_guard_close(&fy_autocast_guard))

// Return the settings of the calling thread for a device type, clear its cache, and return whether fy_autocast accepts
// a device type. fy_is_autocast_enabled and fy_get_autocast_dtype raise FY_RUNTIME_ERROR for a device type that
// fy_autocast does not accept.
FY_API bool fy_is_autocast_enabled(int device_type);   // torch.is_autocast_enabled("cuda")
FY_API FyDType fy_get_autocast_dtype(int device_type); // torch.get_autocast_dtype("cuda"); also if not enabled
FY_API bool fy_is_autocast_cache_enabled(void);        // torch.is_autocast_cache_enabled()
FY_API void fy_clear_autocast_cache(void);             // torch.clear_autocast_cache(); of the calling thread
FY_API bool
fy_is_autocast_available(int device_type); // torch.amp.is_autocast_available("cuda"): whether fy_autocast accepts it

// The settings that the macro restores at the end of the block.
typedef struct FyAutocastGuard {
  int device_type;
  FyDType dtype;
  bool enabled, cache_enabled, open; // open: not restored yet
} FyAutocastGuard;
FY_API FyAutocastGuard fy_autocast_guard_open(FyAutocast options);
FY_API void fy_autocast_guard_close(FyAutocastGuard *guard);

#endif
