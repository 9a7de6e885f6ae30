// SPDX-License-Identifier: MIT
// The kinds of findings: their titles, and what to do about them.
#include "inspect/report/inspection.h"
#include <string.h>

// Sorted so that, in one line, causes come before effects: an out-of-bounds access may race with others where it ends
// up.
static const InspectKind kinds[] = {
    {"bounds-global", "out of bounds in device memory",
     "Compare the index with the number of elements before the access.", false},
    {"bounds-array", "out of bounds in an array",
     "The index exceeds the declared size: check its range, or the array's size.", false},
    {"bounds-dynamic", "out of bounds in dynamic shared memory",
     "Pass more bytes as the third launch argument, or check the index.", false},
    {"misaligned", "misaligned access",
     "The address of a vector must be a multiple of its size, or a GPU stops with an error: step by whole vectors.",
     false},
    {"freed", "use after free", "Free the memory after the last launch that uses it.", false},
    {"illegal", "illegal address",
     "The pointer does not point to device memory. Was it allocated on the device, and is its index right?", false},
    {"argument", "host pointer passed to a kernel", "Allocate the memory with cudaMalloc, and copy the data to it.",
     false},
    {"constant", "write to constant memory",
     "Kernels can only read __constant__ variables: write to device memory, or let the host call cudaMemcpyToSymbol.",
     false},
    {"race-block", "data race within a block",
     "Put a __syncthreads() between the two accesses, where every thread of the block reaches it.", false},
    {"race-warp", "data race within a warp",
     "Put a __syncwarp() between the two accesses: the lanes of a warp do not run in lockstep.", false},
    {"race-grid", "data race between blocks",
     "Blocks run in any order: use an atomic, or an atomic flag and a __threadfence() in both blocks, or two launches.",
     false},
    {"race-stream", "data race between streams",
     "Record an event after the first operation and let the other stream wait for it, or use one stream for both.",
     false},
    {"race-async", "shared memory read before its asynchronous copy has completed",
     "Wait for the copy (__pipeline_wait_prior) and then, with a barrier, for the other threads.", false},
    {"race-host", "data race with the host",
     "Wait for the device, the stream, or an event recorded after the work, before the host accesses that memory.",
     false},
    {"equal", "concurrent writes of the same value",
     "Several threads write the same value. That is harmless, but one of them is enough.", true},
    {"divergent", "divergent barrier (deadlock)",
     "Not every thread of the block reaches this __syncthreads(). Move it out of the branch.", false},
    {"divergent-grid", "divergent grid barrier (deadlock)",
     "Not every block of the grid reaches this grid.sync(). Move it out of the branch, or let no block return before "
     "it.",
     false},
    {"lanes", "divergent warp function (deadlock)",
     "Every lane in the mask must execute the call. Move it out of the branch, or pass the mask of the lanes that take "
     "the branch.",
     false},
    {"livelock", "polling loop that never ends (deadlock)",
     "No thread changes the value that the loop reads. Is it volatile or atomic, and does the other thread reach its "
     "write?",
     false},
    {"uninitialized-shared", "read of uninitialized shared memory",
     "Write the element first. If another thread writes it, put a __syncthreads() between write and read.", false},
    {"uninitialized-global", "read of uninitialized device memory",
     "Initialize it first, with cudaMemset, a copy or a kernel.", false},
    {"leak", "memory leak", "Free the memory (cudaFree, cudaFreeHost) when it is no longer needed.", false},
    {"unfinished", "program ended without waiting for the device",
     "A process that ends stops its kernels: call cudaDeviceSynchronize() and check its result before main returns.",
     true},
    {"barrier", "redundant barrier",
     "It does not order any accesses of different threads, so the kernel may not need it.", true}};

const InspectKind *inspect_kind(const char *id) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(kinds[i].id, id) == 0)
      return &kinds[i];
  return NULL;
}
