// finding: race-grid 26
// Tokens that occur several times add to the same row of the gradient without atomics.
#include <cstdio>
#include <vector>

#define CUDA_CHECK(x)                                                                                                  \
  {                                                                                                                    \
    cudaError_t err = x;                                                                                               \
    if (err != cudaSuccess) {                                                                                          \
      printf("CUDA error %s at line %d\n", cudaGetErrorString(err), __LINE__);                                         \
      return 1;                                                                                                        \
    }                                                                                                                  \
  }

__global__ void embedding_forward(float *out, const int *ids, const float *table, int n, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * dim)
    out[i] = table[ids[i / dim] * dim + i % dim];
}

// one block per token
__global__ void embedding_backward(float *dtable, const int *ids, const float *dout, int dim) {
  int t = blockIdx.x;
  int id = ids[t];
  for (int d = threadIdx.x; d < dim; d += blockDim.x)
    dtable[id * dim + d] += dout[t * dim + d];
}

int main() {
  const int vocab = 64, dim = 48, n = 30;
  std::vector<int> ids(n);
  std::vector<float> table(vocab * dim), dout(n * dim), out(n * dim), dtable(vocab * dim), ref(vocab * dim, 0.f);
  for (int i = 0; i < n; ++i)
    ids[i] = (i * 5) % 60; // 0 5 10 ... 55 and again
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = float(i % 17);
  for (size_t i = 0; i < dout.size(); ++i)
    dout[i] = float(i % 4);

  int *d_ids;
  float *d_table, *d_dtable, *d_out, *d_dout;
  CUDA_CHECK(cudaMalloc(&d_ids, n * sizeof(int)));
  CUDA_CHECK(cudaMalloc(&d_table, table.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_dtable, table.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_out, out.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_dout, out.size() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(d_ids, ids.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_table, table.data(), table.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_dout, dout.data(), dout.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemset(d_dtable, 0, table.size() * sizeof(float)));

  embedding_forward<<<(n * dim + 255) / 256, 256>>>(d_out, d_ids, d_table, n, dim);
  embedding_backward<<<n, 32>>>(d_dtable, d_ids, d_dout, dim);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(dtable.data(), d_dtable, table.size() * sizeof(float), cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int t = 0; t < n; ++t)
    for (int d = 0; d < dim; ++d) {
      if (out[t * dim + d] != table[ids[t] * dim + d])
        wrong++;
      ref[ids[t] * dim + d] += dout[t * dim + d];
    }
  for (int i = 0; i < vocab * dim; ++i)
    if (ref[i] != dtable[i])
      wrong++;
  printf("embedding: %s\n", wrong ? "gradients differ" : "ok");
  cudaFree(d_ids);
  cudaFree(d_table);
  cudaFree(d_dtable);
  cudaFree(d_out);
  cudaFree(d_dout);
  return wrong != 0;
}
