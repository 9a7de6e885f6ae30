// What an answer to image.1 defines.
extern "C" void gray_on_device(float *out, const float *rgb, int pixels);
