// SPDX-License-Identifier: MIT
// What a built answer's machine code says: the lines that places are on, and what its basic blocks compute.
#include "answer_tools.h"
#include "inspect/instrument/instrument.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool write_places(const char *folder, int *count) {
  char path[320];
  snprintf(path, sizeof path, "%s/places", folder);
  FILE *list = fopen(path, "wxe");
  *count = list ? locations_list(list) : 0;
  return list && fclose(list) == 0;
}

// The program's folder is the grader's since it was taken over; the tool works in one of its own.
bool answer_find_places(Answer *a, const Inspection *inspection) {
  Command c = {0};
  Answer tool = {.exercise = a->exercise};
  char *frames = NULL;
  int count = 0;
  if (!sandbox_folder(tool.folder, sizeof tool.folder))
    return answer_refuse(a, STATUS_GRADER_ERROR, "a temporary folder could not be created\n");
  bool good = write_places(tool.folder, &count) ||
              answer_refuse(&tool, STATUS_GRADER_ERROR, "the list of source locations was not written\n");
  command_program(&c, "addr2line");
  command_word(&c, "-iae%s", a->program);
  command_word(&c, "%s", "@places");
  good =
      good && (count == 0 || answer_run_tool(&tool, &c, (const char *[2]){a->program, NULL}, COMPILE_SECONDS, &frames));
  FILE *in = frames && *frames ? fmemopen(frames, strlen(frames), "r") : NULL;
  if (in) {
    locations_read(inspection, in);
    fclose(in);
  }
  free(frames);
  sandbox_folder_remove(tool.folder);
  if (!good) {
    answer_refuse(a, STATUS_GRADER_ERROR, tool.diagnostics ? tool.diagnostics : "");
    free(tool.diagnostics);
  }
  return good;
}

// Read by the tool in a folder of its own, written by the grader beside the program, and never by the answer.
bool answer_find_mix(Answer *a) {
  Command c = {0};
  Answer tool = {.exercise = a->exercise};
  char *listing = NULL;
  if (a->mix[0])
    return true;
  if (!sandbox_folder(tool.folder, sizeof tool.folder))
    return answer_refuse(a, STATUS_GRADER_ERROR, "a temporary folder could not be created\n");
  command_program(&c, "objdump");
  command_words(&c, "-d --no-show-raw-insn");
  command_word(&c, "%s", a->program);
  bool good = answer_run_tool(&tool, &c, (const char *[2]){a->program, NULL}, COMPILE_SECONDS, &listing);
  snprintf(a->mix, sizeof a->mix, "%s/mix", a->folder);
  FILE *in = good && listing && *listing ? fmemopen(listing, strlen(listing), "r") : NULL;
  FILE *out = in ? fopen(a->mix, "wxe") : NULL;
  bool written = out && inspect_mix_of(in, out);
  if (in)
    fclose(in);
  if (!out || fchmod(fileno(out), 0644) != 0 || fclose(out) != 0 || !written)
    a->mix[0] = '\0';
  free(listing);
  sandbox_folder_remove(tool.folder);
  free(tool.diagnostics);
  return good ||
         answer_refuse(a, STATUS_GRADER_ERROR, "the answer's instructions could not be read from its program\n");
}
