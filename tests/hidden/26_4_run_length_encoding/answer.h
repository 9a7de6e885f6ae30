// What an answer to exercise 26.4 defines.
extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *scratch, int n);
