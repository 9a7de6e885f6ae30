// What an answer to exercise 20.5 defines.
extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel);
