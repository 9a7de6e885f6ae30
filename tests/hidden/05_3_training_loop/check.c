// SPDX-License-Identifier: MIT
// Exercise 5.3: the model moved there and back in every step, and left on the CPU.
#include "exercise.h"
#include <string.h>

static const Mistake MODEL_BEHIND = {"model on another device than the input",
                                     "Move the whole model to the device: fy_module_to(model, device).",
                                     "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake LAYER_BEHIND = {
    "layer not moved",
    "Only some of the parameters are on the device. Move the whole model: fy_module_to(model, device).",
    "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake ON_CPU = {"training on the CPU", "Move the model, x and y to `device` before the first step.",
                               "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake ALWAYS_CUDA = {"current device instead of the argument",
                                    "fy_module_cuda and \"cuda\" mean the current device. Use the argument `device`.",
                                    "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake COPIES = {"parameters copied instead of moved",
                               "fy_to returns a copy of a parameter, and the model keeps the original. Call "
                               "fy_module_to, which moves the model's own parameters.",
                               "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake BROUGHT_BACK = {"model moved back", "Leave the model on the device after the training.",
                                     "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake GRAPH_KEPT = {
    "graph kept in the losses",
    "The losses require a gradient, so each loss keeps the graph of its step. Store fy_detach(loss).",
    "docs/05_model_moves.md#training-steps"};
static const Mistake TRAINED_TWICE = {
    "one step too many",
    "The losses are correct, but the parameters were updated one time too many. Update them once per loss.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake LATER_LOSS = {"loss computed after the update",
                                   "Store the loss of the forward pass, before the update.",
                                   "docs/05_model_moves.md#training-steps"};
static const Mistake BATCH_BEHIND = {"input on another device than the model", "Move both x and y to the device.",
                                     "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake LOSSES_LEFT = {"losses left on the CPU", "Create the losses with `.device = device`.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake EACH_STEP = {"model transferred in every step", "Move the model once, before the loop.",
                                  "docs/05_model_moves.md#questions"};
static const Mistake DATA_EACH_STEP = {"batch transferred in every step",
                                       "x and y do not change. Move them once, before the loop.",
                                       "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake WAITS = {
    "host synchronization in every step",
    "Reading a loss copies it to the host, which waits for it. Leave the losses on the device.",
    "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake CONSTANT = {"losses not computed", "All losses are 0. Store the loss of each step.",
                                 "docs/05_model_moves.md#training-steps"};

static const double RATE = 0.25;

static void ask_model(Case *c, int64_t n, int64_t in, int64_t hidden, int64_t out, Give how) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n, in), -1, 1), how);
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(n, out), -1, 1), how);
  give_array(c, "w1", draw_array(c, FY_FLOAT32, shape(hidden, in), -1, 1), (Give){0});
  give_array(c, "b1", draw_array(c, FY_FLOAT32, shape(hidden), -1, 1), (Give){0});
  give_array(c, "w2", draw_array(c, FY_FLOAT32, shape(out, hidden), -1, 1), (Give){0});
  give_array(c, "b2", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
}
static void ask_on(Case *c, const char *device, int64_t steps, Give how) {
  give_text(c, "device", device);
  give_number(c, "steps", (double)steps);
  ask_model(c, draw_odd(c, 9, 19), draw_int(c, 4, 6), draw_int(c, 7, 9), draw_int(c, 2, 3), how);
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), (Give){0});
}
static void ask_gaps(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), (Give){.strided = true});
}
static void ask_transposed(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), (Give){.transposed = true});
}
static void ask_large(Case *c) {
  give_text(c, "device", "cuda:0");
  give_number(c, "steps", (double)draw_int(c, 4, 6));
  ask_model(c, draw_odd(c, 101, 129), draw_odd(c, 21, 29), draw_odd(c, 31, 39), draw_odd(c, 5, 9), (Give){0});
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 5, 9), (Give){0});
}
static void ask_both(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), (Give){0});
  give_text(c, "second device", "cpu");
}

// ---- what is right -----------------------------------------------------------------------------------------------

typedef struct Net {
  int64_t n, in, hidden, out;
  const float *x, *y;
  double *w1, *b1, *w2, *b2; // trained
  double *h, *g;             // (n, hidden) after relu, (n, out) gradient of the output
} Net;

