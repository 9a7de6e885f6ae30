// mistake: device pointer dereferenced on the host
#include <cuda_runtime.h>

struct Job {
  float *y;
  const float *x;
  float a;
  int n;
};

__global__ void nothing() {
}

static void compute(void *data) {
  Job *job = (Job *)data;
  for (int i = 0; i < job->n; i++)
    job->y[i] += job->a * job->x[i];
  delete job;
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n == 0)
    return;
  nothing<<<(n + 255) / 256, 256>>>();
  cudaLaunchHostFunc(0, compute, new Job{y, x, a, n});
}
