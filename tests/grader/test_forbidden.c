// SPDX-License-Identifier: MIT
// What an answer must not use (symbols.c); and what an answer to a performance challenge must not have: words that hide from the inspector what it does, and arrays of a thread's own whose
// indices the compiler does not know. Told on evidence alone: what is known, or may be, is nobody's mistake.
// run:
#include "case.h"
#include "registry.h"
#include "symbols.h"
#include "sim/compile/c_tokens.h"
#include "forbidden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void fatal_error(const char *format, ...) {
  fail_msg("%s", format);
  abort();
}

const char *exercise_extension(const Exercise *e) {
  (void)e;
  return "cu";
}

// In a kernel of these parameters; `index` is what is said not to be known, NULL: nothing is said.
static void expect_index(const char *body, const char *index) {
  char source[4096], want[128];
  snprintf(source, sizeof source,
           "enum { TILE = 32, HIGH = 8 };\n__global__ void __launch_bounds__(256) work(float *c, const float "
           "*__restrict__ a, int m, "
           "int n) {\n%s}\n",
           body);
  snprintf(want, sizeof want, "the index %s", index ? index : "");
  char *exact = strdup(source); // so that a sanitizer sees a byte read too many
  char *why = forbidden_in_registers(exact);
  free(exact);
  if (index ? !why || !strstr(why, want) : why != NULL)
    fail_msg("%s: expected %s, got %s", body, index ? want : "nothing", why ? why : "nothing");
  free(why);
}

