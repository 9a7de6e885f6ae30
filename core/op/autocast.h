// SPDX-License-Identifier: MIT
// Mixed precision: torch.autocast. In a region, matrix products and convolutions run in a half type and what needs float32
// runs in float32, whatever the inputs' types; the tensors themselves stay as they are.
//
//   fy_autocast(FY_CUDA) {
//     loss = fy_cross_entropy(fy_forward(model, x), y); // products in float16, the loss in float32
//   }
//   fy_backward(loss); // outside: each op's backward runs in the type that its forward chose
//
// Each op's record says what autocast does with its inputs on a CPU and on CUDA (op/op.h); PyTorch's lists for the two differ.
// Casts are recorded, so that a float32 parameter has a float32 gradient. Calls in place are left alone, and float64 too.
#ifndef FERRY_OP_AUTOCAST_H
#define FERRY_OP_AUTOCAST_H

#include "base/options.h"
#include "device/device.h"
#include "tensor/dtype.h"

// with torch.autocast(device_type, dtype, enabled, cache_enabled): fy_autocast(FY_CUDA) { ... },
// fy_autocast(device.type, .dtype = FY_BFLOAT16, .enabled = use_amp) { ... }. Applies to ops on tensors of that device type, in
// the calling thread; regions nest, and an inner one with .enabled = false computes in the inputs' own types. Errors
// that leave the region restore what was before it, and so do return, break and goto.
//   dtype          0 means what fy_get_autocast_dtype(device_type) says: float16 on CUDA, bfloat16 on a CPU at first
//   enabled        true unless it is named
//   cache_enabled  as in the region around it, true at first, unless it is named. While it is, a float32 leaf that requires
//                  grad is cast once, and the cast is used until the outermost region of the thread ends. So, as in PyTorch, what
//                  changes it within the region (an optimizer's step) is not seen before that, or fy_clear_autocast_cache().
// Threads of DataParallel and fy_parallel_apply go on with the caller's settings, its dtype included (PyTorch's forget that).
// Warns, and leaves autocast off, where there is no CUDA, and for a dtype that is not float16 or bfloat16 (on CUDA another
// floating type is taken, as in PyTorch). Raises FY_RUNTIME_ERROR for another device type.
typedef struct FyAutocast {
  int device_type; // FY_CPU or FY_CUDA
  FyDType dtype;
  bool enabled, cache_enabled;
  const char *named; // the arguments' text, by the macro: what is named in it. NULL: `enabled` and `cache_enabled` hold
} FyAutocast;
#define fy_autocast(...)                                                                                               \
  for (FY_AT_END(fy_autocast_guard_close) FyAutocastGuard fy_autocast_guard =                                          \
           fy_autocast_guard_open((FyAutocast){.named = FY_TEXT_OF(__VA_ARGS__), .device_type = __VA_ARGS__});         \
       fy_autocast_guard.open; fy_autocast_guard_close(&fy_autocast_guard))

FY_API bool fy_is_autocast_enabled(int device_type);   // torch.is_autocast_enabled("cuda")
FY_API FyDType fy_get_autocast_dtype(int device_type); // torch.get_autocast_dtype("cuda"), also where it is not enabled
FY_API bool fy_is_autocast_cache_enabled(void);        // torch.is_autocast_cache_enabled()
FY_API void fy_clear_autocast_cache(void);             // torch.clear_autocast_cache(), of the calling thread
FY_API bool
fy_is_autocast_available(int device_type); // torch.amp.is_autocast_available("cuda"): may be given to fy_autocast

// What the macro expands to.
typedef struct FyAutocastGuard {
  int device_type;
  FyDType dtype;
  bool enabled, cache_enabled, open; // of before
} FyAutocastGuard;
FY_API FyAutocastGuard fy_autocast_guard_open(FyAutocast options);
FY_API void fy_autocast_guard_close(FyAutocastGuard *guard);

#endif
