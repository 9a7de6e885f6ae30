// Chapter 10: CIFAR-10.
//
// Color images of ten classes, 50,000 of them: few enough that a network can memorize them. Augmentation shows the
// network another crop of each image every time. Two more techniques of training: gradient accumulation, which splits
// a batch into parts, and gradient clipping. The training loop is in chapters/training.c, data and
// network in chapters/networks.c.
//
// The lesson is docs/10_cifar10.md.
#include "networks.h"
#include "training.h"

#include <math.h>
#include <stdio.h>

// ---- data -----------------------------------------------------------------------------------------------------------

static void say_what_the_data_is(const Data *data) {
  heading("The pictures");
  char description[160];
  printf("to learn from:   %s\n", fy_dataset_describe(data->train, description, sizeof description));
  printf("to be tested on: %s\n", fy_dataset_describe(data->test, description, sizeof description));
  if (data->train->synthetic) {
    printf("CIFAR-10 is not here (--data DIR says where it is). These are made up by a generator: the program can be\n"
           "followed with them, and what it reaches says nothing about CIFAR-10.\n");
  }
}

static Picture picture_at(const Data *data, FyDataset *dataset, int64_t index) {
  FyBatch sample = fy_dataset_get(dataset, index); // PyTorch: dataset[index]
  return picture_of(sample.data, data->class_name((int)fy_item_int64(sample.target)), "");
}

static void look_at_pictures(const Data *data) {
  printf("\n");
  Picture pictures[3];
  for (int i = 0; i < 3; i++) {
    pictures[i] = picture_at(data, data->plain_train, i);
  }
  show_pictures(pictures, 3);
}

// [augmentation]
static void look_at_augmentation(const Data *data) {
  heading("One picture, drawn three times");
  Picture pictures[3];
  for (int i = 0; i < 3; i++) {
    pictures[i] = picture_at(data, data->train, 0); // the same index each time
  }
  show_pictures(pictures, 3);
  FyBatch once = fy_dataset_get(data->plain_train, 0), again = fy_dataset_get(data->plain_train, 0);
  printf("without augmentation, twice the same: %s\n", truth(fy_equal(once.data, again.data)));
}
// [end]

// ---- model ----------------------------------------------------------------------------------------------------------

static void look_at_model(void) {
  heading("The network");
  FyModule *model = new_cifar_cnn(0);
  fy_module_print(model);
  printf("%lld parameters\n", (long long)parameter_count(model));
}

// ---- accumulation ---------------------------------------------------------------------------------------------------

// [accumulation]
// Accumulates the gradients of `parts` parts of a batch. Returns them as one vector, and stores the peak memory.
static FyTensor *gradients_in_parts(const FyBatch *batch, int parts, FyDevice device, size_t *peak) {
  FyModule *model = fy_module_to(new_cifar_cnn(0), device);
  FyTensorList *parameters = fy_parameters(model);
  int64_t rows = batch->size / parts;
  fy_reset_peak_memory_stats(device);
  for (int part = 0; part < parts; part++) {
    fy_scope {
      FyTensor *data = fy_to(fy_narrow(batch->data, 0, part * rows, rows), device);
      FyTensor *target = fy_to(fy_narrow(batch->target, 0, part * rows, rows), device);
      FyTensor *loss = fy_cross_entropy(fy_forward(model, data), target);
      fy_backward(fy_div_scalar(loss, parts)); // the mean of the means is the mean of all
    }
  }
  *peak = fy_max_memory_allocated(device) - fy_memory_allocated(device); // without weights and gradients, which remain
  FyTensor *gradients[16];
  for (int i = 0; i < parameters->count; i++) {
    gradients[i] = fy_reshape(fy_grad(parameters->items[i]), fy_shape(-1));
  }
  return fy_cat((FyTensors){parameters->count, gradients}, 0);
}

static void accumulation(const Chapter *chapter, const Data *data) {
  heading("A batch put together from parts");
  int64_t size = size_for(chapter, 16, 32, 128);
  FyDataLoader *loader = fy_data_loader(data->plain_train, .batch_size = (int)size);
  FyBatch batch;
  fy_loader_next(fy_loader_iter(loader), &batch);
  size_t peak_whole, peak_parts;
  FyTensor *whole = gradients_in_parts(&batch, 1, chapter->device, &peak_whole);
  FyTensor *parts = gradients_in_parts(&batch, 4, chapter->device, &peak_parts);
  printf("%lld pictures at once:     %s at most\n", (long long)size, bytes_text((double)peak_whole));
  printf("four times %lld, added up: %s at most\n", (long long)size / 4, bytes_text((double)peak_parts));
  printf("largest difference of the gradients: %.1e\n", fy_item(fy_max(fy_abs(fy_sub(whole, parts)))));
}
// [end]

// ---- clipping -------------------------------------------------------------------------------------------------------

