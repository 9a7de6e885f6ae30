// SPDX-License-Identifier: MIT
// cuRAND's host functions: XORWOW with the order of the numbers that cuRAND's documentation gives (number i is of subsequence
// i mod 4096), and Philox in the order of one sequence. What a call generates is there when it returns.
#ifndef CUDASIM_CURAND_H
#define CUDASIM_CURAND_H
#define CURAND_H_ // what helper headers ask for

#include <memory>
#include <new>
#include <stddef.h>

#include "cuda_runtime_api.h"
#include "cudasim_random.h"
#include "cudasim_sobol.h"

#define CURAND_VERSION 10400

typedef enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;

typedef enum curandRngType {
  CURAND_RNG_TEST = 0,
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
} curandRngType_t;

typedef enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
  CURAND_ORDERING_QUASI_DEFAULT = 201
} curandOrdering_t;

struct curandGenerator_st {
  bool xorwow, host;
  int sobol; // bits of a quasi-random generator's numbers, or 0
  unsigned int dimensions;
  unsigned long long seed, offset;
  bool begun;
  size_t turn; // which of the 4096 is next
  cudaStream_t stream;
  std::unique_ptr<curandStateXORWOW[]> of_4096;
  curandStatePhilox4_32_10 philox;

  void begin(void) {
    begun = true;
    turn = 0;
    if (!xorwow) {
      curand_init(seed, 0, offset, &philox);
      return;
    }
    of_4096.reset(new curandStateXORWOW[4096]);
    for (unsigned int i = 0; i < 4096; i++) // an offset is a place in the generated order
      curand_init(seed, i, offset / 4096 + (i < offset % 4096), &of_4096[i]);
    turn = offset % 4096;
  }
  unsigned int next(void) {
    if (!begun)
      begin();
    return xorwow ? curand(&of_4096[turn++ % 4096]) : curand(&philox);
  }
};
typedef struct curandGenerator_st *curandGenerator_t;

namespace cudasim {

// Of a quasi-random generator: the numbers of the first dimension, then those of the second, and so on.
template <class T, class State, class Word, class Convert>
inline void fill_dimensions(curandGenerator_t g, T *to, size_t count, const Word *directions, size_t bits,
                            Convert convert) {
  const size_t each = count / g->dimensions;
  for (unsigned int d = 0; d < g->dimensions; d++) {
    State state;
    state.begin(directions + d * bits, g->offset + g->turn);
    for (size_t i = 0; i < each; i++)
      to[d * each + i] = convert(&state);
  }
  g->turn += each;
}
template <class T, class Convert> inline void fill_sobol(curandGenerator_t g, T *to, size_t count, Convert convert) {
  if (g->sobol == 32)
    fill_dimensions<T, curandStateSobol32>(g, to, count, sobol_vectors<unsigned int, 32>()[0], 32, convert);
  else
    fill_dimensions<T, curandStateSobol64>(g, to, count, sobol_vectors<unsigned long long, 64>()[0], 64, convert);
}

template <class T, class Make> inline curandStatus_t generate(curandGenerator_t g, T *to, size_t count, Make make) {
  if (g == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  if (g->sobol && count % g->dimensions)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (g->host) {
    make(to);
    return CURAND_STATUS_SUCCESS;
  }
  std::unique_ptr<T[]> numbers(new (std::nothrow) T[count]);
  if (!numbers)
    return CURAND_STATUS_ALLOCATION_FAILED;
  make(numbers.get());
  const cudaError_t error = cudaMemcpyAsync(to, numbers.get(), count * sizeof(T), cudaMemcpyDefault, g->stream);
  return error == cudaSuccess && cudaStreamSynchronize(g->stream) == cudaSuccess ? CURAND_STATUS_SUCCESS
                                                                                 : CURAND_STATUS_LAUNCH_FAILURE;
}

} // namespace cudasim

// Generators that are not simulated answer CURAND_STATUS_TYPE_ERROR.
static inline curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) {
  const int sobol = type == CURAND_RNG_QUASI_SOBOL64                                       ? 64
                    : type == CURAND_RNG_QUASI_SOBOL32 || type == CURAND_RNG_QUASI_DEFAULT ? 32
                                                                                           : 0;
  if (sobol == 0 && type != CURAND_RNG_PSEUDO_DEFAULT && type != CURAND_RNG_PSEUDO_XORWOW &&
      type != CURAND_RNG_PSEUDO_PHILOX4_32_10)
    return CURAND_STATUS_TYPE_ERROR;
  *generator = new (std::nothrow) curandGenerator_st();
  if (*generator == nullptr)
    return CURAND_STATUS_ALLOCATION_FAILED;
  (*generator)->xorwow = type != CURAND_RNG_PSEUDO_PHILOX4_32_10;
  (*generator)->sobol = sobol;
  (*generator)->dimensions = 1;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type) {
  const curandStatus_t status = curandCreateGenerator(generator, type);
  if (status == CURAND_STATUS_SUCCESS)
    (*generator)->host = true;
  return status;
}
static inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandGetVersion(int *version) {
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  generator->begun = false;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  generator->begun = false;
  generator->turn = 0;
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int n) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  if (generator->sobol == 0)
    return CURAND_STATUS_TYPE_ERROR;
  if (n < 1 || n > cudasim::SOBOL_DIMENSIONS)
    return CURAND_STATUS_OUT_OF_RANGE;
  generator->dimensions = n;
  generator->turn = 0;
  return CURAND_STATUS_SUCCESS;
}
// As many dimensions as are there (21), not NVIDIA's 20,000.
static inline curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t **vectors,
                                                         curandDirectionVectorSet_t set) {
  if (set != CURAND_DIRECTION_VECTORS_32_JOEKUO6)
    return CURAND_STATUS_OUT_OF_RANGE;
  *vectors = cudasim::sobol_vectors<unsigned int, 32>();
  return CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t **vectors,
                                                         curandDirectionVectorSet_t set) {
  if (set != CURAND_DIRECTION_VECTORS_64_JOEKUO6)
    return CURAND_STATUS_OUT_OF_RANGE;
  *vectors = cudasim::sobol_vectors<unsigned long long, 64>();
  return CURAND_STATUS_SUCCESS;
}
// One order is all there is; a seeded one is not simulated.
static inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  return order == CURAND_ORDERING_PSEUDO_SEEDED || (order == CURAND_ORDERING_QUASI_DEFAULT) != (generator->sobol != 0)
             ? CURAND_STATUS_OUT_OF_RANGE
             : CURAND_STATUS_SUCCESS;
}
static inline curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  if (generator == nullptr)
    return CURAND_STATUS_NOT_INITIALIZED;
  if (!generator->begun && generator->sobol == 0)
    generator->begin();
  return CURAND_STATUS_SUCCESS;
}

