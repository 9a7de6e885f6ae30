// What an answer to exercise 90 defines.
extern "C" void smooth_on_device(float *out, const float *x, int n);
