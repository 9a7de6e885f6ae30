// A GPT: the model of lessons 33 to 35. Shapes: B sequences, T tokens each, C numbers per token, H heads of D = C / H
// numbers, V tokens in the vocabulary.
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- a block --------------------------------------------------------------------------------------------------------

// [fused]
// Lesson 34: a batch of one image whose channels are the tokens. Batch norm then normalizes each token, in one op.
static FyTensor *normalized_rows(FyTensor *x) {
  int64_t C = fy_size_at(x, -1);
  FyTensor *image = fy_view(x, fy_shape(1, fy_numel(x) / C, C, 1)); // (N, channels, H, W)
  return fy_view_as(fy_batch_norm(image, NULL, NULL, NULL, NULL, true, 0, 1e-5), x);
}
// [end]

// [layer_norm]
typedef struct LayerNorm {
  FyModule base;
  FyTensor *weight, *bias; // (C)
  bool fused;
} LayerNorm;

// (B, T, C) -> (B, T, C): each token's numbers get mean 0 and variance 1, then a scale and an offset that are learned.
static FyTensor *layer_norm_forward(FyModule *self, FyTensor *x) {
  LayerNorm *norm = (LayerNorm *)self;
  if (norm->fused) {
    return fy_add(fy_mul(normalized_rows(x), norm->weight), norm->bias);
  }
  FyTensor *centered = fy_sub(x, fy_mean_dim(x, -1, true));
  FyTensor *variance = fy_mean_dim(fy_mul(centered, centered), -1, true); // (B, T, 1)
  FyTensor *scaled = fy_div(centered, fy_sqrt(fy_add_scalar(variance, 1e-5)));
  return fy_add(fy_mul(scaled, norm->weight), norm->bias);
}

static FyModule *new_layer_norm(int width, bool fused) { // PyTorch: nn.LayerNorm(width)
  LayerNorm *norm = fy_module_new(LayerNorm, layer_norm_forward);
  norm->fused = fused;
  fy_register_parameter(norm, weight, fy_ones(fy_shape(width)));
  fy_register_parameter(norm, bias, fy_zeros(fy_shape(width)));
  return &norm->base;
}
// [end]

// [attention]
typedef struct Attention {
  FyModule base;
  FyModule *qkv, *out;
  int heads;
} Attention;

// (T, T): 0 where token i may look at token j, j <= i, and minus infinity elsewhere
static FyTensor *causal_mask(int64_t T, FyDType dtype, FyDevice device) {
  FyTensor *position = fy_arange((double)T, .device = device);
  FyTensor *future = fy_gt(fy_unsqueeze(position, 0), fy_unsqueeze(position, 1)); // [i][j]: j > i
  FyTensor *zeros = fy_zeros(fy_shape(T, T), .dtype = dtype, .device = device);
  return fy_where(future, fy_full_like(zeros, -INFINITY), zeros);
}

static FyTensor *attention_forward(FyModule *self, FyTensor *x) {
  Attention *attention = (Attention *)self;
  int64_t B = fy_size_at(x, 0), T = fy_size_at(x, 1), C = fy_size_at(x, 2), H = attention->heads, D = C / H;
  FyTensor *part[3];
  fy_chunk(fy_forward(attention->qkv, x), 3, -1, part); // queries, keys and values: 3 x (B, T, C)
  for (int i = 0; i < 3; i++) {
    part[i] = fy_transpose(fy_view(part[i], fy_shape(B, T, H, D)), 1, 2); // (B, H, T, D)
  }
  FyTensor *scores = fy_matmul(part[0], fy_transpose(part[1], -2, -1)); // (B, H, T, T)
  scores = fy_mul_scalar(scores, 1 / sqrt((double)D));
  scores = fy_add(scores, causal_mask(T, fy_dtype_of(scores), fy_device_of(x)));
  FyTensor *mixed = fy_matmul(fy_softmax(scores, -1), part[2]); // (B, H, T, D)
  return fy_forward(attention->out, fy_reshape(fy_transpose(mixed, 1, 2), fy_shape(B, T, C)));
}
// [end]

static FyModule *new_attention(const GptConfig *config) {
  Attention *attention = fy_module_new(Attention, attention_forward);
  attention->heads = config->heads;
  fy_register_module(attention, qkv, fy_nn_linear(config->width, 3 * config->width));
  fy_register_module(attention, out, fy_nn_linear(config->width, config->width));
  return &attention->base;
}

// [block]
typedef struct Block {
  FyModule base;
  FyModule *norm1, *attention, *norm2, *mlp;
} Block;

static FyTensor *block_forward(FyModule *self, FyTensor *x) {
  Block *block = (Block *)self;
  x = fy_add(x, fy_forward_each(x, block->norm1, block->attention)); // tokens look at earlier tokens
  return fy_add(x, fy_forward_each(x, block->norm2, block->mlp));    // each token for itself
}

static FyModule *new_block(const GptConfig *config) {
  Block *block = fy_module_new(Block, block_forward);
  int C = config->width;
  fy_register_module(block, norm1, new_layer_norm(C, config->fused));
  fy_register_module(block, attention, new_attention(config));
  fy_register_module(block, norm2, new_layer_norm(C, config->fused));
  fy_register_module(block, mlp, fy_nn_sequential(fy_nn_linear(C, 4 * C), fy_nn_gelu(), fy_nn_linear(4 * C, C)));
  return &block->base;
}
// [end]

// ---- the model ------------------------------------------------------------------------------------------------------

