// What an answer to exercise 26.2 defines.
extern "C" void scan_on_device(int *out, const int *x, int *scratch, int n);
