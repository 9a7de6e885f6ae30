// Chapter 9: training a classifier.
//
// Everything together: images from files, a convolutional network, a loop over epochs with an evaluation after each,
// the best weights in a file, predictions, and a training run that resumes where it was interrupted. The loop itself is
// in chapters/training.c, data and network in chapters/networks.c.
//
// The lesson is docs/09_training_a_classifier.md.
#include "networks.h"
#include "training.h"

#include <math.h>
#include <stdio.h>

// ---- data -----------------------------------------------------------------------------------------------------------

static void look_at(const Data *data) {
  heading("The pictures");
  char description[160];
  printf("to learn from:   %s\n", fy_dataset_describe(data->train, description, sizeof description));
  printf("to be tested on: %s\n\n", fy_dataset_describe(data->test, description, sizeof description));
  Picture pictures[3];
  for (int i = 0; i < 3; i++) {
    FyBatch sample = fy_dataset_get(data->train, i); // PyTorch: train_dataset[i]
    pictures[i] = picture_of(sample.data, data->class_name((int)fy_item_int64(sample.target)), "");
  }
  show_pictures(pictures, 3);
  FyBatch first = fy_dataset_get(data->train, 0);
  printf("each a tensor %s, %s from %g to %g\n", fy_shape_string(first.data), fy_dtype_name(fy_dtype_of(first.data)),
         fy_item(fy_min(first.data)), fy_item(fy_max(first.data)));
}

// ---- model ----------------------------------------------------------------------------------------------------------

static void look_at_model(void) {
  heading("The network");
  FyModule *model = new_fashion_cnn(0);
  fy_module_print(model);
  printf("%lld parameters\n", (long long)parameter_count(model));
}

// ---- the same on the device and on the CPU --------------------------------------------------------------------------

// [short_training]
// The mean loss of one epoch on the first `count` images, starting from the weights of seed 0.
static double short_training(const Data *data, int64_t count, FyDevice device) {
  TrainingOptions options = {.epochs = 1, .batch_size = 32, .lr = 1e-3, .accumulate = 1, .schedule = "none"};
  volatile double loss = 0;
  fy_scope {
    FyDataset *part = fy_subset(data->train, 0, count);
    Training training = training_of(new_fashion_cnn(0), part, part, device, &options);
    loss = train_epoch(&training, NULL);
  }
  return loss;
}

static void device_against_cpu(const Chapter *chapter, const Data *data) {
  heading("The same loop on both devices");
  int64_t count = size_for(chapter, 64, 128, 4096);
  double here = short_training(data, count, FY_CPU_DEVICE);
  printf("mean loss of the first %lld batches on cpu:    %.4f\n", (long long)count / 32, here);
  if (chapter->device.type != FY_CUDA) {
    printf("There is no CUDA device to compare with.\n");
    return;
  }
  double there = short_training(data, count, chapter->device);
  printf("mean loss of the first %lld batches on %s: %.4f\n", (long long)count / 32, fy_device_name_of(chapter->device),
         there);
  printf("they differ by %.1e: the same weights, pictures and dropout\n", fabs(there - here));
}
// [end]

// ---- training -------------------------------------------------------------------------------------------------------

static FyDataset *part_of(FyDataset *dataset, int64_t count, bool full) {
  return full ? dataset : fy_subset(dataset, 0, count);
}

// [training_run]
static double train_and_save(const Chapter *chapter, const Data *data, FyDevice device,
                             const TrainingOptions *options) {
  heading("Training");
  FyDataset *train_set = part_of(data->train, size_for(chapter, 10, 80, 235) * options->batch_size, options->full);
  FyDataset *test_set = part_of(data->test, size_for(chapter, 1000, 2000, 10000), options->full);
  Training training = training_of(new_fashion_cnn(options->seed), train_set, test_set, device, options);
  printf("on %s: %lld pictures in batches of %d, %d epochs, schedule %s, seed %llu\n\n", fy_device_name_of(device),
         (long long)fy_loader_samples(training.train), options->batch_size, options->epochs, options->schedule,
         (unsigned long long)options->seed);
  double start = seconds_now(device), best = train(&training);
  printf("in all, with the evaluations: %s\n", time_text(device, seconds_now(device) - start));
  printf("best test accuracy: %.2f %% on %lld pictures%s\n", 100 * best, (long long)fy_loader_samples(training.test),
         data->train->synthetic ? ", made-up ones: nothing about clothes" : "");
  return best;
}
// [end]

// ---- weights in a file ----------------------------------------------------------------------------------------------

// [load]
static FyModule *load_weights(const Data *data, FyDevice device, const TrainingOptions *options) {
  heading("The weights in a file");
  FyTensorList *state = fy_safetensors_load(options->save, NULL); // PyTorch: safetensors.torch.load_file(path)
  for (int i = 0; i < state->count; i++) {
    printf("  %-20s %s\n", state->names[i], fy_shape_string(state->items[i]));
  }
  FyModule *model = new_fashion_cnn(options->seed + 1); // a different seed, and so different weights
  fy_module_to(model, device);
  FyDataLoader *loader = fy_data_loader(fy_subset(data->test, 0, 1000), .batch_size = 250);
  printf("accuracy on 1000 pictures, weights as they come:    %5.2f %%\n",
         100 * evaluate(model, loader, device).accuracy);
  fy_load_state_dict(model, state); // PyTorch: model.load_state_dict(state)
  printf("accuracy on 1000 pictures, the weights of the file: %5.2f %%\n",
         100 * evaluate(model, loader, device).accuracy);
  return model;
}
// [end]

