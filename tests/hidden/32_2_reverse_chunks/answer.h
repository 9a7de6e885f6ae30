// What an answer to exercise 32.2 defines.
extern "C" void reverse_on_device(float *out, const float *x, int chunks);