static double *doubles(Case *c, const Array *a) {
  return array_cast(c, a, FY_FLOAT64)->f64;
}

static Net net_as_given(Case *c) {
  const Array *x = given(c, "x"), *w1 = given(c, "w1"), *w2 = given(c, "w2");
  Net net = {.n = x->shape.size[0], .in = x->shape.size[1], .hidden = w1->shape.size[0], .out = w2->shape.size[0]};
  net.x = x->f32;
  net.y = given(c, "y")->f32;
  net.w1 = doubles(c, w1);
  net.b1 = doubles(c, given(c, "b1"));
  net.w2 = doubles(c, w2);
  net.b2 = doubles(c, given(c, "b2"));
  net.h = new_array(c, FY_FLOAT64, shape(net.n, net.hidden))->f64;
  net.g = new_array(c, FY_FLOAT64, shape(net.n, net.out))->f64;
  return net;
}

// Fills h and g; returns the loss.
static double forward(Net *net) {
  double loss = 0, elements = (double)(net->n * net->out);
  for (int64_t i = 0; i < net->n; i++) {
    double *h = net->h + i * net->hidden;
    for (int64_t k = 0; k < net->hidden; k++) {
      h[k] = net->b1[k];
      for (int64_t j = 0; j < net->in; j++)
        h[k] += net->x[i * net->in + j] * net->w1[k * net->in + j];
      h[k] = h[k] > 0 ? h[k] : 0;
    }
    for (int64_t o = 0; o < net->out; o++) {
      double error = net->b2[o] - net->y[i * net->out + o];
      for (int64_t k = 0; k < net->hidden; k++)
        error += h[k] * net->w2[o * net->hidden + k];
      loss += error * error / elements;
      net->g[i * net->out + o] = 2 * error / elements;
    }
  }
  return loss;
}

// The first layer is updated first: it needs the old w2.
static void descend(Net *net) {
  for (int64_t i = 0; i < net->n; i++)
    for (int64_t k = 0; k < net->hidden; k++) {
      double slope = 0;
      for (int64_t o = 0; o < net->out; o++)
        slope += net->g[i * net->out + o] * net->w2[o * net->hidden + k];
      slope = net->h[i * net->hidden + k] > 0 ? slope : 0;
      net->b1[k] -= RATE * slope;
      for (int64_t j = 0; j < net->in; j++)
        net->w1[k * net->in + j] -= RATE * slope * net->x[i * net->in + j];
    }
  for (int64_t i = 0; i < net->n; i++)
    for (int64_t o = 0; o < net->out; o++) {
      double slope = net->g[i * net->out + o];
      net->b2[o] -= RATE * slope;
      for (int64_t k = 0; k < net->hidden; k++)
        net->w2[o * net->hidden + k] -= RATE * slope * net->h[i * net->hidden + k];
    }
}

static const Array *as_float(Case *c, Shape s, const double *values) {
  Array *a = new_array(c, FY_FLOAT32, s);
  for (int64_t i = 0; i < a->count; i++)
    a->f32[i] = (float)values[i];
  return a;
}

// ---- judging -----------------------------------------------------------------------------------------------------

// x and y are two copies, all parameters four more.
static const Mistake *not_moved(const Counts *n) {
  return n->host_to_device >= 6 ? &COPIES : n->host_to_device > 2 ? &LAYER_BEHIND : &MODEL_BEHIND;
}

// The four parameters and their gradients are copied back and forth; x and y may be as well.
static bool moved_each_step(const Case *c) {
  const int64_t steps = (int64_t)given_number(c, "steps");
  return counts(c)->device_to_host >= 4 * steps && counts(c)->host_to_device > 6 + 2 * steps;
}

static void suspect_all(Case *c, int64_t steps) {
  const Counts *n = counts(c);
  bool error = *got_error(c);
  suspect_that(c, error && got(c, "losses"), &ALWAYS_CUDA); // the second call, on the CPU, failed
  suspect_that(c, strstr(got_error(c), "same device") && got_number(c, "parameters there") == 4, &BATCH_BEHIND);
  suspect_that(c, strstr(got_error(c), "same device") != NULL, not_moved(n));
  Net more = net_as_given(c);
  Array *later = new_array(c, FY_FLOAT32, shape(steps));
  for (int64_t i = 0; i <= steps; i++) {
    const float loss = (float)forward(&more);
    if (i > 0)
      later->f32[i - 1] = loss;
    descend(&more);
  }
  suspect_array(c, "losses", later, &LATER_LOSS);
  suspect_array(c, "0.weight", as_float(c, shape(more.hidden, more.in), more.w1), &TRAINED_TWICE);
  suspect_array(c, "losses", new_array(c, FY_FLOAT32, shape(steps)), &CONSTANT);
  suspect_that(c, steps > 0 && n->host_to_device == 0, &ON_CPU);
}

