// What an answer to exercise 26.3 defines.
extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n);