static inline curandStatus_t curandGenerate(curandGenerator_t g, unsigned int *to, size_t count) {
  if (g && g->sobol == 64)
    return CURAND_STATUS_TYPE_ERROR;
  return cudasim::generate(g, to, count, [=](unsigned int *x) {
    if (g->sobol)
      return cudasim::fill_sobol(g, x, count, [](auto *state) { return (unsigned int)curand(state); });
    for (size_t i = 0; i < count; i++)
      x[i] = g->next();
  });
}
static inline curandStatus_t curandGenerateUniform(curandGenerator_t g, float *to, size_t count) {
  return cudasim::generate(g, to, count, [=](float *x) {
    if (g->sobol)
      return cudasim::fill_sobol(g, x, count, [](auto *state) { return curand_uniform(state); });
    for (size_t i = 0; i < count; i++)
      x[i] = cudasim::uniform(g->next());
  });
}
static inline curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double *to, size_t count) {
  return cudasim::generate(g, to, count, [=](double *x) {
    if (g->sobol)
      return cudasim::fill_sobol(g, x, count, [](auto *state) { return curand_uniform_double(state); });
    for (size_t i = 0; i < count; i++) {
      const unsigned int low = g->next();
      x[i] = cudasim::uniform_double(low, g->next());
    }
  });
}
// Two at a time, as cuRAND wants it.
static inline curandStatus_t curandGenerateNormal(curandGenerator_t g, float *to, size_t count, float mean,
                                                  float deviation) {
  if (g && g->sobol) // normal numbers of a quasi-random generator are not simulated
    return CURAND_STATUS_TYPE_ERROR;
  if (count % 2)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return cudasim::generate(g, to, count, [=](float *x) {
    for (size_t i = 0; i < count; i += 2) {
      const unsigned int first = g->next();
      const float2 pair = cudasim::normal_pair(first, g->next());
      x[i] = mean + deviation * pair.x;
      x[i + 1] = mean + deviation * pair.y;
    }
  });
}
static inline curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double *to, size_t count, double mean,
                                                        double deviation) {
  if (g && g->sobol) // normal numbers of a quasi-random generator are not simulated
    return CURAND_STATUS_TYPE_ERROR;
  if (count % 2)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return cudasim::generate(g, to, count, [=](double *x) {
    for (size_t i = 0; i < count; i += 2) {
      unsigned int word[4];
      for (unsigned int &w : word)
        w = g->next();
      const double2 pair = cudasim::normal_pair_double(word[0], word[1], word[2], word[3]);
      x[i] = mean + deviation * pair.x;
      x[i + 1] = mean + deviation * pair.y;
    }
  });
}

#endif
