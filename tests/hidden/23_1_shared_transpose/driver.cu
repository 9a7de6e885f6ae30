// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef FERRY_SIM
// What a warp's threads access at their n-th load (or store) is one request. A request to global memory takes as many
// sectors as it touches, one to shared memory as many passes as the fullest bank has words.
enum { MAX_ACCESSES = 1 << 17, MAX_THREADS = 1 << 16, WARP = 32, WORD = 4, SECTOR_WORDS = 8, BANKS = 32 };
enum { FOLLOWS = 8192 }; // elements: as many as a guard has
enum { GLOBAL_LOAD, GLOBAL_STORE, SHARED_LOAD, SHARED_STORE, KINDS };

typedef struct Access {
  uint64_t request, word; // request: kind, warp of the grid and turn
} Access;

typedef struct Tally {
  int64_t accesses, requests, parts; // parts: sectors or passes
} Tally;

static Access accesses[MAX_ACCESSES];
static uint16_t turns[MAX_THREADS][KINDS];
static Tally tallies[KINDS];
static int64_t access_count, barriers, behind; // behind: loads of what follows `in`
static bool counts_parts; // of requests: where the check asks for them, since to order all accesses takes a while
static const float *global_begin[2], *global_end[2];
static const Array
    *behind_load; // the elements of `in`, which are not where they seem to be: who goes past load reads NaN

static int is_global(const float *address) {
  return (address >= global_begin[0] && address < global_end[0]) ||
         (address >= global_begin[1] && address < global_end[1]);
}

static float value_at(const float *address, int write) {
  if (address >= global_begin[0] && address < global_end[0])
    return behind_load->f32[address - global_begin[0]];
  return write ? 0 : *address;
}

extern "C" float note_access(const float *address, int write) {
  int kind = (is_global(address) ? GLOBAL_LOAD : SHARED_LOAD) + (write ? 1 : 0);
  uint64_t block = blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
  uint64_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  uint64_t size = blockDim.x * blockDim.y * blockDim.z, warps = (size + WARP - 1) / WARP;
  tallies[kind].accesses++;
  behind += kind == SHARED_LOAD && address >= global_end[0] && address < global_end[0] + FOLLOWS;
  if (!counts_parts || access_count == MAX_ACCESSES || block * size + thread >= MAX_THREADS)
    return value_at(address, write);
  uint64_t turn = turns[block * size + thread][kind]++;
  accesses[access_count].request = (uint64_t)kind << 62 | (block * warps + thread / WARP) << 16 | turn;
  accesses[access_count++].word = (uint64_t)(uintptr_t)address / WORD;
  return value_at(address, write);
}

extern "C" void note_barrier(void) {
  barriers++;
}

static int by_request(const void *a, const void *b) {
  const Access *x = (const Access *)a, *y = (const Access *)b;
  return x->request != y->request ? (x->request > y->request) - (x->request < y->request)
                                  : (x->word > y->word) - (x->word < y->word);
}

// The parts of one request's accesses, which are sorted by word.
static int64_t parts_of(const Access *list, int64_t count, int global) {
  int64_t sectors = 0, fullest = 0, in_bank[BANKS] = {0};
  for (int64_t i = 0; i < count; i++) {
    if (i > 0 && list[i].word == list[i - 1].word)
      continue;
    sectors += i == 0 || list[i].word / SECTOR_WORDS != list[i - 1].word / SECTOR_WORDS;
    int64_t words = ++in_bank[list[i].word % BANKS];
    fullest = words > fullest ? words : fullest;
  }
  return global ? sectors : fullest;
}

static void tally_requests(void) {
  qsort(accesses, (size_t)access_count, sizeof accesses[0], by_request);
  for (int64_t begin = 0, end; begin < access_count; begin = end) {
    for (end = begin + 1; end < access_count && accesses[end].request == accesses[begin].request;)
      end++;
    int kind = (int)(accesses[begin].request >> 62);
    tallies[kind].requests++;
    tallies[kind].parts += parts_of(accesses + begin, end - begin, kind <= GLOBAL_STORE);
  }
}

static void put_parts(Driver *d) {
  tally_requests();
  driver_put_number(d, "sectors loaded", (double)tallies[GLOBAL_LOAD].parts);
  driver_put_number(d, "sectors stored", (double)tallies[GLOBAL_STORE].parts);
  driver_put_number(d, "shared requests", (double)(tallies[SHARED_LOAD].requests + tallies[SHARED_STORE].requests));
  driver_put_number(d, "shared passes", (double)(tallies[SHARED_LOAD].parts + tallies[SHARED_STORE].parts));
}

static void put_tallies(Driver *d) {
  driver_put_number(d, "barriers", (double)barriers);
  driver_put_number(d, "loads behind", (double)behind);
  driver_put_number(d, "loads", (double)tallies[GLOBAL_LOAD].accesses);
  driver_put_number(d, "stores", (double)tallies[GLOBAL_STORE].accesses);
  driver_put_number(d, "shared accesses", (double)(tallies[SHARED_LOAD].accesses + tallies[SHARED_STORE].accesses));
  if (counts_parts)
    put_parts(d);
  memset(turns, 0, sizeof turns); // for the next call
  memset(tallies, 0, sizeof tallies);
  access_count = barriers = behind = 0;
}

static void watch_memory(Driver *d, const float *in, const float *out, int64_t count) {
  counts_parts = driver_has(d, "traffic");
  global_begin[0] = in;
  global_end[0] = in + count;
  global_begin[1] = out;
  global_end[1] = out + count;
}

// NaN, and not the one that fresh memory holds.
static const float *decoy(Driver *d, const char *name, const Array *elements) {
  void *place = driver_device_new(d, name, FY_FLOAT32, elements->shape);
  float *nan = (float *)malloc((size_t)elements->count * sizeof *nan + 1);
  for (int64_t i = 0; nan && i < elements->count; i++)
    nan[i] = NAN;
  if (nan)
    cudaMemcpy(place, nan, (size_t)elements->count * sizeof *nan, cudaMemcpyHostToDevice);
  free(nan);
  return (const float *)place;
}

static const float *place(Driver *d, const Array *matrix) {
  behind_load = matrix;
  if (inspect_array)
    return (const float *)driver_device(d, "in");
  return decoy(d, "in", matrix);
}
#else // a GPU does not tell
static const float *place(Driver *d, const Array *) {
  return (const float *)driver_device(d, "in");
}
static void put_tallies(Driver *) {
}
static void watch_memory(Driver *, const float *, const float *, int64_t) {
}
#endif

void drive(Driver *d) {
  const Array *matrix = driver_array(d, "in");
  int64_t rows = matrix->shape.size[0], columns = matrix->shape.size[1];
  const float *in = place(d, matrix);
  Shape turned = {2, {columns, rows}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, turned);
  watch_memory(d, in, out, matrix->count);
  driver_count(d);
  transpose_on_device(out, in, (int)rows, (int)columns);
  driver_put_device(d, "out");
  put_tallies(d);
}
