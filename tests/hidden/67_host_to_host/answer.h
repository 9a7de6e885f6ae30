// What an answer to exercise 67 defines.
extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error);
