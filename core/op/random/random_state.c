// SPDX-License-Identifier: MIT
// The generator of the process: a seed and a position that every random op moves forward.
#include "op/random/random_state.h"
#include "base/philox.h"
#include "device/capture.h"
#include "device/runtime.h"
#include "tensor/impl.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FyRngState state;
static bool seeded;

// A program that sets no seed gets other numbers each time.
static void seed_once(void) {
  const FyRngState fallback = {.seed = 67280421310721u};
  if (seeded)
    return;
  seeded = true;
  if (getrandom(&state.seed, sizeof state.seed, GRND_NONBLOCK) != (ssize_t)sizeof state.seed)
    state = fallback;
}

void fy_manual_seed(uint64_t seed) {
  fy_check_not_capturing(-1, "Cannot call CUDAGeneratorImpl::set_current_seed");
  fy_set_rng_state((FyRngState){.seed = seed});
}

FyRngState fy_get_rng_state(void) {
  fy_check_not_capturing(-1, "Cannot call CUDAGeneratorImpl::current_seed");
  pthread_mutex_lock(&lock);
  seed_once();
  const FyRngState now = state;
  pthread_mutex_unlock(&lock);
  return now;
}

void fy_set_rng_state(FyRngState next) {
  fy_check_not_capturing(-1, "Cannot call CUDAGeneratorImpl::set_state");
  pthread_mutex_lock(&lock);
  state = next;
  seeded = true;
  pthread_mutex_unlock(&lock);
}

_Thread_local FyThreadRng fy_thread_rng;

static uint64_t bits_of(uint64_t seed, uint64_t counter) {
  const FyPhilox block = fy_philox(seed, counter);
  return (uint64_t)block.word[1] << 32 | block.word[0];
}

FyThreadRng fy_thread_rng_from(FyRngState reserved, int index) {
  const uint64_t seed = bits_of(bits_of(reserved.seed, reserved.offset), (uint64_t)index);
  return (FyThreadRng){.own = true, .state = {.seed = seed}};
}

FyRngState fy_rng_reserve(uint64_t blocks) {
  if (fy_thread_rng.own) {
    const FyRngState mine = fy_thread_rng.state;
    fy_thread_rng.state.offset += blocks;
    return mine;
  }
  pthread_mutex_lock(&lock);
  seed_once();
  const FyRngState mine = state;
  state.offset += blocks;
  pthread_mutex_unlock(&lock);
  return mine;
}

// ---- in CUDA graphs ----------------------------------------------------------------------------------------------------

// What a graph keeps of the generator: where its numbers begin, on the device, and how many blocks a replay draws.
typedef struct GraphRandom {
  FyGraphPart part;
  FyTensor *base; // counted
  uint64_t blocks;
} GraphRandom;

static const char key;

static void destroy_graph_random(void *object) {
  GraphRandom *random = object;
  fy_release(random->base);
  free(random);
}

// The block, run now, would take the generator's next numbers: so does the replay. CUDA has read the host's memory when the
// call returns, for it is not pinned.
static void before_replay(FyGraphPart *part, int device, void *stream) {
  const GraphRandom *random = (const GraphRandom *)part;
  if (random->blocks == 0)
    return;
  const FyRngState from = fy_rng_reserve(random->blocks);
  const uint64_t place[2] = {from.seed, from.offset};
  (void)device;
  fy_cuda_check(
      fy_backend_required()->copy(random->base->array.data, place, sizeof place, FY_COPY_HOST_TO_DEVICE, stream));
}

// Made before the capture, because the memory is set before a replay: in the graph's pool something that comes earlier in the
// graph may have worked there.
static void before_capture(FyCudaGraph *graph, int device) {
  fy_scope {
    GraphRandom *random = fy_object_new(sizeof *random, destroy_graph_random);
    random->part.key = &key;
    random->part.before_replay = before_replay;
    random->base = fy_retain(fy_new_tensor(FY_INT64, fy_cuda_device(device), 1, (const int64_t[]){2}, false));
    fy_graph_add_part(graph, &random->part);
  }
}

__attribute__((constructor)) static void hear_of_captures(void) {
  fy_before_capture = before_capture;
}

FyRngState fy_rng_reserve_on(FyDevice device, uint64_t blocks, FyTensor **base) {
  FyCudaGraph *graph =
      device.type == FY_CUDA && fy_is_capturing() ? fy_captured_into(device.index, fy_raw_stream(device.index)) : NULL;
  *base = NULL;
  if (!graph)
    return fy_rng_reserve(blocks);
  GraphRandom *random = (GraphRandom *)fy_graph_part(graph, &key);
  fy_check(fy_device_equal(random->base->device, device), FY_NOT_IMPLEMENTED_ERROR,
           "a CUDA graph captured on %s draws no random numbers on %s", fy_device_name_of(random->base->device),
           fy_device_name_of(device));
  const FyRngState place = {.offset = random->blocks};
  random->blocks += blocks;
  *base = random->base;
  return place;
}
