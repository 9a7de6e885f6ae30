// SPDX-License-Identifier: MIT
// The mistakes that many exercises have in common, in words. Those of an inspector's findings are in expect_inspect.c.
#include "exercise.h"

const Mistake NO_KERNEL = {"no kernel was launched",
                           "The result has to be computed by a kernel on the device; a loop on the CPU is not it.",
                           "docs/20_the_first_kernel.md#host-and-device"};
const Mistake COMPUTED_ON_HOST = {"computed on the host",
                                  "The data was copied to the host and computed there. Device memory is where the "
                                  "kernel finds its input and leaves its "
                                  "result; the host only launches it.",
                                  "docs/20_the_first_kernel.md#host-and-device"};
const Mistake NUMBER_FETCHED = {"a number fetched to the host",
                                "The host waited for the device, to read a number from there. What depends on it can "
                                "be decided on the device, and the host queues all launches without waiting.",
                                "docs/27_streams.md#queues"};
const Mistake FIRST_CALL_ALONE = {
    "right in the first call alone",
    "Called again in the same program, it does something else. What is static or __device__ keeps its value from one "
    "call to the next: set it in each call.",
    "docs/24_reductions.md#one-launch-or-two"};
const Mistake POINTER_ON_HOST = {"device memory used by the host",
                                 "The host cannot read or write memory from cudaMalloc: only kernels and CUDA's own "
                                 "functions can. Host code may pass the pointer on to them.",
                                 "docs/20_the_first_kernel.md#host-and-device"};
const Mistake USED_AFTER_SCOPE = {"used after its scope",
                                  "What is made within fy_scope { } is freed at its end. A result is handed out of it: "
                                  "result = fy_keep(result), in the scope.",
                                  "docs/03_tensor_moves.md#how-long-a-tensor-lives"};
const Mistake GIVEN_UP = {
    "the caller's tensor given up",
    "A tensor that the answer was given is the caller's, who still needs it: fy_drop is for what the answer made. "
    "Where nothing has to be moved or changed, fy_to and others return the tensor that they were given.",
    "docs/03_tensor_moves.md#how-long-a-tensor-lives"};
const Mistake SEED_CUT = {"the seed cut to 32 bits",
                          "Seeds that differ above their lowest 32 bits had the same order: seed is a uint64_t.",
                          "docs/08_data_pipeline.md#the-order-of-an-epoch"};
const Mistake USED_AFTER_FREE = {
    "memory used after it was freed",
    "What free or realloc has taken back is no longer the program's: it may not be read, written "
    "or freed again. Is it still needed where it is freed, or does another name for it live on?",
    "docs/07_pitfalls.md#an-index-outside-of-an-array"};
const Mistake INDEX_OUTSIDE = {
    "an index outside of an array",
    "An array that the answer declares, what it has from malloc, or a tensor's memory was read or written "
    "outside of its elements. How many can there be, and does the loop end there?",
    "docs/07_pitfalls.md#an-index-outside-of-an-array"};
const Mistake LAUNCH_REFUSED = {"the launch was refused",
                                "A block has at least 1 and at most 1024 threads (x times y times z, and z at most "
                                "64), a grid at most 65535 blocks in y "
                                "and in z. A launch beyond that runs nothing, and cudaGetLastError says so.",
                                "docs/20_the_first_kernel.md#errors-at-once-and-later"};
const Mistake PAST_THE_END = {
    "wrote past the end",
    "A grid has more threads than there are elements. Each thread has to compare its index with the size first.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake ADDED_WHOLE = {
    "added as whole numbers",
    "x holds floats, and somewhere on the way an int took their place: what is behind the point was lost.",
    "docs/24_reductions.md#seven-steps"};
const Mistake NO_BLOCKS = {"a grid of no blocks",
                           "A division came to 0 blocks, and such a launch is refused. Round up: (n + threads - 1) / "
                           "threads; and where there is nothing to do, launch nothing.",
                           "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake NOT_WRITTEN = {"elements left unwritten",
                             "Some elements of the output still hold what was in the memory before, or were only added "
                             "to: a sum begins with a 0 that "
                             "somebody writes. Does every index have its thread?",
                             "docs/20_the_first_kernel.md#grid-block-guard"};

const Mistake READ_PAST = {"memory read past the end",
                           "A thread beyond the last element has to leave the memory alone: to read there is an error "
                           "as well. The comparison with the "
                           "size comes before the access.",
                           "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake READ_BEFORE = {"memory read before the beginning",
                             "An index below 0 was used to read. Which thread has it, and what should it do?",
                             "docs/29_debugging_kernels.md#beyond-the-end"};
const Mistake SHARED_OUTSIDE = {"outside of a shared array",
                                "A thread wrote before the beginning or behind the end of an array in __shared__ "
                                "memory, where other arrays of the block lie.",
                                "docs/23_shared_memory.md#a-blocks-own-memory"};
const Mistake BLOCK_TOO_LARGE = {
    "a block of more than 1024 threads",
    "The launch was refused: a block has at most 1024 threads. More threads take more blocks.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
const Mistake CALLERS_CHANGED = {"the caller's tensor changed",
                                 "A tensor that was given is not what it was before the call. It is the caller's, who "
                                 "will need it again: an operation "
                                 "with an underscore writes into its first argument, one without makes a new tensor.",
                                 "docs/07_pitfalls.md#in-place-and-the-gradients"};
const Mistake GRAD_LEFT = {
    "gradients left off",
    "After the call autograd does not record as it did before. fy_no_grad { } ends by itself; what "
    "fy_set_grad_enabled switched has to be switched back.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
const Mistake GRAD_SWITCHED_ON = {"recording switched on",
                                  "Autograd did not record when the function was called, and does after it. fy_no_grad "
                                  "{ } ends by itself, and leaves what was; "
                                  "what fy_set_grad_enabled switched has to be switched back to what it was.",
                                  "docs/07_pitfalls.md#in-place-and-the-gradients"};
const Mistake STREAM_LEFT = {"another stream left current",
                             "After the call another stream is current than before, and the caller's operations go "
                             "there. fy_stream_guard { } puts "
                             "the old one back; after fy_set_stream that has to be done by hand.",
                             "docs/04_benchmarks.md#two-queues"};
const Mistake DEVICE_LEFT = {
    "another device left current",
    "After the call another device is current than before, and the caller's \"cuda\" means that "
    "one. fy_device_guard puts the old one back.",
    "docs/06_several_gpus.md#the-gpu-of-your-choice"};
const Mistake AUTOCAST_LEFT = {
    "autocast left switched",
    "After the call autocast is not as it was before. Its block ends by itself; what was opened by hand "
    "has to be closed.",
    "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
const Mistake MODE_LEFT = {
    "left in another mode",
    "The model is the caller's, who goes on with it. fy_eval and fy_train switch all that is in it; "
    "fy_set_training_of(model, model->training as it was) puts it back.",
    "docs/09_training_a_classifier.md#evaluation"};
const Mistake SCOPE_LEFT = {
    "a scope left open",
    "What fy_scope_open opens, fy_scope_close has to close: all that the caller makes from now on is "
    "in it. fy_scope { } does both.",
    "docs/03_tensor_moves.md#how-long-a-tensor-lives"};
