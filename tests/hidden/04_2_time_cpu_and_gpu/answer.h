// What an answer to exercise 4.2 defines, and what it is given.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Comparison {
  double cpu, gpu, times_as_fast;
} Comparison;

FyTensor *product(FyTensor *x, FyTensor *y);
double seconds_now(void);
void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result);

#endif
