// What an answer to exercise 20.1 defines.
extern "C" void saxpy_on_device(float *y, const float *x, float a, int n);