// [sizes]
GptConfig gpt_config(int vocabulary, bool small) {
  if (small) {
    return (GptConfig){.vocabulary = vocabulary, .context = 16, .layers = 2, .heads = 2, .width = 32};
  }
  return (GptConfig){.vocabulary = vocabulary, .context = 64, .layers = 4, .heads = 4, .width = 128};
}
// [end]

// [gpt]
typedef struct Gpt {
  FyModule base;
  FyTensor *token_table;    // (V, C): a row for each token
  FyTensor *position_table; // (context, C): a row for each position
  FyModule *blocks, *norm;
  GptConfig config;
} Gpt;
// [end]

// [blocks]
static FyTensor *run_block(void *block, FyTensor *const *inputs) {
  return fy_forward((FyModule *)block, inputs[0]);
}

static FyTensor *run_blocks(Gpt *gpt, FyTensor *x) {
  for (int i = 0; i < gpt->config.layers; i++) {
    FyModule *block = fy_sequential_at(gpt->blocks, i);
    x = gpt->config.checkpoint ? fy_checkpoint(run_block, block, x) : fy_forward(block, x);
  }
  return x;
}
// [end]

// [gpt_forward]
// (B, T) -> (B, T, V)
static FyTensor *gpt_forward(FyModule *self, FyTensor *tokens) {
  Gpt *gpt = (Gpt *)self;
  FyTensor *positions = fy_narrow(gpt->position_table, 0, 0, fy_size_at(tokens, 1)); // (T, C)
  FyTensor *x = fy_add(fy_embedding(tokens, gpt->token_table), positions);           // (B, T, C)
  x = fy_forward(gpt->norm, run_blocks(gpt, x));
  return fy_linear(x, gpt->token_table, NULL); // the logits: how well each token of the vocabulary fits
}
// [end]

// [init]
// As in GPT-2: small normal weights, and even smaller ones where a result is added to the residual stream.
static void init_weights(Gpt *gpt) {
  fy_no_grad {
    FyTensorList *parameters = fy_parameters(gpt);
    for (int i = 0; i < parameters->count; i++) {
      if (fy_dim(parameters->items[i]) == 2) {
        const char *name = parameters->names[i];
        bool added = strstr(name, "attention.out") || strstr(name, "mlp.2");
        fy_init_normal_(parameters->items[i], 0, added ? 0.02 / sqrt(2.0 * gpt->config.layers) : 0.02);
      } else if (strstr(parameters->names[i], "bias")) {
        fy_zero_(parameters->items[i]);
      }
    }
  }
}

FyModule *new_gpt(const GptConfig *config, uint64_t seed) {
  fy_manual_seed(seed);
  Gpt *gpt = fy_module_new(Gpt, gpt_forward);
  gpt->config = *config;
  fy_register_parameter(gpt, token_table, fy_empty(fy_shape(config->vocabulary, config->width)));
  fy_register_parameter(gpt, position_table, fy_empty(fy_shape(config->context, config->width)));
  FyModule *blocks[64] = {0};
  for (int i = 0; i < config->layers; i++) {
    blocks[i] = new_block(config);
  }
  fy_register_module(gpt, blocks, fy_nn_sequential_with(blocks));
  fy_register_module(gpt, norm, new_layer_norm(config->width, config->fused));
  init_weights(gpt);
  return &gpt->base;
}
// [end]

FyModule *gpt_block(FyModule *gpt, int i) {
  return fy_sequential_at(((Gpt *)gpt)->blocks, i);
}

// [loss]
FyTensor *gpt_loss(FyModule *gpt, const Batch *batch) {
  FyTensor *logits = fy_forward(gpt, batch->tokens);                 // (B, T, V)
  return fy_cross_entropy(fy_flatten(logits, 0, 1), batch->targets); // the mean over B * T
}
// [end]

// ---- sampling -------------------------------------------------------------------------------------------------------

// [sample]
// Draws a token: token t with the probability p[t].
static int64_t draw(const float *p, int count) {
  double left = fy_item(fy_rand(fy_shape(1)));
  for (int token = 0; token < count - 1; token++) {
    left -= p[token];
    if (left < 0) {
      return token;
    }
  }
  return count - 1;
}

// Predicts the token that follows the last `length` tokens.
static int64_t next_token(FyModule *gpt, const int64_t *tokens, int64_t length, double temperature, FyDevice device) {
  FyTensor *input = fy_tensor(tokens, fy_shape(1, length), .device = device);
  FyTensor *logits = fy_select(fy_select(fy_forward(gpt, input), 0, 0), 0, length - 1); // (V): of the last token
  float p[256];
  fy_copy_to_host(fy_softmax(fy_div_scalar(logits, temperature), 0), p);
  return draw(p, (int)fy_size_at(logits, 0));
}

void print_sample(FyModule *gpt, const Corpus *corpus, const char *prompt, int count, double temperature,
                  FyDevice device) {
  int context = ((Gpt *)gpt)->config.context, length = 0;
  int64_t tokens[4096];
  for (const char *c = prompt; *c && length < 1000; c++) {
    if (corpus->token_of[(unsigned char)*c] >= 0) {
      tokens[length++] = corpus->token_of[(unsigned char)*c];
    }
  }
  fputs(prompt, stdout);
  fy_no_grad {
    for (int i = 0; i < count && length < 4096; i++) {
      fy_scope {
        int seen = length < context ? length : context;
        tokens[length] = next_token(gpt, tokens + length - seen, seen, temperature, device);
      }
      putchar(corpus->character_of[tokens[length++]]);
    }
  }
  putchar('\n');
}
// [end]
