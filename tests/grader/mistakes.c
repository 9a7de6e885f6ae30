// SPDX-License-Identifier: MIT
// The mistakes that many exercises have in common, in words. Those of an inspector's findings are in expect_inspect.c.
#include "exercise.h"

const Mistake NO_KERNEL = {"no kernel was launched",
                           "Your function launched no kernel. Compute the result in a kernel, for every input size.",
                           "docs/20_the_first_kernel.md#host-and-device"};
const Mistake COMPUTED_ON_HOST = {"computed on the host",
                                  "Your function copied data to the host. Leave the input and the output in device "
                                  "memory, and compute the result in a kernel. The host only launches it.",
                                  "docs/20_the_first_kernel.md#host-and-device"};
const Mistake NUMBER_FETCHED = {"value copied to the host",
                                "The host copied a value from the device and waited for it. Use the value in a kernel "
                                "instead, so that the host can queue all launches without waiting.",
                                "docs/28_streams.md#streams-and-events"};
const Mistake FIRST_CALL_ALONE = {"state kept between calls",
                                  "A second call in the same program gave a different result. Static and __device__ "
                                  "variables keep their values between calls. Initialize them in each call.",
                                  "docs/24_reductions.md#one-launch-or-two"};
const Mistake POINTER_ON_HOST = {"device pointer dereferenced on the host",
                                 "Host code cannot read or write memory from cudaMalloc. Pass the pointer to a kernel, "
                                 "or to a CUDA function such as cudaMemcpy.",
                                 "docs/20_the_first_kernel.md#host-and-device"};
const Mistake USED_AFTER_SCOPE = {"tensor used after its scope",
                                  "Tensors that are created inside fy_scope { } are freed when the scope ends. To use "
                                  "a result afterward, call result = fy_keep(result) inside the scope.",
                                  "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
const Mistake GIVEN_UP = {"caller's tensor freed",
                          "You freed a tensor that belongs to the caller. Call fy_drop only for tensors that you "
                          "created. Some functions, such as fy_to, return their argument if they have nothing to do.",
                          "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
const Mistake USED_AFTER_FREE = {"use after free",
                                 "Your code reads, writes or frees memory after free or realloc. Call free after the "
                                 "last use, and look for a second pointer to the same memory.",
                                 "docs/07_pitfalls.md#out-of-bounds-access-in-c"};
const Mistake INDEX_OUTSIDE = {"out-of-bounds index",
                               "An index is outside the bounds of an array, of memory from malloc, or of a tensor's "
                               "data. Compare the last index of the loop with the number of elements.",
                               "docs/07_pitfalls.md#out-of-bounds-access-in-c"};
const Mistake LAUNCH_REFUSED = {
    "invalid launch configuration",
    "A block has 1 to 1024 threads (x * y * z, with z at most 64), and a grid has at most 65535 blocks in y and in z. "
    "If a launch exceeds a limit, the kernel does not run, and cudaGetLastError returns an error.",
    "docs/20_the_first_kernel.md#launch-errors-and-asynchronous-errors"};
const Mistake PAST_THE_END = {"out-of-bounds write",
                              "A thread writes outside the bounds of an array. A grid usually has more threads than "
                              "the array has elements. Compare the index with the size before the access.",
                              "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake TRUNCATED = {"floats truncated to int",
                           "A float is stored in an int, which drops its fraction. Use float for all sums.",
                           "docs/24_reductions.md#tree-reduction-in-seven-steps"};
const Mistake NO_BLOCKS = {"empty grid",
                           "A launch with 0 blocks fails. Round the number of blocks up: (n + threads - 1) / threads. "
                           "If n is 0, launch no kernel.",
                           "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake NOT_WRITTEN = {"output elements not written",
                             "Some elements of the output still have their old values. Make sure that each element has "
                             "a thread, and that each sum starts at 0.",
                             "docs/20_the_first_kernel.md#grid-block-guard"};

const Mistake READ_PAST = {
    "out-of-bounds read", "A thread reads past the end of an array. Compare the index with the size before the access.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake READ_BEFORE = {
    "negative index",
    "A thread reads an element at a negative index. Which thread is it, and what should it do instead?",
    "docs/32_debugging_kernels.md#out-of-bounds-access"};
const Mistake SHARED_OUTSIDE = {"out-of-bounds shared-memory access",
                                "A thread writes outside the bounds of a __shared__ array and may overwrite the "
                                "block's other arrays. Compare the index with the size of the array.",
                                "docs/23_shared_memory.md#shared-memory-and-barriers"};
const Mistake BLOCK_TOO_LARGE = {
    "more than 1024 threads per block",
    "The launch failed because a block can have at most 1024 threads. Use smaller blocks, and more of them.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake CALLERS_CHANGED = {
    "caller's tensor changed",
    "You changed a tensor that belongs to the caller. Functions whose names end in an underscore write to their first "
    "argument. Use the functions without an underscore, which leave it unchanged.",
    "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake GRAD_LEFT = {"autograd left disabled",
                           "Autograd was enabled before the call and is disabled after it. Use fy_no_grad { }, which "
                           "restores the previous mode. After fy_set_grad_enabled(false), restore it yourself.",
                           "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake GRAD_SWITCHED_ON = {"autograd left enabled",
                                  "Autograd was disabled before the call and is enabled after it. Use fy_no_grad { }, "
                                  "which restores the previous mode. After fy_set_grad_enabled, restore it yourself.",
                                  "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake STREAM_LEFT = {
    "current stream not restored",
    "The call changed the current stream, so the caller's next operations run on the wrong stream. Use "
    "fy_stream_guard, which restores the previous stream. After fy_set_stream, restore it yourself.",
    "docs/04_benchmarks.md#several-streams"};
const Mistake DEVICE_LEFT = {"current device not restored",
                             "The call changed the current device, so \"cuda\" now means a different GPU for the "
                             "caller. Use fy_cuda_device_guard, which restores the previous device.",
                             "docs/06_several_gpus.md#choose-a-gpu"};
const Mistake AUTOCAST_LEFT = {"autocast not restored",
                               "The call changed the autocast state. Use a block fy_autocast(...) { }, which restores "
                               "the previous state. If you open a guard yourself, close it before you return.",
                               "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
const Mistake MODE_LEFT = {"training mode not restored",
                           "The call changed the model's mode (training or evaluation). Store model->training before "
                           "you change the mode, and restore it with fy_set_training_of.",
                           "docs/09_training_a_classifier.md#evaluation"};
const Mistake SCOPE_LEFT = {"scope left open",
                            "A scope that you opened is still open, so it would own the tensors that the caller "
                            "creates next. Close each fy_scope_open with fy_scope_close, or use fy_scope { }.",
                            "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
