// SPDX-License-Identifier: MIT
// Exercise 5.3: the model moved there and back in every step, and left on the CPU.
#include "exercise.h"
#include <string.h>

static const Mistake MODEL_BEHIND = {"the model left behind",
                                     "The batch is on the device and the model is not. A model goes where it is sent.",
                                     "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake LAYER_BEHIND = {"a layer left behind",
                                     "Some parameters moved and others did not. Moving the whole model forgets none.",
                                     "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake ON_CPU = {"trained on the CPU",
                               "The devices agree, but the training was to take place on the device that is given.",
                               "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake ALWAYS_CUDA = {
    "always the current GPU", ".cuda() means the current CUDA device, whichever was asked for. .to(device) serves all.",
    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake COPIES = {
    "copies moved, not the model",
    "fy_to on a parameter makes another tensor, and the model knows nothing of it. A module's "
    ".to changes the module itself.",
    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake BROUGHT_BACK = {"the model brought back",
                                     "The model was to stay on the device after the training.",
                                     "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake ONLY_IN_LOOP = {"without a step the model stays behind",
                                     "No steps were asked for, and the model is still on the CPU. It belongs on the "
                                     "device when the function returns: move it "
                                     "before the loop, not in it.",
                                     "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake GRAPH_KEPT = {"a graph kept in the losses",
                                   "The losses require a gradient: each holds on to the graph of its step. Store "
                                   "fy_detach(loss), or copy it in fy_no_grad.",
                                   "docs/05_model_moves.md#training-steps"};
static const Mistake TRAINED_TWICE = {
    "one step more",
    "The losses are right, and the parameters have been changed once more than there are "
    "steps.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake LATER_LOSS = {
    "the loss after the step",
    "Each of the losses is that of the next step: it was computed with the parameters that "
    "the step had changed already.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake BATCH_BEHIND = {
    "the batch left behind",
    "The model is on the device, and x or y is not. What meets in an operation has to be on one device.",
    "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake LOSSES_LEFT = {"the losses left on the CPU",
                                    "The losses are wanted on the device, also when there are none.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake EACH_STEP = {"the model moved in every step",
                                  "There and back for every step. Move the model once, before the training.",
                                  "docs/05_model_moves.md#questions"};
static const Mistake DATA_EACH_STEP = {"the batch moved in every step",
                                       "The same x and y crossed again in each step. Move them once, before the loop.",
                                       "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake WAITS = {"the host waits in every step",
                              "Asking for each loss at once copies it back and stops the host. Leave the losses on the "
                              "device.",
                              "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the losses.",
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
static void ask_no_steps(Case *c) {
  ask_on(c, "cuda:0", 0, (Give){0});
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 5, 9), (Give){0});
}
static void ask_both(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), (Give){0});
  give_text(c, "and then", "cpu");
}

// ---- what is right -----------------------------------------------------------------------------------------------------

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

// The first layer's step comes first: it needs w2 as it was.
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

// ---- judging -------------------------------------------------------------------------------------------------------------

// Two copies are x and y; four more are all of the parameters.
static const Mistake *not_moved(const Counts *n) {
  return n->host_to_device >= 6 ? &COPIES : n->host_to_device > 2 ? &LAYER_BEHIND : &MODEL_BEHIND;
}

static void suspect_all(Case *c, int64_t steps) {
  const Counts *n = counts(c);
  bool error = *got_error(c);
  suspect_that(c, error && got(c, "losses"), &ALWAYS_CUDA); // the second call failed, on the CPU
  suspect_that(c, error && n->device_to_host > 0, &EACH_STEP);
  suspect_that(c, strstr(got_error(c), "same device") && got_number(c, "parameters there") == 4, &BATCH_BEHIND);
  suspect_error(c, "same device", not_moved(n));
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
  suspect_that(c, !error && !got(c, "losses"), &NOTHING);
  suspect_array(c, "losses", new_array(c, FY_FLOAT32, shape(steps)), &CONSTANT);
  suspect_that(c, steps > 0 && n->host_to_device == 0, &ON_CPU);
}

// A model that is brought back takes its four gradients along.
static bool expect_place(Case *c, const char *name, const char *device) {
  const Counts *n = counts(c);
  const Mistake *left = n->device_to_host > 8 ? &EACH_STEP : n->device_to_host > 0 ? &BROUGHT_BACK : not_moved(n);
  if (given_number(c, "steps") == 0 && n->device_to_host == 0 && !*got_error(c))
    left = &ONLY_IN_LOOP;
  return expect_device(c, name, device, strcmp(got_device(c, name), "cpu") == 0 ? left : &ALWAYS_CUDA);
}

static bool expect_trained(Case *c, const Net *net, const char *device) {
  return expect_place(c, "0.weight", device) && expect_place(c, "0.bias", device) &&
         expect_place(c, "2.weight", device) && expect_place(c, "2.bias", device) &&
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
  bool placed = expect_device(c, "losses", device,
                              !on_cpu                 ? &ALWAYS_CUDA
                              : n->launches || !steps ? &LOSSES_LEFT
                                                      : &ON_CPU);
  if (!expect_that(c, !(got(c, "losses")->flags & ARRAY_REQUIRES_GRAD), &GRAPH_KEPT, "losses: they require a gradient"))
    return losses;
  if (!placed || !expect_trained(c, &net, device))
    return losses;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0,
                 n->device_to_host > steps ? &EACH_STEP : &WAITS);
  expect_at_most(c, "copies from host to device", n->host_to_device, 6, &DATA_EACH_STEP);
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &ALWAYS_CUDA);
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
    .after_pass = "A model moves once, before its first step, and stays: each move copies every parameter.",
    .kind = "find the bug",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .bug = true,
    .lesson = "docs/05_model_moves.md#when-they-are-apart",
    .hints = {"Follow the parameters through two steps: how often do they cross the bus, and in which directions?",
              "fy_device_of(fy_parameters(model)->items[0]) tells where the model is: ask it at the function's end.",
              "A module's .to moves all of its parameters at once and changes the module itself. Where in the function "
              "does it belong, and how often?"},
    .functions = {"train"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "views with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "transposed", .ask = ask_transposed, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "no steps", .ask = ask_no_steps, .judge = judge},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