static bool expect_moved(Case *c, const char *name, const char *device) {
  const Counts *n = counts(c);
  const Mistake *left = moved_each_step(c) ? &EACH_STEP : n->device_to_host >= 4 ? &BROUGHT_BACK : not_moved(n);
  return expect_device(c, name, device, strcmp(got_device(c, name), "cpu") == 0 ? left : &ALWAYS_CUDA);
}

static bool expect_trained(Case *c, const Net *net, const char *device) {
  return expect_moved(c, "0.weight", device) && expect_moved(c, "0.bias", device) &&
         expect_moved(c, "2.weight", device) && expect_moved(c, "2.bias", device) &&
         expect_array(c, "0.weight", as_float(c, shape(net->hidden, net->in), net->w1), 1e-4) &&
         expect_array(c, "0.bias", as_float(c, shape(net->hidden), net->b1), 1e-4) &&
         expect_array(c, "2.weight", as_float(c, shape(net->out, net->hidden), net->w2), 1e-4) &&
         expect_array(c, "2.bias", as_float(c, shape(net->out), net->b2), 1e-4);
}

static const Array *right_losses(Case *c, Net *net) {
  Array *losses = new_array(c, FY_FLOAT32, shape((int64_t)given_number(c, "steps")));
  for (int64_t i = 0; i < losses->count; i++) {
    losses->f32[i] = (float)forward(net);
    descend(net);
  }
  return losses;
}

static const Array *judge_first(Case *c) {
  Net net = net_as_given(c);
  const Array *losses = right_losses(c, &net);
  const Counts *n = counts(c);
  int64_t steps = losses->count;
  suspect_all(c, steps);
  if (!expect_array(c, "losses", losses, 1e-4))
    return losses;
  const char *device = given_text(c, "device");
  bool on_cpu = strcmp(got_device(c, "losses"), "cpu") == 0;
  bool there = expect_device(c, "losses", device, !on_cpu ? &ALWAYS_CUDA : n->launches ? &LOSSES_LEFT : &ON_CPU);
  if (!expect_that(c, !(got(c, "losses")->flags & ARRAY_REQUIRES_GRAD), &GRAPH_KEPT,
                   "losses: expected no graph, but they require a gradient"))
    return losses;
  if (!there || !expect_trained(c, &net, device))
    return losses;
  if (!expect_that(c, !moved_each_step(c), &EACH_STEP, "the parameters were copied in every step"))
    return losses;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, &WAITS);
  expect_at_most(c, "copies from host to device", n->host_to_device, 6, &DATA_EACH_STEP);
  return losses;
}

static void judge(Case *c) {
  judge_first(c);
}

static void judge_both(Case *c) {
  const Array *losses = judge_first(c);
  if (expect_array(c, "second losses", losses, 1e-4))
    expect_device(c, "second losses", "cpu", &ALWAYS_CUDA);
}

EXERCISE = {
    .id = "05_3_training_loop",
    .title = "Find the bug: a training loop",
    .after_pass = "Move a model once, before the first step, because every move copies all its parameters.",
    .kind = "find the bug",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .bug = true,
    .lesson = "docs/05_model_moves.md#device-mismatch-errors",
    .stars = {{"no transfer in the loop", {&DATA_EACH_STEP, &WAITS}}},
    .hints = {"On which device does each line run? Print "
              "fy_device_name_of(fy_device_of(fy_parameters(model)->items[0])) after several lines.",
              "Count the transfers of one step, in both directions. Which of them are necessary in every step?",
              "The loop moves the model to the device and back in every step. Move it once, before the loop, and leave "
              "it there."},
    .functions = {"train"},
    .tests = {{.name = "GPU", .ask = ask_gpu, .judge = judge},
              {.name = "strided views", .ask = ask_gaps, .judge = judge},
              {.name = "transposed", .ask = ask_transposed, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "GPU, then CPU", .ask = ask_both, .judge = judge_both},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
