// What the two training chapters share: their options, the training loop, evaluation, and the files a training writes.
#ifndef CHAPTERS_TRAINING_H
#define CHAPTERS_TRAINING_H

#include "common.h"

typedef struct TrainingOptions {
  int epochs, batch_size, workers, accumulate;
  double lr, clip;
  uint64_t seed;
  const char *schedule; // "none", "step" or "cosine"
  const char *data;     // where the files are, NULL for the usual places
  const char *save;     // the best weights, NULL for a temporary file
  const char *resume;   // a checkpoint: written after every epoch, and gone on from when it is there
  bool full;            // the whole data instead of a part
} TrainingOptions;

// chapter_begin with these options; `options` holds the defaults and receives what the arguments say.
Chapter training_begin(int argc, char **argv, const char *title, const char *about, TrainingOptions *options);

// The same with an option of the chapter's own.
Chapter training_begin_with(int argc, char **argv, const char *title, const char *about, TrainingOptions *options,
                            const ChapterOption *own);

// [training]
typedef struct Training {
  FyModule *model;
  FyTensorList *parameters;
  FyOptimizer *optimizer;
  FyScheduler *scheduler; // NULL: the learning rate stays
  FyDataLoader *train, *test;
  FyDevice device;
  int epochs;
  int accumulate; // batches whose gradients are added up for one step of the optimizer
  double clip;    // the largest norm that all gradients together may have; 0 for any
  uint64_t seed;
  const char *weights; // file for the best weights so far; NULL for none
  const char *resume;  // file for all that it takes to go on; NULL for none
} Training;
// [end]

// Puts a training together: seeds the random numbers, makes loaders, Adam and the schedule. The model is moved to `device`.
Training training_of(FyModule *model, FyDataset *train, FyDataset *test, FyDevice device,
                     const TrainingOptions *options);

// Trains for training->epochs, less those that the checkpoint has already. Returns the best accuracy, 0 to 1.
double train(Training *training);

typedef struct Evaluation {
  double loss, accuracy; // means over all samples
} Evaluation;
Evaluation evaluate(FyModule *model, FyDataLoader *loader, FyDevice device);

// The mean loss of one pass over training->train; `label` stands before the progress bar, NULL for none.
double train_epoch(Training *training, const char *label);

// Numbers in a model's parameters.
int64_t parameter_count(FyModule *model);

// The path of a file in a directory of this program's own, which goes when the program ends. Valid until four further calls.
const char *temporary_file(const char *name);

// What the classes of made-up pictures are called: "pattern 0" ...
const char *synthetic_class(int label);

// ---- pictures in a terminal -----------------------------------------------------------------------------------------

typedef struct Picture {
  FyTensor *image;     // (1 or 3, H, W) float32 on the CPU, normalized to [-1, 1]
  char caption[2][64]; // two lines below it
} Picture;
Picture picture_of(FyTensor *image, const char *first, const char *second);

// Draws pictures side by side, three at a time, in shades of blocks.
void show_pictures(const Picture *pictures, int count);

#endif
