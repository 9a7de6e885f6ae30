// SPDX-License-Identifier: MIT
// The functions and types of CUDA's device library by name. The program's own declarations come first: a name that the program declares
// is not a library name (token_declared), and callers look at the program's definition instead.
#include <string.h>

#include "sim/compile/kernel.h"

static const char *const keywords[] = {"if",          "for",           "while",
                                       "switch",      "return",        "sizeof",
                                       "alignof",     "decltype",      "static_assert",
                                       "static_cast", "const_cast",    "alignas",
                                       "noexcept",    "operator",      "reinterpret_cast",
                                       "catch",       "__attribute__", "else",
                                       "do",          "case",          "__align__",
                                       NULL};

static const char *const types[] = {
    "void",     "bool",    "char",    "short",   "int",     "long",      "unsigned",   "signed",    "float",
    "double",   "size_t",  "int8_t",  "int16_t", "int32_t", "int64_t",   "uint8_t",    "uint16_t",  "uint32_t",
    "uint64_t", "uint",    "uchar",   "ushort",  "ulong",   "char2",     "char3",      "char4",     "uchar2",
    "uchar3",   "uchar4",  "short2",  "short4",  "ushort2", "ushort4",   "int2",       "int3",      "int4",
    "uint2",    "uint3",   "uint4",   "long2",   "ulong2",  "longlong2", "ulonglong2", "float2",    "float3",
    "float4",   "double2", "double3", "double4", "dim3",    "ptrdiff_t", "intptr_t",   "uintptr_t", NULL};

bool known_keyword(const struct tokens *t, int i) {
  return token_in(t, i, keywords);
}

// typedef unsigned int WORD; or using WORD = unsigned int;
static bool is_alias(const struct tokens *t, int i) {
  const int after = token_next(t, i), before = token_before(t, i);
  int at;
  if (token_is(t, before, "using") && token_is(t, after, "=")) {
    for (at = token_next(t, after); token_in(t, at, types); at = token_next(t, at))
      ;
    return token_is(t, at, ";") && at > token_next(t, after);
  }
  for (at = before; at >= 0 && token_in(t, at, types); at = token_before(t, at))
    ;
  return token_is(t, after, ";") && at != before && token_is(t, at, "typedef");
}

bool known_type(const struct tokens *t, int i) {
  if (token_in(t, i, types) && !token_declared(t, i))
    return true;
  bool alias = false;
  for (int at = t->all[i].kind == TOKEN_WORD && !token_is(t, i, "auto") ? token_last(t, i) : -1; at >= 0;
       at = t->all[at].same) {
    if (!token_same(t, at, i))
      continue;
    alias |= is_alias(t, at);
    if (!is_alias(t, at) && (token_is(t, at - 1, "struct") || token_is(t, at - 1, "class") ||
                             token_is(t, at - 1, "using") || token_is(t, at - 1, "typename")))
      return false; // or something else elsewhere
  }
  return alias;
}

// make_float4 and its like, with what they make.
static bool is_maker(const struct tokens *t, int i) {
  static const char *const others[] = {"half2", "bfloat162", NULL};
  struct token rest = t->all[i];
  const struct tokens one = {.all = &rest, .count = 1};
  if (!token_begins(t, i, "make_"))
    return false;
  rest.p += strlen("make_");
  rest.length -= (int)strlen("make_");
  return token_in(&one, 0, types) || token_in(&one, 0, others);
}

