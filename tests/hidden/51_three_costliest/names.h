// The keys of the profile's rows, by number: ops first.
enum { OPS = 9, NAMES = 15 };
static const char *const names[NAMES] = {
    "fy::linear", "fy::matmul",        "fy::add", "fy::add_",        "fy::linear_relu",  "fy::sum_dim", "fy::softmax",
    "fy::sum",    "fy::cross_entropy", // ops up to here
    "epoch",      "backward",          "item",    "cudaMemcpyAsync", "fy_short_rows<F>", "cublas gemm",
};
enum { FIRST_KERNEL = 13 };
