// SPDX-License-Identifier: MIT
// The keys of the profile's rows, by number. Ops come first; most profiles use the first USUAL of them.
enum { OPS = 342, USUAL = 11, NAMES = 349 };
#define TEN_OPS(tens)                                                                                                  \
  "fy::of_" tens "0", "fy::of_" tens "1", "fy::of_" tens "2", "fy::of_" tens "3", "fy::of_" tens "4",                  \
      "fy::of_" tens "5", "fy::of_" tens "6", "fy::of_" tens "7", "fy::of_" tens "8", "fy::of_" tens "9"
#define HUNDRED_OPS(hundreds)                                                                                          \
  TEN_OPS(hundreds "0"), TEN_OPS(hundreds "1"), TEN_OPS(hundreds "2"), TEN_OPS(hundreds "3"), TEN_OPS(hundreds "4"),   \
      TEN_OPS(hundreds "5"), TEN_OPS(hundreds "6"), TEN_OPS(hundreds "7"), TEN_OPS(hundreds "8"),                      \
      TEN_OPS(hundreds "9")
static const char *const names[NAMES] = {
    "fy::linear",
    "fy::matmul",
    "fy::add",
    "fy::add_",
    "fy::linear_relu",
    "fy::sum_dim",
    "fy::softmax",
    "fy::sum",
    "fy::cross_entropy",
    // As long as a key can be, and different in the last character only.
    "fy::scaled_dot_product_attention_of_all_heads_with_a_mask_and_a",
    "fy::scaled_dot_product_attention_of_all_heads_with_a_mask_and_b",
    "fy::mul",
    "fy::mul_",
    "fy::sub",
    "fy::sub_",
    "fy::div",
    "fy::div_",
    "fy::relu",
    "fy::gelu",
    "fy::tanh",
    "fy::exp",
    "fy::log",
    "fy::sqrt",
    "fy::pow_scalar",
    "fy::clamp",
    "fy::where",
    "fy::cat",
    "fy::stack",
    "fy::gather",
    "fy::index_select",
    "fy::embedding",
    "fy::conv2d",
    "fy::max_pool2d",
    "fy::batch_norm",
    "fy::layer_norm",
    "fy::dropout",
    "fy::mse_loss",
    "fy::argmax_dim",
    "fy::mean_dim",
    "fy::max_dim",
    "fy::transpose_copy",
    "fy::contiguous",
    HUNDRED_OPS(""),
    HUNDRED_OPS("1"),
    HUNDRED_OPS("2"), // ops up to here
    "epoch",
    "backward",
    "item",
    "cudaMemcpyAsync",
    "all of fy::linear",
    "fy_short_rows<F>",
    "cublas gemm",
};
#undef HUNDRED_OPS
#undef TEN_OPS
enum { FIRST_KERNEL = 347 };
