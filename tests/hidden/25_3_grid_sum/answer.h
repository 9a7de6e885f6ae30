// What an answer to exercise 25.3 defines.
extern "C" void subtract_mean_on_device(float *out, const float *x, float *scratch, int n);
