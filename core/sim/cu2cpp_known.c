// What the functions and names are that a kernel uses. Whatever is not known for certain counts as what is in the way.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cu2cpp_split.h"

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
  if (token_in(t, i, types))
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

bool known_math(const struct tokens *t, int i) {
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
  if (token_begins(t, i, "make_"))
    return true;
  if (token_in(t, i, functions) || token_in(t, i, intrinsics))
    return true;
  if (word.length < 3 || word.p[word.length - 1] != 'f')
    return false;
  word.length--; // sqrtf, __expf
  const struct tokens one = {.all = &word, .count = 1};
  return token_in(&one, 0, functions) || token_in(&one, 0, intrinsics);
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

bool known_atomic(const struct tokens *t, int i) {
  return token_begins(t, i, "atomic") || token_begins(t, i, "__atomic") || token_is(t, i, "cuda");
}

// ---- functions -----------------------------------------------------------------------------------------------------------

// The body's brace of a function whose name is at i and is defined there, or -1.
static int definition(const struct tokens *t, int i) {
  int at = token_next(t, i);
  if (!token_is(t, at, "(") || t->all[at].match < at)
    return -1;
  const int before = token_before(t, i);
  if (token_is(t, before, ".") || token_is(t, before, "->"))
    return -1;
  at = token_next(t, t->all[at].match);
  while (token_is(t, at, "const") || token_is(t, at, "noexcept") || token_is(t, at, "__restrict__"))
    at = token_next(t, at);
  if (token_is(t, at, "->") || token_is(t, at, ":")) // a result's type, what a constructor begins with
    while (at < t->count && !token_is(t, at, "{") && !token_is(t, at, ";"))
      at = token_is(t, at, "(") && t->all[at].match > at ? t->all[at].match + 1 : at + 1;
  return token_is(t, at, "{") && t->all[at].match > at ? at : -1;
}

// How many there are between the brackets behind the name at i.
static int count_arguments(const struct tokens *t, int i) {
  int open = token_next(t, i), count = 1;
  if (token_is(t, open, "<"))
    open = token_past_angles(t, open);
  const int close = t->all[open].match;
  for (int at = token_argument_end(t, open + 1, close); at < close; at = token_argument_end(t, at + 1, close))
    count++;
  return close > open + 1 ? count : 0;
}

int known_function(const struct tokens *t, int i) {
  int found = -1;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || definition(t, at) < 0 || count_arguments(t, at) != count_arguments(t, i))
      continue;
    if (found >= 0 || t->all[at].depth > 0)
      return -1;
    found = at;
  }
  return found;
}

int known_body(const struct tokens *t, int name) {
  return definition(t, name);
}

static const struct macro *macro_of(const struct tokens *t, int i, const struct macro *after) {
  for (const struct macro *m = after ? after + 1 : t->macros; m < t->macros + t->macro_count; m++)
    if (token_same(t, m->name, i))
      return m;
  return NULL;
}

enum { DEEPEST = 12 };

static bool clean_call(const struct tokens *t, int i, struct call_facts *facts, int depth);

static bool is_loop(const struct tokens *t, int i) {
  return token_is(t, i, "for") || token_is(t, i, "while") || token_is(t, i, "do");
}

static bool clean_body(const struct tokens *t, int begin, int end, struct call_facts *facts, int depth) {
  bool loop = false;
  for (int i = begin; i < end; i++) {
    if (token_is(t, i, "<<<"))
      return false;
    facts->numbered |= token_is(t, i, "threadIdx");
    facts->tied |= token_is(t, i, "threadIdx") || token_is(t, i, "blockIdx") || known_tied(t, i);
    if (t->all[i].kind != TOKEN_WORD)
      continue;
    if (known_wait(t, i) || (macro_of(t, i, NULL) && known_bad_macro(t, i)))
      return false;
    loop |= is_loop(t, i);
    facts->atomic |= known_atomic(t, i);
    int next = token_next(t, i);
    if (token_is(t, next, "<"))
      next = token_past_angles(t, next);
    const int before = token_before(t, i);
    const bool declares = before >= begin && t->all[before].kind == TOKEN_WORD && !known_keyword(t, before);
    if (token_is(t, next, "(") && !declares && !known_atomic(t, i) && !clean_call(t, i, facts, depth + 1))
      return false;
  }
  return !(loop && facts->atomic); // it may wait for another thread
}

