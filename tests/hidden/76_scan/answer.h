// What an answer to exercise 76 defines.
extern "C" void scan_on_device(int *out, const int *x, int *room, int n);
