// What an answer to exercise 27.4 defines.
extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k);
