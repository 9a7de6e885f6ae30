// SPDX-License-Identifier: MIT
// One run of a built answer: its limits, its environment, what it sees.
#include "answer.h"
#include "answer_tools.h"
#include "tool/compile/config.h"
#include "sim/compile/kernel_flags.h"
#include "registry.h"
#include "tools_root.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t MIB = 1 << 20;
static const size_t ADDRESS_SPACE =
    (size_t)8 << 30; // besides its memory: stacks, libraries, what it reserves. The inspector reserves more

// How long one test may take.
static double test_seconds(const Answer *a) {
  const double seconds = answer_seconds_wanted();
  return seconds > 0 ? seconds : a->real_gpu ? 30 : 10;
}

// And how much memory: FERRY_ANSWER_MEMORY_MB.
size_t answer_memory(const Answer *a) {
  const char *wanted = getenv("FERRY_ANSWER_MEMORY_MB");
  long megabytes = wanted ? strtol(wanted, NULL, 10) : 0;
  return (size_t)(megabytes >= 256 && megabytes <= 1 << 20 ? megabytes : a->real_gpu ? 8192 : 2048) * MIB;
}

SandboxResult answer_run(const Answer *a, const uint8_t *request, size_t bytes, int devices, bool no_cuda,
                         const char *const *settings) {
  char device_count[64], temporary[300], home[300], bundle[512],
      folder[256]; // a folder of this run's own
  if (!sandbox_folder(folder, sizeof folder))
    return (SandboxResult){.end = SANDBOX_NOT_STARTED, .output = strdup("a temporary folder could not be created\n")};
  snprintf(device_count, sizeof device_count, "FERRY_SIM_DEVICES=%d", devices > 0 ? devices : 1);
  snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
  snprintf(home, sizeof home, "HOME=%s", folder);
  const char *environment[24] = {"PATH=/usr/bin:/bin",
                                 "LC_ALL=C.UTF-8",
                                 temporary,
                                 home,
                                 "OMP_NUM_THREADS=2",
                                 "OMP_WAIT_POLICY=passive",
                                 no_cuda       ? "FERRY_CUDA=off"
                                 : a->real_gpu ? "FERRY_CUDA=real"
                                               : "FERRY_CUDA=sim",
                                 strcmp(exercise_extension(a->exercise), "cu") == 0
                                     ? "FERRY_SIM_MEMORY_MB=" KERNELS_MEMORY_MB
                                     : "FERRY_SIM_MEMORY_MB=512",
                                 "FERRY_CHECKED=1", // a tensor used after its scope is an error, not a crash
                                 device_count};
  int used = 0;
  while (environment[used])
    used++;
  for (int i = 0; settings[i] && used < (int)(sizeof environment / sizeof environment[0]) - 1; i++)
    environment[used++] = settings[i];
  const char *argv[] = {a->program, NULL};
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .scratch = true,
                    .request = request,
                    .request_bytes = bytes,
                    .seconds = test_seconds(a),
                    .memory = answer_memory(a),
                    .address_space = a->real_gpu || a->for_inspector ? 0 : answer_memory(a) + ADDRESS_SPACE,
                    .gpu = a->real_gpu,
                    .file_bytes = 16 * MIB,
                    .output_bytes = MIB,
                    .lines = 25};
  job.readable[0] = a->program;
  tools_path(bundle, sizeof bundle, CONFIG_ROOT "/build/bundle");
  job.readable[1] = bundle; // what is not there is left out
  job.readable[2] = a->real_gpu ? rooted(CONFIG_ROOT "/build/libferry-cuda.so") : a->mix[0] ? a->mix : NULL;
  SandboxResult result = sandbox_run(&job);
  sandbox_folder_remove(folder);
  return result;
}
