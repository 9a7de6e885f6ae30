// What an answer to exercise 60 defines.
extern "C" void saxpy_on_device(float *y, const float *x, float a, int n);