// The device's library has arithmetic of that name.
static bool is_math(const struct tokens *t, int i) {
  static const char *const functions[] = {
      "abs",    "labs",    "llabs", "fabs",    "sqrt",      "rsqrt",    "cbrt",   "rcbrt",     "exp",   "exp2",
      "exp10",  "expm1",   "log",   "log2",    "log10",     "log1p",    "pow",    "sin",       "cos",   "tan",
      "sinpi",  "cospi",   "asin",  "acos",    "atan",      "atan2",    "sinh",   "cosh",      "tanh",  "asinh",
      "acosh",  "atanh",   "erf",   "erfc",    "erfinv",    "tgamma",   "lgamma", "fmin",      "fmax",  "fmod",
      "fdim",   "fma",     "hypot", "floor",   "ceil",      "round",    "rint",   "nearbyint", "trunc", "copysign",
      "ldexp",  "scalbn",  "isnan", "isinf",   "isfinite",  "signbit",  "min",    "max",       "umin",  "umax",
      "lround", "llround", "lrint", "normcdf", "remainder", "saturate", NULL};
  static const char *const intrinsics[] = {"__exp",
                                           "__log",
                                           "__log2",
                                           "__log10",
                                           "__pow",
                                           "__sin",
                                           "__cos",
                                           "__tan",
                                           "__popc",
                                           "__popcll",
                                           "__clz",
                                           "__clzll",
                                           "__ffs",
                                           "__ffsll",
                                           "__brev",
                                           "__brevll",
                                           "__mul24",
                                           "__umul24",
                                           "__mulhi",
                                           "__umulhi",
                                           "__sad",
                                           "__usad",
                                           "__saturate",
                                           "__exp10",
                                           "__fdivide",
                                           "__byte_perm",
                                           "__dp4a",
                                           "__half2float",
                                           "__float2half",
                                           "__bfloat162float",
                                           "__float2bfloat16",
                                           "__int_as_float",
                                           "__float_as_int",
                                           "__uint_as_float",
                                           "__float_as_uint",
                                           "__hadd",
                                           "__hmul",
                                           "__hfma",
                                           "__hsub",
                                           "__rhadd",
                                           "__frcp_rn",
                                           "__fsqrt_rn",
                                           "__fmaf_rn",
                                           "__fmul_rn",
                                           "__fadd_rn",
                                           "__fsub_rn",
                                           "__fdiv_rn",
                                           "__float2int_rn",
                                           "__float2int_rd",
                                           "__float2int_ru",
                                           "__float2int_rz",
                                           "__int2float_rn",
                                           "__uint2float_rn",
                                           "__float2uint_rn",
                                           "__double2int_rn",
                                           "__builtin_inff",
                                           "__builtin_inf",
                                           "__builtin_huge_val",
                                           "__builtin_nanf",
                                           NULL};
  struct token word = t->all[i];
  if (is_maker(t, i) || token_in(t, i, functions) || token_in(t, i, intrinsics))
    return true;
  if (word.length < 3 || word.p[word.length - 1] != 'f')
    return false;
  word.length--; // sqrtf, __expf
  const struct tokens one = {.all = &word, .count = 1};
  return token_in(&one, 0, functions) || token_in(&one, 0, intrinsics);
}

bool known_math(const struct tokens *t, int i) {
  return is_math(t, i) && !token_declared(t, i);
}

bool known_wait(const struct tokens *t, int i) {
  static const char *const beginnings[] = {
      "__sync",     "__shfl",      "__ballot",          "__any",      "__all",           "__activemask", "__match",
      "__reduce_",  "__nanosleep", "__barrier",         "__pipeline", "tiled_partition", "cudaLaunch",   "cudaDevice",
      "cudaStream", "cudaEvent",   "coalesced_threads", NULL};
  static const char *const words[] = {"asm",   "__asm",     "__asm__",      "goto",         "try",
                                      "throw", "this_grid", "this_cluster", "memcpy_async", NULL};
  for (const char *const *b = beginnings; *b; b++)
    if (token_begins(t, i, *b))
      return true;
  return token_in(t, i, words);
}

static bool is_atomic(const struct tokens *t, int i) {
  return token_begins(t, i, "atomic") || token_begins(t, i, "__atomic");
}

bool known_atomic(const struct tokens *t, int i) {
  return token_is(t, i, "cuda") || (is_atomic(t, i) && !token_declared(t, i));
}

// Of these it makes a difference which thread calls, or what is in memory, and nothing else.
static bool is_harmless(const struct tokens *t, int i) {
  static const char *const words[] = {"printf",
                                      "assert",
                                      "__threadfence",
                                      "__threadfence_block",
                                      "__threadfence_system",
                                      "clock",
                                      "clock64",
                                      "cudasim_clock",
                                      "__ldg",
                                      "__ldcg",
                                      "__ldca",
                                      "__ldcs",
                                      "__stcs",
                                      "__stcg",
                                      "memcpy",
                                      "memset",
                                      NULL};
  return token_in(t, i, words);
}

bool known_harmless(const struct tokens *t, int i) {
  return is_harmless(t, i) && !token_declared(t, i);
}

bool known_library(const struct tokens *t, int i) {
  return is_math(t, i) || is_atomic(t, i) || is_harmless(t, i);
}
