// SPDX-License-Identifier: MIT
// Checkpoints: files from which a training run resumes, with the same results as without the interruption. A checkpoint
// is one safetensors file.
#ifndef FERRY_TRAIN_CHECKPOINT_H
#define FERRY_TRAIN_CHECKPOINT_H

#include "amp/grad_scaler.h"
#include "data/safetensors.h"
#include "optim/schedule.h"

// The contents of a checkpoint. Members that are NULL are neither saved nor loaded.
//
//   fy_checkpoint_save("run.safetensors", &(FyCheckpoint){.model = net, .optimizer = adam, .epoch = epoch + 1});
typedef struct FyCheckpoint {
  void *model;            // an FyModule: its state_dict, with the prefix "model."
  FyOptimizer *optimizer; // its state_dict, with the prefix "optimizer."
  FyScheduler *scheduler;
  FyGradScaler *scaler; // its state_dict, with the prefix "scaler."; a disabled scaler counts as NULL
  int64_t epoch, step;  // the next epoch and step to run
  uint64_t seed;        // of the data loader
  double best;          // the best result so far
  // More metadata to save, or NULL. Loading sets it to all metadata of the file, owned by the innermost scope.
  FyMetadata *extra;
} FyCheckpoint;

// Saves the members and the state of the process's random number generator to a file. Writes the file atomically: after
// a crash at any time, `path` is either the complete old file or the complete new one. Raises FY_TYPE_ERROR for NULL,
// and the errors of fy_safetensors_save.
FY_API void fy_checkpoint_save(const char *path, const FyCheckpoint *checkpoint);

// Loads a file into the members that are not NULL, sets the numbers, and restores the state of the random number
// generator. Checks everything before it changes the first value. Raises FY_TYPE_ERROR for NULL, FY_VALUE_ERROR if the
// file is not a checkpoint or has no state for a member, and the errors of fy_safetensors_load, fy_load_state_dict,
// fy_optimizer_load_state_dict and fy_scaler_load_state_dict.
FY_API void fy_checkpoint_load(const char *path, FyCheckpoint *checkpoint);

// Returns whether `path` exists. Does not read the file. Never raises.
FY_API bool fy_checkpoint_exists(const char *path);

#endif
