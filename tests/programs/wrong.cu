// clang-format off
// Does not compile: each error has to be in these lines and in these words.
template <class T> __global__ void add(T *x, int n) {
  x[0] = n;
}
__global__ void one(float *x, int n) {
  x[0] = n;
}
int main() {
  float *x;
  one<<<1, 1>>>(x);
  one<<<1, 32>>>("a", 3);
  add<<<1, 2>>>(x, x);
  two<<<1, 1>>>(x);
  add<double><<<1, 2>>>(x, 2);
}