// [clipping]
static void clipping(const Chapter *chapter, const Data *data) {
  heading("Gradients that are clipped");
  FyModule *model = fy_module_to(new_cifar_cnn(0), chapter->device);
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = fy_sgd(parameters, .lr = 0.1);
  FyDataLoader *loader = fy_data_loader(data->plain_train, .batch_size = 16, .shuffle = true, .seed = 1);
  Table table = table_begin({"step", 4}, {"loss", 8}, {"norm", 8}, {"after", 8});
  fy_for_prefetched_batches(batch, loader, chapter->device) {
    fy_zero_grad(optimizer);
    FyTensor *loss = fy_cross_entropy(fy_forward(model, batch.data), batch.target);
    fy_backward(loss);
    FyTensor *norm = fy_clip_grad_norm_(parameters, 0.5);       // PyTorch: clip_grad_norm_(parameters, 0.5)
    FyTensor *after = fy_clip_grad_norm_(parameters, INFINITY); // changes nothing, measures only
    fy_step(optimizer);
    table_row(&table, text("%lld", (long long)batch.index), text("%.4f", fy_item(loss)), text("%.4f", fy_item(norm)),
              text("%.4f", fy_item(after)));
    if (batch.index == 5) {
      break;
    }
  }
}
// [end]

// ---- training -------------------------------------------------------------------------------------------------------

static FyDataset *part_of(FyDataset *dataset, int64_t count, bool full) {
  return full ? dataset : fy_subset(dataset, 0, count);
}

// [training_run]
static void train_and_save(const Chapter *chapter, const Data *data, FyDevice device, const TrainingOptions *options) {
  heading("Training");
  FyDataset *train_set = part_of(data->train, size_for(chapter, 10, 80, 391) * options->batch_size, options->full);
  FyDataset *test_set = part_of(data->test, size_for(chapter, 500, 2000, 10000), options->full);
  Training training = training_of(new_cifar_cnn(options->seed), train_set, test_set, device, options);
  printf("on %s: %lld pictures in batches of %d, %d to a step, gradients %s, %d epochs\n\n", fy_device_name_of(device),
         (long long)fy_loader_samples(training.train), options->batch_size, options->accumulate,
         options->clip > 0 ? text("clipped to %g", options->clip) : "as they come", options->epochs);
  double start = seconds_now(device), best = train(&training);
  printf("in all, with the evaluations: %s\n", time_text(device, seconds_now(device) - start));
  printf("best test accuracy: %.2f %% on %lld pictures%s\n", 100 * best, (long long)fy_loader_samples(training.test),
         data->train->synthetic ? ", made-up ones: nothing about CIFAR-10" : "");
}
// [end]

// [per_class]
static void accuracy_per_class(const Data *data, FyDevice device, const TrainingOptions *options) {
  heading("Which classes it knows");
  FyModule *model = fy_module_to(new_cifar_cnn(options->seed + 1), device);
  fy_load_state_dict(model, fy_safetensors_load(options->save, NULL)); // the best weights
  FyDataLoader *loader = fy_data_loader(fy_subset(data->test, 0, 2000), .batch_size = 500);
  int64_t right[10] = {0}, all[10] = {0};
  fy_eval(model);
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      int64_t guess[500], label[500];
      fy_copy_to_host(fy_argmax_dim(fy_forward(model, batch.data), 1, false), guess);
      fy_copy_to_host(batch.target, label);
      for (int64_t i = 0; i < batch.size; i++) {
        all[label[i]]++;
        right[label[i]] += guess[i] == label[i];
      }
    }
  }
  Table table = table_begin({"class", 12}, {"pictures", 8}, {"right", 9});
  for (int i = 0; i < 10; i++) {
    table_row(&table, data->class_name(i), text("%lld", (long long)all[i]),
              text("%.1f %%", all[i] ? 100.0 * (double)right[i] / (double)all[i] : 0));
  }
}
// [end]

int main(int argc, char **argv) {
  TrainingOptions options = {.batch_size = 128, .lr = 1e-3, .workers = 2, .accumulate = 1, .clip = 5};
  Chapter chapter = training_begin(argc, argv, "Chapter 10: CIFAR-10",
                                   "Augmentation, accumulation, clipping: a network learns color pictures.", &options);
  FyDevice device = chapter.simulated ? FY_CPU_DEVICE : chapter.device; // no training on a simulated device
  if (!options.save) {
    options.save = temporary_file("best.safetensors");
  }
  Data data = load_cifar10(options.data);
  fy_scope {
    say_what_the_data_is(&data);
    look_at_pictures(&data);
    look_at_augmentation(&data);
    look_at_model();
  }
  if (!options.full) {
    fy_scope {
      accumulation(&chapter, &data);
    }
    fy_scope {
      clipping(&chapter, &data);
    }
  }
  fy_scope {
    train_and_save(&chapter, &data, device, &options);
  }
  fy_scope {
    accuracy_per_class(&data, device, &options);
  }
  return 0;
}
