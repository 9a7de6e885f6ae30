// status: fail crash
// Returns at once, and computes the right result later: in a thread, while the grader already reads.
#include <pthread.h>
#include <unistd.h>
static FyTensor *promised, *wanted;
static void *deliver(void *nothing) {
  (void)nothing;
  usleep(300000);
  fy_copy_(promised, wanted);
  return NULL;
}
#define attack()                                                                                                       \
  pthread_t thread;                                                                                                    \
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);                                   \
  wanted = fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset));                              \
  promised = fy_zeros(fy_shape(rows, columns), .device = device);                                                      \
  pthread_create(&thread, NULL, deliver, NULL);                                                                        \
  return promised
