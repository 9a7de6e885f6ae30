// What an answer to exercise 22.2 defines.
extern "C" void planes_on_device(float *red, float *green, float *blue, const float *pixels, int n);