static void test_known(void **unused) {
  (void)unused;
  static const char *const bodies[] = {
      "float s[4] = {};\nfor (int e = 0; e < 4; e++) s[e] += a[n * 4 + e];\n",
      "float s[4][2];\nfor (int i = 0; i < 4; i++) for (int j = 0; j < 2; ++j) s[i][j] = 0;\n",
      "float s[4];\nfor (int e = 0; e < 4 && m + e < n; e++) s[e] = a[m + e];\n",
      "float s[4];\nfor (int e = 0; n > m + e && e < TILE / HIGH; e += 2) s[e + 1] = 0;\n",
      "float s[4];\nint e;\nfor (e = 0; e < m; e++) c[e] = 0;\nfor (e = 0; e < 4; e++) s[e] = 0;\n",
      "float s[4];\nconst int each = TILE / HIGH;\nfor (int e = 0; e < each; e++) s[e] = 0;\n",
      "float s[4];\nfor (int i : {0, 1, 2, 3})\n  c[i] = s[i];\n",
      "float s[4];\nfor (int i : {0, 1, 2, 3}) {\n  int e = i;\n  s[e] = a[m];\n}\n",
      "float s[2];\nint now = 0;\nfor (int p = 0; p < m; p += TILE) {\n  s[now] = a[p];\n  now ^= 1;\n}\n",
      "__shared__ float s[TILE][TILE + 1];\ns[threadIdx.y][threadIdx.x] = a[m];\n",
      "__shared__ __align__(16) float s[TILE], t[TILE];\ns[threadIdx.x] = t[m] = a[n];\n",
      "extern __shared__ float s[];\ns[threadIdx.x] = a[m];\n",
      "int x = threadIdx.x;\n*(float *)(c + x) = *(const float *)(a + x) * c[x];\n",
      "float s[sizeof(c[m]) / 4];\ns[0] = s[sizeof(a[n]) - 4];\n",
      ("float s[4];\n{\n  int i = threadIdx.x;\n  c[i] = 0;\n}\n"
       "for (int i = 0; i < 4; i++) {\n  int k = i;\n  s[k] = 0;\n}\n"),
      "/* float s[4]; s[m] */ // float t[2]; t[n] = 0\nc[m] = '\\'' + \"s[m]\"[0];\n",
      "struct { float x[4]; } s;\nfor (int i = 0; i < m; i++) s.x[i] = 0;\n", // what a member is, nobody looks up
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    expect_index(bodies[i], NULL);
}

static void test_unknown(void **unused) {
  (void)unused;
  static const struct {
    const char *body, *index;
  } cases[] = {
      {"float s[4];\ns[threadIdx.x] = 0;\n", "threadIdx"},
      {"float s[4] = {};\ns[m & 3] += 1;\n", "m of"},
      {"float s[4];\nfor (int e = 0; e < n; e++) s[e] = 0;\n", "e (it depends on n)"},
      {"float s[4];\nconst int each = TILE / blockDim.y;\nfor (int e = 0; e < each; e++)\n  s[e] = 0;\n",
       "e (it depends on each)"},
      {"float s[8][4];\nfor (int i = threadIdx.y; i < 8; i += HIGH)\n  for (int j = 0; j < 4; j++) s[i][j] = 0;\n",
       "i (it depends on threadIdx)"},
      {"float s[8];\nfor (int i = 0; i < 8; i += m) s[i] = 0;\n", "i (it depends on m)"},
      {"float s[8];\nfor (int i = 0; i < 8 || i < m; i++) s[i] = 0;\n", "i (it depends on m)"},
      {"float s[8];\nint i;\nfor (i = 0; i < n; i++) s[i] = 0;\n", "i (it depends on n)"},
      {"float s[4], t[4];\nint k = 0;\nk += a[m] > 0;\nt[k] = s[0];\n", "k (it depends on a)"},
      {"const int next[4] = {1, 2, 3, 0};\nint lane = threadIdx.x % 4;\nc[n] = next[lane];\n", "lane"},
      {"float s[4];\nif (m > 0)\n  s[n > 1 ? 0 : 1] = 0;\nelse\n  s[0] = 1;\n", "n of"},
      {"#define ROUND(x) \\\n  s[x]\nfloat s[4];\nfor (int p = 0, q = m; p < 4; p++, q++)\n  s[q] = 0;\n",
       "q (it depends on m)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_index(cases[i].body, cases[i].index);
}

// A helper is given what its caller knows; the host has no registers of a thread's. Lines are the answer's own.
static void test_functions(void **unused) {
  (void)unused;
  assert_null(forbidden_in_registers(
      "__device__ float at(const float (&s)[4], int i) {\n  float t[4];\n  return s[i] + t[i];\n}\n"));
  assert_null(forbidden_in_registers("void host(int n) {\n  int s[4];\n  s[n] = threadIdx.x;\n}\n"));
  assert_null(forbidden_in_registers("template <int N> __global__ void work(float *c);\n__device__ float all[4];\n"));
  char *why = forbidden_in_registers(
      "// one\n#define A \\\n  3\n__device__ int f(int n) {\n  int s[4];\n  return s[n] + s[blockIdx.x];\n}\n");
  assert_non_null(why);
  assert_non_null(strstr(why, "line 6: "));
  free(why);
}

// Whatever is cut off anywhere is read to its end and no further.
static void test_cut(void **unused) {
  (void)unused;
  static const char whole[] = "#define X \\\n 1\n__global__ __launch_bounds__(32) void k(float *c, int n) { float "
                              "s[4], *p = c; /* x */ for (int i = 0; i < n && i "
                              "< 4; i++) { s[i] = \"a\\\"b\"[0] + 'x'; if (n) while (i) s[i]++; } __shared__ "
                              "alignas(16) int t[2]; t[n] += 1'000; }";
  for (size_t bytes = 0; bytes < sizeof whole; bytes++) {
    char *part = strndup(whole, bytes);
    free(forbidden_in_registers(part));
    free(forbidden_in_source(part));
    free(part);
  }
}

// ---- words of the source -------------------------------------------------------------------------------------------------------

static void test_words(void **unused) {
  (void)unused;
  static const struct {
    const char *source, *word; // NULL: nothing is refused
  } cases[] = {
      {"// ## tile loop ##, see asm below\nint a;\n", NULL},
      {"/* asm, __builtin_expect, CUDASIM_UNSEEN */ int a;\n", NULL},
      {"/* a\n * asm\n */\n", NULL},
      {"const char *s = \"## asm \\\" ##\"; char c = '\\'';\n", NULL},
      {"#define TITLE \"## sum ##\"\n", NULL},
      {"#if 0\nit's a kernel, don't\n#endif\n", NULL},
      {"int million = 1'000'000; float x = .5e-3f;\n", NULL},
      {"int assembly, nasm, CUDA_SIM, intrinsics, arm_length;\n", NULL},
      {"#include <cuda_runtime.h>\n#include \"counted.cuh\"\n", NULL},
      {"asm(\"nop\");\n", "asm"},
      {"int a; // comment\nasm(\"nop\");\n", "asm"},
      {"/* one */ asm /* two */ (\"nop\");\n", "asm"},
      {"char c = '\"'; asm(\"nop\");\n", "asm"},
      {"const char *s = \"a\\\\\"; asm(\"nop\");\n", "asm"},
      {"int a = 1'0; asm('');\n", "asm"},
      {"it's asm\n", "asm"},
      {"as\\\nm(\"nop\");\n", "asm"},
      {"/\\\n/ comment\nasm(\"nop\");\n", "asm"},
      {"// comment \\\n asm\nasm(\"nop\");\n", "asm"},
      {"const char *s = R\"x( )x\\\n\" /* )x\"; asm(\"nop\"); /* */;\n", "R"},
      {"const char *s = u8R\"(a)\";\n", "u8R"},
      {"#define PASTE(a, b) a##b\n", "##"},
      {"%:define PASTE(a, b) a %:%: b\n", "##"},
      {"__attribute__((no_sanitize(\"thread\"))) void f();\n", "no_sanitize"},
      {"CUDASIM_UNSEEN static float peek(const float *x);\n", "CUDASIM_UNSEEN"},
      {"extern \"C\" void cudasim_inspect_rests(void);\n", "cudasim_inspect_rests"},
      {"static void f() __attribute__((weakref(\"cudasim_\" \"inspect_rests\")));\n", "weakref"},
      {"extern \"C\" void __tsan_func_exit();\n", "__tsan_func_exit"},
      {"#include <immintrin.h>\n", "immintrin"},
      {"  /* here */ #include \"immintrin.h\"\n", "immintrin"},
      {"%: define HEADER \"xmmintrin.h\"\n#include HEADER\n", "xmmintrin"},
      {"#include <arm_neon.h>\n", "arm_neon"},
      {"auto v = _mm256_i64gather_ps(x, i, 4);\n", "_mm256_i64gather_ps"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char want[64];
    char *exact = strdup(cases[i].source), *why = forbidden_in_source(exact);
    free(exact);
    snprintf(want, sizeof want, "%s is not allowed in a performance challenge", cases[i].word ? cases[i].word : "");
    if (cases[i].word ? !why || strncmp(why, want, strlen(want)) != 0 : why != NULL)
      fail_msg("%s: expected %s, got %s", cases[i].source, cases[i].word ? want : "nothing", why ? why : "nothing");
    free(why);
  }
}

// ---- the lexer that reads it: its tokens, one after another, with a | between them ---------------------------------------------

static void test_tokens(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *tokens; // comments are left out
  } cases[] = {
      {"a/* \" */b // c\nd", "a|b|d"},
      {"a // one \\\n two\nb", "a|b"},
      {"0xa'b + 1'000 + 0xf'F 'x'", "0xa'b|+|1'000|+|0xf'F|'x'"},
      {"case'a':L'b':0xA:'c'", "case|'a'|:|L|'b'|:|0xA|:|'c'"},
      {"1.5e-3f-.5e+2-0xe-x-0x1p-3", "1.5e-3f|-|.5e+2|-|0xe|-|x|-|0x1p-3"},
      {"u8R\"(\" /* )\" x R\"a()\")a\" yR\"(\"", "u8R\"(\" /* )\"|x|R\"a()\")a\"|yR|\"(\""},
      {"R\"has no bracket\" x", "R|\"has no bracket\"|x"},
      {"a<b<c>>d>>=e<<<1,2>>>()", "a|<|b|<|c|>|>|d|>>=|e|<<<|1|,|2|>>>|(|)"},
      {"'a\nb\"c\\\"", "'a|b|\"c\\\""},
      {"/* no end", ""},
      {"R\"x( no end )\"", "R\"x( no end )\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char got[256] = "", *exact = strdup(cases[i].text);
    struct c_lexer lexer = c_lexer_of(exact, strlen(exact));
    for (struct c_token t; c_next(&lexer, &t);)
      if (t.kind != C_COMMENT)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", *got ? "|" : "", (int)t.length, t.at);
    free(exact);
    if (strcmp(got, cases[i].tokens) != 0)
      fail_msg("%s: expected %s, got %s", cases[i].text, cases[i].tokens, got);
  }
}

// At any place, too, a literal and a comment have the same end as token by token.
static void test_opaque(void **unused) {
  (void)unused;
  static const char text[] = "x = 0xf'F; c = 'F'; s = u8R\"(\" // )\"; t = yR\"(\"; /* ' */ n = 1'0'; ";
  const char *end = text + strlen(text), *past = text;
  struct c_lexer lexer = c_lexer_of(text, strlen(text));
  for (struct c_token t; c_next(&lexer, &t);) {
    const char *begin = t.raw ? strchr(t.at, 'R') : t.at;
    const bool opaque = t.kind == C_LITERAL || t.kind == C_COMMENT;
    for (const char *at = past; at < begin + !opaque; at++)
      assert_ptr_equal(c_opaque_end(text, at, end), at);
    past = t.at + t.length;
    assert_ptr_equal(c_opaque_end(text, begin, end), opaque ? past : begin);
  }
  assert_ptr_equal(lexer.at, end);
}

// ---- symbols of the object -----------------------------------------------------------------------------------------------------

// What readelf prints of an object that defines `work` and uses these symbols, one of them with a note as on aarch64.
static void expect_symbol(bool open, const char *name, bool allowed) {
  static const Exercise exercises[] = {{.functions = {"work"}}, {.functions = {"work"}, .open = true}};
  for (int note = 0; note < 2; note++) {
    char listing[512];
    snprintf(listing, sizeof listing,
             "    10: 0000000000000000    24 FUNC    GLOBAL DEFAULT    1 work\n"
             "    12: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT %s UND %s\n",
             note ? "[VARIANT_PCS] " : "", name);
    char *why = symbols_refused(&exercises[open], listing, false);
    if (allowed ? why != NULL : !why || !strstr(why, name + 4 * (strncmp(name, "sim_cu", 6) == 0)))
      fail_msg("%s %s: got %s", open ? "open," : "", name, why ? why : "nothing");
    free(why);
  }
}

static void test_symbols(void **unused) {
  (void)unused;
  static const char *const everywhere[] = {"sim_cudaMalloc",
                                           "cudasim_launch",
                                           "memcpy",
                                           "sinf",
                                           "powl",
                                           "sincosf",
                                           "_Znwm",
                                           "__cxa_guard_acquire",
                                           "_ZSt20__throw_length_errorPKc",
                                           "__udivti3",
                                           "printf",
                                           "__tsan_read4",
                                           "__tsan_member_read4_of16",
                                           "stderr",
                                           "exit"};
  static const char *const closed[] = {
      "wcsncpy", "snprintf", "qsort", "modff", "setvbuf", "fork", "sim_cudaLaunchHostFunc", "sim_cudaStreamAddCallback",
      "sinq",    "expo",     "str"};
  static const char *const nowhere[] = {"fy_count_launch", "driver_put_array", "cudasim_get_stats", "main",
                                        "sim_submit",      "pthread_create"};
  for (size_t i = 0; i < sizeof everywhere / sizeof *everywhere; i++) {
    expect_symbol(false, everywhere[i], true);
    expect_symbol(true, everywhere[i], true);
  }
  for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
    expect_symbol(false, closed[i], true);
    expect_symbol(true, closed[i], false);
  }
  for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
    expect_symbol(false, nowhere[i], false);
    expect_symbol(true, nowhere[i], false);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_known),     cmocka_unit_test(test_unknown),
                                     cmocka_unit_test(test_functions), cmocka_unit_test(test_cut),
                                     cmocka_unit_test(test_words),     cmocka_unit_test(test_tokens),
                                     cmocka_unit_test(test_opaque),    cmocka_unit_test(test_symbols)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