static bool is_type_parameter(const struct tokens *t, int i) {
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same)
    if (token_same(t, at, i) && (token_is(t, at - 1, "typename") || token_is(t, at - 1, "class")))
      return true;
  return false;
}

static bool clean_call(const struct tokens *t, int i, struct call_facts *facts, int depth) {
  static const char *const harmless[] = {"printf",
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
  if (known_keyword(t, i) || known_type(t, i) || known_math(t, i))
    return true;
  if (token_in(t, i, harmless)) {
    facts->numbered = true;
    return true;
  }
  static int asked[DEEPEST + 1]; // the calls that this one is within
  if (depth > DEEPEST)
    return false;
  for (int d = 0; d < depth; d++)
    if (token_same(t, asked[d], i))
      return true;
  asked[depth] = i;
  bool found = false;
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));) {
    found = true;
    if (known_bad_macro(t, i) || !clean_body(t, m->begin, m->end, facts, depth))
      return false;
  }
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    const int brace = token_same(t, at, i) ? definition(t, at) : -1;
    if (brace < 0)
      continue;
    found = true;
    if (!clean_body(t, brace, t->all[brace].match, facts, depth))
      return false;
  }
  return found || is_type_parameter(t, i);
}

bool known_clean_call(const struct tokens *t, int i, struct call_facts *facts) {
  *facts = (struct call_facts){0};
  return clean_call(t, i, facts, 0);
}

bool known_const_method(const struct tokens *t, int i) {
  bool found = false;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || definition(t, at) < 0)
      continue;
    found = true;
    if (!token_is(t, token_next(t, t->all[token_next(t, at)].match), "const"))
      return false;
  }
  return found;
}

bool known_by_reference(const struct tokens *t, int i) {
  if (known_keyword(t, i) || known_type(t, i) || known_math(t, i) || token_is(t, i, "printf") ||
      token_is(t, i, "assert") || token_begins(t, i, "cudasim_warp_") || token_begins(t, i, "cudasim_vote_"))
    return false;
  bool found = false;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || definition(t, at) < 0)
      continue;
    const int open = token_next(t, at);
    found = true;
    for (int p = open; p < t->all[open].match; p++)
      if (token_is(t, p, "&") || token_is(t, p, "&&") || token_is(t, p, "..."))
        return true;
  }
  return !found || macro_of(t, i, NULL) != NULL;
}

// ---- macros and constants ------------------------------------------------------------------------------------------------

bool known_bad_macro(const struct tokens *t, int i) {
  static const char *const bad[] = {"return",  "break", "continue",  "goto",       "if",  "else", "case",
                                    "default", ";",     "{",         "}",          "#",   "##",   "=",
                                    "++",      "--",    "threadIdx", "__shared__", "<<<", NULL};
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (token_in(t, at, bad) || (t->all[at].kind == TOKEN_WORD && known_wait(t, at)))
        return true;
  return false;
}

