// SPDX-License-Identifier: MIT
// Checkpoints: all that a training needs to go on where it stopped, to the same numbers. One safetensors file.
#ifndef FERRY_TRAIN_CHECKPOINT_H
#define FERRY_TRAIN_CHECKPOINT_H

#include "amp/grad_scaler.h"
#include "data/safetensors.h"
#include "optim/schedule.h"

// What a checkpoint has. Members that are NULL are neither saved nor loaded.
//   fy_checkpoint_save("run.safetensors", &(FyCheckpoint){.model = net, .optimizer = adam, .epoch = epoch + 1});
typedef struct FyCheckpoint {
  void *model;            // an FyModule: its state_dict, under "model."
  FyOptimizer *optimizer; // its state_dict, under "optimizer."
  FyScheduler *scheduler;
  FyGradScaler *scaler; // its state_dict, under "scaler."; one that is not enabled counts as NULL
  int64_t epoch, step;  // the next ones to run
  uint64_t seed;        // of the loader
  double best;          // the best result so far
  FyMetadata *extra;    // saved when not NULL; after loading: all texts of the file, an object of the scope
} FyCheckpoint;

// Saves the members and the state of the process's random generator, atomically (a kill at any moment leaves the old file or
// the new one, whole). Raises what fy_safetensors_save raises.
FY_API void fy_checkpoint_save(const char *path, const FyCheckpoint *checkpoint);

// Loads a file into the members that are given, sets the numbers and the random generator. Raises what fy_safetensors_load,
// fy_load_state_dict and fy_optimizer_load_state_dict raise, and FY_VALUE_ERROR when the file is no checkpoint or has no
// state for a member; everything is checked before the first value is changed.
FY_API void fy_checkpoint_load(const char *path, FyCheckpoint *checkpoint);

// Is there a file to load?
FY_API bool fy_checkpoint_exists(const char *path);

#endif