// ---- predictions ----------------------------------------------------------------------------------------------------

// [predict]
// The class that the model predicts for an image, with its probability.
static Picture predict(FyModule *model, const Data *data, int64_t index, FyDevice device, bool *right) {
  FyBatch sample = fy_dataset_get(data->test, index);
  FyTensor *input = fy_to(fy_unsqueeze(sample.data, 0), device);              // (1, 1, 28, 28): a batch of one
  FyTensor *probs = fy_softmax(fy_select(fy_forward(model, input), 0, 0), 0); // (10), their sum is 1
  int guess = (int)fy_item_int64(fy_argmax(probs)), label = (int)fy_item_int64(sample.target);
  *right = guess == label;
  return picture_of(sample.data, text("%s, %.0f %% sure", data->class_name(guess), 100 * fy_item(fy_max(probs))),
                    *right ? "right" : text("wrong: %s", data->class_name(label)));
}

static void show_predictions(FyModule *model, const Data *data, FyDevice device) {
  heading("What it sees");
  fy_eval(model);
  fy_no_grad {
    Picture pictures[3];
    for (int i = 0; i < 3; i++) {
      bool right;
      pictures[i] = predict(model, data, i, device, &right);
    }
    show_pictures(pictures, 3);
  }
}
// [end]

// [mistakes]
// The first three images that the model classifies wrongly.
static void show_mistakes(FyModule *model, const Data *data, FyDevice device) {
  Picture pictures[3];
  int found = 0;
  fy_no_grad {
    for (int64_t i = 0; i < data->test->count && found < 3; i++) {
      bool right;
      pictures[found] = predict(model, data, i, device, &right);
      found += !right;
    }
  }
  printf("\nand the first that it gets wrong:\n");
  show_pictures(pictures, found);
}
// [end]

// ---- interrupted and resumed ----------------------------------------------------------------------------------------

// [resume]
// Trains a new model and returns all weights as one vector. If the checkpoint exists, training resumes from it.
static FyTensor *trained_weights(const Data *data, int epochs, const char *checkpoint, FyDevice device) {
  TrainingOptions options = {
      .epochs = epochs, .batch_size = 64, .lr = 1e-3, .accumulate = 1, .schedule = "step", .resume = checkpoint};
  Training training =
      training_of(new_fashion_cnn(0), fy_subset(data->train, 0, 640), fy_subset(data->test, 0, 500), device, &options);
  train(&training);
  FyTensor *rows[16];
  for (int i = 0; i < training.parameters->count; i++) {
    rows[i] = fy_detach(fy_reshape(training.parameters->items[i], fy_shape(-1)));
  }
  return fy_cat((FyTensors){training.parameters->count, rows}, 0);
}

static void interrupted_and_resumed(const Data *data, FyDevice device) {
  heading("Interrupted and resumed");
  const char *checkpoint = temporary_file("checkpoint.safetensors");
  printf("two epochs in one go:\n");
  FyTensor *straight = trained_weights(data, 2, NULL, device);
  printf("one epoch, and then the program ends:\n");
  trained_weights(data, 1, checkpoint, device);
  printf("started again:\n");
  FyTensor *resumed = trained_weights(data, 2, checkpoint, device); // from the file only
  printf("the weights of both, to the last bit: %s\n", fy_equal(straight, resumed) ? "equal" : "different");
}
// [end]

int main(int argc, char **argv) {
  TrainingOptions options = {.batch_size = 256, .lr = 1e-3, .workers = 2, .accumulate = 1};
  const char *digits = NULL;
  const ChapterOption own = {
      "--mnist", "learn MNIST's digits (chapters/get_data.sh mnist fetches them)", NULL, &digits, 0, 0};
  Chapter chapter = training_begin_with(argc, argv, "Chapter 9: training a classifier",
                                        "A convolutional network learns Fashion-MNIST.", &options, &own);
  // A simulated device is correct but slow: it gets a few batches, and the CPU does the training.
  FyDevice device = chapter.simulated ? FY_CPU_DEVICE : chapter.device;
  if (!options.save) {
    options.save = temporary_file("best.safetensors");
  }
  Data data = digits ? load_mnist(options.data) : load_fashion_mnist(options.data);
  fy_scope {
    look_at(&data);
    look_at_model();
  }
  if (!options.full) {
    device_against_cpu(&chapter, &data);
  }
  fy_scope {
    train_and_save(&chapter, &data, device, &options);
  }
  fy_scope {
    FyModule *model = load_weights(&data, device, &options);
    show_predictions(model, &data, device);
    show_mistakes(model, &data, device);
  }
  if (!options.full) {
    fy_scope {
      interrupted_and_resumed(&data, device);
    }
  }
  return 0;
}
