// finding: race-block 37 33
// With two rows the diagonal being written lies on the one before the last, of which the thread below still reads its
// neighbor's value.
// Edit distance of pairs of strings, one pair per block: the table's antidiagonals roll through
// shared rows with one barrier per diagonal. Threads outside the diagonal do nothing but wait.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define MAXLEN 48

__global__ void editDistance(const char *text, const int *start, int *result) {
  __shared__ int diag[2][MAXLEN + 1];
  __shared__ char a[MAXLEN], b[MAXLEN];
  int p = blockIdx.x, i = threadIdx.x; // MAXLEN + 1 threads; i is the row
  int la = start[2 * p + 1] - start[2 * p], lb = start[2 * p + 2] - start[2 * p + 1];
  if (i < la)
    a[i] = text[start[2 * p] + i];
  if (i < lb)
    b[i] = text[start[2 * p + 1] + i];
  __syncthreads();
  for (int d = 0; d <= la + lb; d++) {
    int j = d - i;
    int *now = diag[d & 1];
    const int *one = diag[(d & 1) ^ 1], *two = diag[d & 1];
    if (i <= la && j >= 0 && j <= lb) {
      int v;
      if (i == 0)
        v = j;
      else if (j == 0)
        v = i;
      else {
        v = two[i - 1] + (a[i - 1] != b[j - 1]);
        v = min(v, one[i - 1] + 1);
        v = min(v, one[i] + 1);
      }
      now[i] = v;
    }
    __syncthreads();
  }
  if (i == la)
    result[p] = diag[(la + lb) & 1][la];
}

int main() {
  const char *w[] = {"kitten",
                     "sitting",
                     "",
                     "abc",
                     "intention",
                     "execution",
                     "racecar",
                     "racecar",
                     "the quick brown fox jumps over the lazy dog",
                     "a quick brown cat hops over two lazy dogs"};
  const int pairs = 5;
  char text[512];
  int start[2 * pairs + 1], got[pairs], n = 0, wrong = 0;
  for (int k = 0; k < 2 * pairs; k++) {
    start[k] = n;
    memcpy(text + n, w[k], strlen(w[k]));
    n += (int)strlen(w[k]);
  }
  start[2 * pairs] = n;
  char *dt;
  int *ds, *dr;
  cudaMalloc(&dt, n);
  cudaMalloc(&ds, sizeof start);
  cudaMalloc(&dr, sizeof got);
  cudaMemcpy(dt, text, n, cudaMemcpyHostToDevice);
  cudaMemcpy(ds, start, sizeof start, cudaMemcpyHostToDevice);
  editDistance<<<pairs, MAXLEN + 1>>>(dt, ds, dr);
  cudaMemcpy(got, dr, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(dt);
  cudaFree(ds);
  cudaFree(dr);
  for (int p = 0; p < pairs; p++) {
    static int t[MAXLEN + 1][MAXLEN + 1];
    const char *a = w[2 * p], *b = w[2 * p + 1];
    int la = (int)strlen(a), lb = (int)strlen(b);
    for (int i = 0; i <= la; i++)
      for (int j = 0; j <= lb; j++) {
        if (!i || !j) {
          t[i][j] = i + j;
          continue;
        }
        int v = t[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
        if (t[i - 1][j] + 1 < v)
          v = t[i - 1][j] + 1;
        if (t[i][j - 1] + 1 < v)
          v = t[i][j - 1] + 1;
        t[i][j] = v;
      }
    wrong += t[la][lb] != got[p];
  }
  printf("antidiagonal_two_rows: %d wrong\n", wrong);
  return wrong != 0;
}
