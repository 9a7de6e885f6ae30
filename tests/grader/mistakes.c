// SPDX-License-Identifier: MIT
// The mistakes that many exercises have in common, in words. Those of an inspector's findings are in expect_inspect.c.
#include "exercise.h"

const Mistake NO_KERNEL = {"no kernel was launched",
                           "No launch was counted. Let a kernel on the device compute the result, at every size.",
                           "docs/20_the_first_kernel.md#host-and-device"};
const Mistake COMPUTED_ON_HOST = {"computed on the host",
                                  "Data was copied to the host, and the result came from there. The kernel's input and "
                                  "output stay in device memory; the host only launches it.",
                                  "docs/20_the_first_kernel.md#host-and-device"};
const Mistake NUMBER_FETCHED = {"value copied to the host",
                                "The host waited for the device to read a value. Decide on the device what depends on "
                                "it; then the host can queue all launches without waiting.",
                                "docs/28_streams.md#streams-and-events"};
const Mistake FIRST_CALL_ALONE = {"state kept between calls",
                                  "A second call in the same program gave another result. Variables that are static or "
                                  "__device__ keep their values between calls: set them in each call.",
                                  "docs/24_reductions.md#one-launch-or-two"};
const Mistake POINTER_ON_HOST = {"device pointer dereferenced on the host",
                                 "The host cannot read or write memory from cudaMalloc. Only kernels and CUDA's "
                                 "functions can; host code passes the pointer on to them.",
                                 "docs/20_the_first_kernel.md#host-and-device"};
const Mistake USED_AFTER_SCOPE = {"tensor used after its scope",
                                  "Tensors made within fy_scope { } are freed at its end. Keep a result beyond it with "
                                  "result = fy_keep(result), inside the scope.",
                                  "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
const Mistake GIVEN_UP = {"caller's tensor freed",
                          "You freed a tensor that belongs to the caller. fy_drop only what you made. Note that fy_to "
                          "and some others return their argument if there is nothing to do.",
                          "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
const Mistake USED_AFTER_FREE = {"use after free",
                                 "Memory was read, written or freed again after free or realloc. Move the free after "
                                 "the last use, and look for a second pointer to the same memory.",
                                 "docs/07_pitfalls.md#out-of-bounds-access-in-c"};
const Mistake INDEX_OUTSIDE = {"out-of-bounds index",
                               "An index is outside an array of yours, memory from malloc, or a tensor's data. How "
                               "many elements are there at most, and does the loop end there?",
                               "docs/07_pitfalls.md#out-of-bounds-access-in-c"};
const Mistake LAUNCH_REFUSED = {
    "invalid launch configuration",
    "A block has 1 to 1024 threads (x * y * z, with z at most 64), a grid at most 65535 blocks in y and in z. Beyond "
    "that the kernel does not run, and cudaGetLastError says so.",
    "docs/20_the_first_kernel.md#launch-errors-and-asynchronous-errors"};
const Mistake PAST_THE_END = {"out-of-bounds write",
                              "A thread writes beyond the end of an array. A grid usually has more threads than "
                              "elements: compare the index with the size before the access.",
                              "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake TRUNCATED = {"floats truncated to int",
                           "An int holds a float on the way, and its fraction is lost. Use float for all sums.",
                           "docs/24_reductions.md#tree-reduction-in-seven-steps"};
const Mistake NO_BLOCKS = {"empty grid",
                           "The number of blocks came to 0, and such a launch fails. Round up: (n + threads - 1) / "
                           "threads; if there is nothing to do, launch nothing.",
                           "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake NOT_WRITTEN = {"output elements not written",
                             "Some elements of the output keep the value they had before. Does each index have a "
                             "thread, and does each sum start at 0?",
                             "docs/20_the_first_kernel.md#grid-block-guard"};

const Mistake READ_PAST = {
    "out-of-bounds read",
    "A thread reads beyond the end of an array. Compare the index with the size before the access.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake READ_BEFORE = {"negative index",
                             "A thread reads at an index below 0. Which thread is it, and what should it do instead?",
                             "docs/32_debugging_kernels.md#out-of-bounds-access"};
const Mistake SHARED_OUTSIDE = {"out-of-bounds shared-memory access",
                                "A thread writes outside a __shared__ array, where the block's other arrays lie.",
                                "docs/23_shared_memory.md#shared-memory-and-barriers"};
const Mistake BLOCK_TOO_LARGE = {"more than 1024 threads per block",
                                 "The launch failed: a block has at most 1024 threads. Use more blocks.",
                                 "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake CALLERS_CHANGED = {"caller's tensor changed",
                                 "You changed a tensor that belongs to the caller. Functions that end in an underscore "
                                 "write to their first argument; the others make a new tensor.",
                                 "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake GRAD_LEFT = {"autograd left disabled",
                           "Autograd was enabled before the call and is disabled after it. fy_no_grad { } restores it "
                           "by itself; after fy_set_grad_enabled(false) restore what was before.",
                           "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake GRAD_SWITCHED_ON = {"autograd left enabled",
                                  "Autograd was disabled before the call and is enabled after it. fy_no_grad { } "
                                  "restores what was before; after fy_set_grad_enabled do so yourself.",
                                  "docs/07_pitfalls.md#in-place-operations-and-autograd"};
const Mistake STREAM_LEFT = {"current stream not restored",
                             "The current stream is not the one before the call, so the caller's operations go to the "
                             "wrong stream. fy_stream_guard { } restores it; after fy_set_stream do so yourself.",
                             "docs/04_benchmarks.md#several-streams"};
const Mistake DEVICE_LEFT = {"current device not restored",
                             "The current device is not the one before the call, so the caller's \"cuda\" means "
                             "another GPU. fy_device_guard { } restores it.",
                             "docs/06_several_gpus.md#choose-a-gpu"};
const Mistake AUTOCAST_LEFT = {
    "autocast not restored",
    "Autocast is not as it was before the call. Its block ends by itself; what you begin by hand, you must end.",
    "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
const Mistake MODE_LEFT = {"training mode not restored",
                           "The model is not in the mode (train or eval) it was in before the call. Store "
                           "model->training first, and restore it with fy_set_training_of.",
                           "docs/09_training_a_classifier.md#evaluation"};
const Mistake SCOPE_LEFT = {"scope left open",
                            "Close each fy_scope_open with fy_scope_close, or use fy_scope { }: otherwise all that the "
                            "caller makes from now on lands in your scope.",
                            "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};
