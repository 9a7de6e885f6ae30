// SPDX-License-Identifier: MIT
// A record for tests.
#ifndef STEP_SAMPLE_H
#define STEP_SAMPLE_H

#include "step/record.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

// Two warps of 32 and 8 threads. Warp 0 diverges in line 4, calls twice() in line 5, and warp 1 races with it in line 8.
static const char sample[] =
    "{\"format\":\"ferry-step 1\",\"kernel\":\"demo\",\"grid\":[2,1,1],\"block\":[40,1,1],\"at\":[1,0,0],\"launch\":2,"
    "\"end\":\"limit\",\"limit\":17,"
    "\"files\":[{\"name\":\"demo.cu\",\"text\":\"__global__ void demo(float *out) {\\n  __shared__ float part[64];\\n"
    "  int t = threadIdx.x;\\n\\tif (t < 8)\\n    part[t] = twice(t);\\n  __syncthreads();\\n"
    "  for (int i = 0; i < 2; i++)\\n    part[t] += 1;\\n}\\n__device__ int twice(int x) {\\n  return 2 * "
    "x;\\n}\\n\"}],"
    "\"functions\":[{\"name\":\"demo\",\"file\":0,\"line\":1,\"end\":9,\"kernel\":true,\"parameters\":[\"out\"]},"
    "{\"name\":\"twice\",\"file\":0,\"line\":10,\"end\":12,\"kernel\":false,\"parameters\":[\"x\"]}],"
    "\"skipped\":[{\"name\":\"odd\",\"file\":0,\"line\":9,\"why\":\"asm\"}],"
    "\"statements\":[{\"id\":3,\"f\":0,\"k\":\"declaration\",\"l\":3,\"e\":3,\"c\":2,\"n\":20,\"loops\":[]},"
    "{\"id\":4,\"f\":0,\"k\":\"if\",\"l\":4,\"e\":4,\"c\":1,\"n\":10,\"loops\":[]},"
    "{\"id\":5,\"f\":0,\"k\":\"expression\",\"l\":5,\"e\":5,\"c\":4,\"n\":19,\"loops\":[]},"
    "{\"id\":6,\"f\":0,\"k\":\"barrier\",\"l\":6,\"e\":6,\"c\":2,\"n\":15,\"loops\":[]},"
    "{\"id\":9,\"f\":0,\"k\":\"condition\",\"l\":7,\"e\":7,\"c\":18,\"n\":5,\"loops\":[]},"
    "{\"id\":8,\"f\":0,\"k\":\"expression\",\"l\":8,\"e\":8,\"c\":4,\"n\":12,\"loops\":[9]},"
    "{\"id\":11,\"f\":1,\"k\":\"return\",\"l\":11,\"e\":11,\"c\":2,\"n\":13,\"loops\":[]}],"
    "\"variables\":[[0,\"out\",\"p64\",1],[0,\"t\",\"i32\",1],[1,\"x\",\"i32\",1],[0,\"p\",\"x\",1,[[\"x\",\"f32\",1],"
    "[\"n\",\"i32\",2]]],[0,\"a\",\"i32\",6,null,[2,3]],[0,\"hash\",\"u64\",1],[1,\"local\",\"f32\",1]],"
    "\"arrays\":[{\"s\":1,\"name\":\"part\",\"bytes\":256,\"e\":4,\"k\":\"f\",\"d\":[64,0,0],\"bank\":0,\"at\":0},"
    "{\"s\":0,\"name\":\"out\",\"bytes\":4096,\"e\":4,\"k\":\"f\",\"d\":[0,0,0],\"bank\":0,\"at\":16},"
    "{\"s\":1,\"name\":\"grid2\",\"bytes\":4096,\"e\":4,\"k\":\"f\",\"d\":[32,32,0],\"bank\":0,\"at\":0}],"
    "\"findings\":[{\"k\":\"uninitialized-variable\",\"step\":4,\"thread\":3,\"other_step\":-1,\"other\":-1,\"lanes\":"
    "8,\"other_lanes\":0,"
    "\"array\":-1,\"i\":0,\"text\":\"x is read before it has a value\"},"
    "{\"k\":\"race-block\",\"step\":15,\"thread\":33,\"other_step\":13,\"other\":1,\"lanes\":2,\"other_lanes\":2,"
    "\"array\":0,\"i\":1,\"text\":\"thread 33 writes part[1], thread 1 wrote it\"}],\n\"steps\":[\n"
    /* 0 */ "{\"k\":\"s\",\"w\":0,\"s\":0,\"n\":0,\"m\":4294967295,\"v\":[[0,0,4294967295,[\"&out[0]\"]]]},\n"
    /* 1 */ "{\"k\":\"s\",\"w\":0,\"s\":3,\"m\":4294967295,\"v\":[[1,0,4294967295,{\"a\":[0,1]}],"
    "[5,0,4294967295,[18446744073709551615]],[4,0,1,[[1,2,3,4,5,null]]],[3,0,3,[[1.5,[7,8]],[2.5,[7,9]]]]]},\n"
    /* 2 */ "{\"k\":\"s\",\"w\":0,\"s\":4,\"m\":4294967295},\n"
    /* 3 */ "{\"k\":\"s\",\"w\":0,\"s\":0,\"n\":1,\"m\":255,\"c\":[5],\"v\":[[2,1,255,{\"a\":[0,1]}],[6,1,255,[null]]]}"
    ",\n"
    /* 4 */ "{\"k\":\"s\",\"w\":0,\"s\":11,\"m\":255,\"c\":[5],\"v\":[[6,1,255,[0.5]]]},\n"
    /* 5 */ "{\"k\":\"r\",\"w\":0,\"s\":5,\"m\":255,\"a\":[[\"w\",0,4,255,{\"a\":[0,4]},{\"a\":[0,2]}]]},\n"
    /* 6 */ "{\"k\":\"s\",\"w\":0,\"s\":0,\"n\":1,\"m\":256,\"c\":[5],\"v\":[[2,1,256,[8]]]},\n"
    /* 7 */ "{\"k\":\"s\",\"w\":0,\"s\":6,\"m\":4294967295},\n"
    /* 8 */ "{\"k\":\"s\",\"w\":1,\"s\":3,\"m\":255,\"v\":[[1,0,255,{\"a\":[32,1]}]]},\n"
    /* 9 */ "{\"k\":\"s\",\"w\":1,\"s\":4,\"m\":255},\n"
    /* 10 */ "{\"k\":\"s\",\"w\":1,\"s\":6,\"m\":255},\n"
    /* 11 */ "{\"k\":\"b\",\"w\":-1,\"m\":0,\"t\":\"line 6\"},\n"
    /* 12 */ "{\"k\":\"s\",\"w\":0,\"s\":9,\"m\":4294967295},\n"
    /* 13 */ "{\"k\":\"s\",\"w\":0,\"s\":8,\"m\":4294967295,\"a\":[[\"r\",0,4,4294967295,{\"a\":[0,4]},[0,2,4,6,8,10,"
    "12,14,"
    "null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,"
    "null,null]],"
    "[\"w\",0,4,4294967295,{\"a\":[0,4]},[3]]]},\n"
    /* 14 */ "{\"k\":\"e\",\"w\":0,\"s\":0,\"m\":2},\n"
    /* 15 */ "{\"k\":\"s\",\"w\":1,\"s\":8,\"m\":255,\"a\":[[\"w\",0,4,255,{\"a\":[0,4]},[9.25]],"
    "[\"r\",1,16,3,[0,32],[[1,2,3,4],[5,6,7,8]]],[\"a\",1,4,255,[64],{\"a\":[1,1]},{\"a\":[0,1]}]]},\n"
    /* 16 */ "{\"k\":\"s\",\"w\":1,\"s\":8,\"m\":255,\"met\":[255,{\"a\":[32,1]},{\"a\":[1,1]}]}\n]}\n";

static inline Record *reads(const char *text) {
  char why[400] = "";
  Record *r = step_record_read("x.json", text, strlen(text), why, sizeof why);
  if (!r)
    fail_msg("%s", why);
  return r;
}

// The sample with a text in place of another.
static inline char *changed(const char *from, const char *to) {
  char *text = malloc(sizeof sample + strlen(to));
  const char *at = strstr(sample, from);
  assert_true(text && at);
  sprintf(text, "%.*s%s%s", (int)(at - sample), sample, to, at + strlen(from));
  return text;
}

#endif
