// Embedding with half2 rows: gather forward, scatter-add backward in float, padding token skipped
#include <cstdio>
#include <vector>
#include <cuda_fp16.h>

const int VOCAB = 50, DIM = 24, PAD = 0;

__global__ void embedForward(const int *tokens, int nTok, const half2 *table, half2 *out) {
  // blockDim.x covers the pairs of a row, blockDim.y the tokens
  int t = blockIdx.x * blockDim.y + threadIdx.y;
  if (t >= nTok)
    return;
  int id = tokens[t];
  for (int j = threadIdx.x; j < DIM / 2; j += blockDim.x)
    out[t * (DIM / 2) + j] = id == PAD ? __floats2half2_rn(0.f, 0.f) : table[id * (DIM / 2) + j];
}

__global__ void embedBackward(const int *tokens, int nTok, const float *dOut, float *dTable, int *used) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= nTok * DIM)
    return;
  int id = tokens[i / DIM];
  if (id == PAD)
    return;
  used[id] = 1; // many threads, all write 1
  atomicAdd(&dTable[id * DIM + i % DIM], dOut[i]);
}

// only rows that were used are touched
__global__ void sparseSgd(half2 *table, const float *dTable, const int *used, float lr) {
  int row = blockIdx.x;
  if (!used[row])
    return;
  for (int j = threadIdx.x; j < DIM / 2; j += blockDim.x) {
    float2 w = __half22float2(table[row * (DIM / 2) + j]);
    const float2 g = reinterpret_cast<const float2 *>(dTable)[row * (DIM / 2) + j];
    w.x -= lr * g.x;
    w.y -= lr * g.y;
    table[row * (DIM / 2) + j] = __float22half2_rn(w);
  }
}

int main() {
  const int nTok = 77;
  std::vector<int> tok(nTok);
  std::vector<half> tab(VOCAB * DIM), out(nTok * DIM), newTab(VOCAB * DIM);
  std::vector<float> g(nTok * DIM), ref(VOCAB * DIM);
  for (int i = 0; i < nTok; i++)
    tok[i] = (i * i + 3 * i) % 23;
  for (int i = 0; i < VOCAB * DIM; i++) {
    tab[i] = __float2half(float(i % 64));
    ref[i] = float(i % 64);
  }
  for (int i = 0; i < nTok * DIM; i++)
    g[i] = float(i % 3);

  int *dTok, *dUsed;
  half *dTab, *dOut;
  float *dG, *dGT;
  cudaMalloc(&dTok, nTok * sizeof(int));
  cudaMalloc(&dUsed, VOCAB * sizeof(int));
  cudaMalloc(&dTab, VOCAB * DIM * sizeof(half));
  cudaMalloc(&dOut, nTok * DIM * sizeof(half));
  cudaMalloc(&dG, nTok * DIM * sizeof(float));
  cudaMalloc(&dGT, VOCAB * DIM * sizeof(float));
  cudaMemcpy(dTok, tok.data(), nTok * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(dTab, tab.data(), VOCAB * DIM * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(dG, g.data(), nTok * DIM * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(dUsed, 0, VOCAB * sizeof(int));
  cudaMemset(dGT, 0, VOCAB * DIM * sizeof(float));

  embedForward<<<(nTok + 7) / 8, dim3(16, 8)>>>(dTok, nTok, (half2 *)dTab, (half2 *)dOut);
  embedBackward<<<(nTok * DIM + 127) / 128, 128>>>(dTok, nTok, dG, dGT, dUsed);
  sparseSgd<<<VOCAB, 32>>>((half2 *)dTab, dGT, dUsed, 0.5f);
  cudaMemcpy(out.data(), dOut, nTok * DIM * sizeof(half), cudaMemcpyDeviceToHost);
  cudaMemcpy(newTab.data(), dTab, VOCAB * DIM * sizeof(half), cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int t = 0; t < nTok; t++)
    for (int d = 0; d < DIM; d++) {
      float want = tok[t] == PAD ? 0.f : float((tok[t] * DIM + d) % 64);
      if (__half2float(out[t * DIM + d]) != want)
        wrong++;
      if (tok[t] != PAD)
        ref[tok[t] * DIM + d] -= 0.5f * g[t * DIM + d];
    }
  for (int i = 0; i < VOCAB * DIM; i++)
    if (__half2float(newTab[i]) != ref[i])
      wrong++;
  printf("embedding: %d wrong\n", wrong);
  cudaFree(dTok);
  cudaFree(dUsed);
  cudaFree(dTab);
  cudaFree(dOut);
  cudaFree(dG);
  cudaFree(dGT);
  return wrong != 0;
}