static bool tied(const struct tokens *t, int i, int depth) {
  static const char *const words[] = {"printf",
                                      "assert",
                                      "__assert_fail",
                                      "__trap",
                                      "__builtin_trap",
                                      "__brkpt",
                                      "volatile",
                                      "clock",
                                      "clock64",
                                      "cudasim_clock",
                                      "static",
                                      "__shared__",
                                      "__cudasim_shared__",
                                      "thread_local",
                                      NULL};
  if (token_in(t, i, words) || token_begins(t, i, "__threadfence"))
    return true;
  for (const struct macro *m = NULL; depth < DEEPEST && (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (t->all[at].kind == TOKEN_WORD && (token_is(t, at, "threadIdx") || token_is(t, at, "blockIdx") ||
                                            token_is(t, at, "blockDim") || tied(t, at, depth + 1)))
        return true;
  return depth == DEEPEST;
}

bool known_tied(const struct tokens *t, int i) {
  return tied(t, i, 0);
}

static bool macro_names(const struct tokens *t, int i, int name, int depth) {
  for (const struct macro *m = NULL; depth < DEEPEST && (m = macro_of(t, i, m));)
    for (int at = m->begin; at < m->end; at++)
      if (t->all[at].kind == TOKEN_WORD && (token_same(t, at, name) || macro_names(t, at, name, depth + 1)))
        return true;
  return false;
}

bool known_macro_names(const struct tokens *t, int i, int name) {
  return macro_names(t, i, name, 0);
}

static bool constant(const struct tokens *t, int i, long *value, int depth);

static bool constant_range(const struct tokens *t, int begin, int end, long *value, int depth) {
  static const char *const signs[] = {"+", "-", "*", "/", "%", "(", ")",  "<<", ">",  "<",  "==", "!=",
                                      "&", "|", "^", "~", "?", ":", "&&", "||", "<=", ">=", "!",  NULL};
  *value = -1;
  while (end - begin > 2 && token_is(t, begin, "(") && t->all[begin].match == end - 1)
    begin++, end--;
  for (int i = begin; i < end; i++) {
    long one = -1;
    const struct token *token = &t->all[i];
    if (token->kind == TOKEN_WORD ? !known_type(t, i) && !token_is(t, i, "sizeof") && !constant(t, i, &one, depth + 1)
                                  : token->kind == TOKEN_SIGN && !token_in(t, i, signs))
      return false;
    if (token->kind == TOKEN_DIRECTIVE)
      return false;
    if (end - begin == 1)
      *value = token->kind == TOKEN_NUMBER ? strtol(token->p, NULL, 0) : one;
  }
  return end > begin;
}

static bool is_enumerator(const struct tokens *t, int i) {
  const int brace = t->all[i].within;
  if (brace < 0 || !token_is(t, brace, "{") || t->all[brace].depth != 0)
    return false;
  int at = brace - 1;
  while (at >= 0 && brace - at < 6 && !token_is(t, at, ";") && !token_is(t, at, "}") && !token_is(t, at, "enum"))
    at--;
  const int before = token_before(t, i);
  return at >= 0 && token_is(t, at, "enum") && (before == brace || token_is(t, before, ","));
}

// A number of the whole text that its declaration says to be constant. threadIdx, a constexpr object, is none.
static bool is_constant_variable(const struct tokens *t, int i) {
  if (t->all[i].depth != 0 || t->all[i].within >= 0 ||
      (!token_is(t, token_next(t, i), "=") && !token_is(t, token_next(t, i), "{")))
    return false;
  bool is_constant = false;
  for (int at = token_before(t, i); at >= 0; at = token_before(t, at)) {
    if (token_is(t, at, ";") || token_is(t, at, "}") || token_is(t, at, "{"))
      break;
    const bool says_so = token_is(t, at, "const") || token_is(t, at, "constexpr");
    if (!says_so && !known_type(t, at) && !token_is(t, at, "static") && !token_is(t, at, "inline"))
      return false;
    is_constant |= says_so;
  }
  return is_constant;
}

// The value's tokens of a name that begins at i: up to a comma or semicolon.
static int value_end(const struct tokens *t, int i) {
  while (i < t->count && !token_is(t, i, ",") && !token_is(t, i, ";") && !token_is(t, i, "}"))
    i = token_is(t, i, "(") && t->all[i].match > i ? t->all[i].match + 1 : i + 1;
  return i;
}

static bool constant(const struct tokens *t, int i, long *value, int depth) {
  static const char *const standard[] = {"true",    "false",   "nullptr",  "NULL",    "warpSize",
                                         "INT_MAX", "INT_MIN", "UINT_MAX", "FLT_MAX", "FLT_MIN",
                                         "DBL_MAX", "DBL_MIN", "INFINITY", "M_PI",    NULL};
  *value = -1;
  bool found = false;
  if (depth > DEEPEST)
    return false;
  for (const struct macro *m = NULL; (m = macro_of(t, i, m));) {
    if (m->takes_arguments || found || !constant_range(t, m->begin, m->end, value, depth))
      return false;
    found = true;
  }
  if (found)
    return true;
  for (int at = token_last(t, i); at >= 0; at = t->all[at].same) {
    if (!token_same(t, at, i) || !(is_enumerator(t, at) || is_constant_variable(t, at)))
      continue;
    const int next = token_next(t, at), begin = next + 1, end = value_end(t, begin);
    if (found) { // which of them is meant is for the compiler to say
      *value = -1;
      continue;
    }
    found = true;
    if (token_is(t, next, "="))
      constant_range(t, begin, end, value, depth);
  }
  return found || token_in(t, i, standard);
}

bool known_constant(const struct tokens *t, int i, long *value) {
  return constant(t, i, value, 0);
}
