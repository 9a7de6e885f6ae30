// What an answer to exercise 20.2 defines.
extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads);
