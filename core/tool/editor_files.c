// SPDX-License-Identifier: MIT
// Files in the workspace for VS Code: tasks, a debug configuration, where headers are. A file that is there stays as it is.
#include "tool/commands.h"
#include "tool/print/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char launch[] = "{\n"
                             "  \"version\": \"0.2.0\",\n"
                             "  \"configurations\": [\n"
                             "    {\n"
                             "      \"name\": \"Step through the kernel of this file\",\n"
                             "      \"type\": \"ferry-step\",\n"
                             "      \"request\": \"launch\",\n"
                             "      \"program\": \"${file}\"\n"
                             "    }\n"
                             "  ]\n"
                             "}\n";

static void add_task(Text *t, const char *label, const char *ferry, const char *arguments, const char *more) {
  text_add(t, "    {\n      \"label\": \"%s\",\n      \"type\": \"process\",\n      \"command\": ", label);
  text_json(t, ferry);
  text_add(t,
           ",\n      \"args\": [%s],\n      \"options\": {\"cwd\": \"${workspaceFolder}\", \"env\": {\"FERRY_WORK\": "
           "\"${workspaceFolder}\"}},\n      \"problemMatcher\": \"$gcc\"%s\n    }",
           arguments, more);
}

static void add_tasks(Text *t, const char *ferry) {
  text_add(t, "{\n  \"version\": \"2.0.0\",\n  \"tasks\": [\n");
  add_task(t, "ferry: check this exercise", ferry, "\"run\", \"${fileBasenameNoExtension}\"",
           ",\n      \"group\": {\"kind\": \"test\", \"isDefault\": true}");
  text_add(t, ",\n");
  add_task(t, "ferry: inspect this file", ferry, "\"inspect\", \"${file}\", \"--gcc\"",
           ",\n      \"group\": {\"kind\": \"build\", \"isDefault\": true}");
  text_add(t, ",\n");
  add_task(t, "ferry: step through this file", ferry, "\"step\", \"${file}\"",
           ",\n      \"presentation\": {\"focus\": true}");
  text_add(t, "\n  ]\n}\n");
}

// For the C/C++ extension; clangd reads compile_flags.txt.
static void add_settings(Text *t, const char *root) {
  static const char *const folders[] = {"core", "core/sim/include", "build/include"};
  text_add(t, "{\n  \"files.associations\": {\"*.cu\": \"cuda-cpp\", \"*.cuh\": \"cuda-cpp\"},\n"
              "  \"C_Cpp.default.cStandard\": \"c17\",\n  \"C_Cpp.default.cppStandard\": \"c++17\",\n"
              "  \"C_Cpp.default.includePath\": [");
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char folder[4200];
    snprintf(folder, sizeof folder, "%s%s", root, folders[i]);
    text_add(t, "%s", i ? ", " : "");
    text_json(t, folder);
  }
  text_add(t, "]\n}\n");
}

// 1: written, 0: it is there already, -1 after an error message.
static int write_new(const char *name, const Text *t) {
  char path[4200];
  work_path(path, sizeof path, ".vscode/%s", name);
  if (access(path, F_OK) == 0)
    return 0;
  if (file_write(path, t->at, t->used))
    return 1;
  fprintf(stderr, "ferry: %s could not be written: %s\n", path, file_problem());
  return -1;
}

int work_add_editor_files(void) {
  char folder[4096], ferry[4096], root[4096];
  Text text[3] = {{0}};
  static const char *const names[] = {"launch.json", "tasks.json", "settings.json"};
  int written = 0;
  work_path(folder, sizeof folder, ".vscode");
  in_root(root, sizeof root, "%s", "");
  const ssize_t length = readlink("/proc/self/exe", ferry, sizeof ferry - 1);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "ferry: the folder %s could not be created: %s\n", folder, strerror(errno));
    return -1;
  }
  if (length < 0)
    return 0;
  ferry[length] = '\0';
  text_add(&text[0], "%s", launch);
  add_tasks(&text[1], ferry);
  add_settings(&text[2], root);
  for (int i = 0; i < 3; i++) {
    const int one = written < 0 ? -1 : write_new(names[i], &text[i]);
    written = one < 0 ? -1 : written + one;
    text_free(&text[i]);
  }
  return written;
}
