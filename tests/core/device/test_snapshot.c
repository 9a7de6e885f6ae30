// SPDX-License-Identifier: MIT
// The file of fy_memory_snapshot, read by Python's own pickle module; and what happens where it cannot be written.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy FERRY_SIM_MEMORY_MB=64
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads
// run check: FERRY_CUDA=off
#include "expect.h"
#include "ferry.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/ferry-snapshot-XXXXXX", path[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/snapshot.pickle", mkdtemp(folder));
  return 0;
}

static int files_in_folder(void) {
  int count = 0;
  DIR *opened = opendir(folder);
  for (struct dirent *entry; (entry = readdir(opened));)
    count += entry->d_name[0] != '.';
  closedir(opened);
  return count;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

// What Python prints about the snapshot `s`, in `text`.
static void ask(const char *question, char *text, size_t bytes) {
  char command[2048];
  if (system("python3 -c 'import pickle' >/dev/null 2>&1") != 0) {
    print_message("needs python3 with its module pickle\n");
    skip();
  }
  snprintf(command, sizeof command, "python3 -c 'import pickle\ns = pickle.load(open(\"%s\", \"rb\"))\n%s' 2>&1", path,
           question);
  FILE *pipe = popen(command, "r");
  size_t n = fread(text, 1, bytes - 1, pipe);
  text[n] = '\0';
  pclose(pipe);
}

static void expect_answer(const char *question, const char *answer) {
  char text[2048];
  ask(question, text, sizeof text);
  assert_string_equal(text, answer);
}

static void expect_line(const char *question, int line) {
  char answer[256];
  snprintf(answer, sizeof answer, "%s %d\n", __FILE__, line);
  expect_answer(question, answer);
}

static void the_cpu_is_the_last_device(void **state) {
  (void)state;
  int line = 0;
  fy_record_memory_history(true, .clear_history = true);
  fy_scope {
    line = __LINE__ + 1;
    FyTensor *x = fy_empty(fy_shape(700001));
    fy_drop(fy_empty(fy_shape(11)));
    fy_memory_snapshot(path);
    fy_drop(x);
  }
  char answer[64];
  snprintf(answer, sizeof answer, "%d True\n", fy_cuda_device_count() + 1);
  expect_answer("print(len(s[\"device_traces\"]), all([e[\"action\"] for e in t] == [\"snapshot\"] for t in "
                "s[\"device_traces\"][:-1]))",
                answer);
  expect_answer("print(*[e[\"action\"] for e in s[\"device_traces\"][-1] if e[\"size\"] in (2800004, 44)], "
                "s[\"device_traces\"][-1][-1][\"action\"])",
                "alloc alloc free_requested free_completed snapshot\n");
  expect_line("b = [b for g in s[\"segments\"] for b in g[\"blocks\"] if b[\"requested_size\"] == 2800004]\n"
              "assert len(b) == 1 and b[0][\"state\"] == \"active_allocated\"\n"
              "print(b[0][\"frames\"][0][\"filename\"], b[0][\"frames\"][0][\"line\"])",
              line);
  expect_answer(
      "print(all(g[\"total_size\"] == sum(b[\"size\"] for b in g[\"blocks\"]) for g in s[\"segments\"]), "
      "{g[\"device\"] for g in s[\"segments\"]} == {len(s[\"device_traces\"]) - 1}, s[\"ferry\"][\"devices\"][-1])",
      "True True cpu\n");
  fy_record_memory_history(false);
}

// A block in use, one that a stream still uses, free ones; two streams; two pools.
static void fill_device(FyDevice device, int *line) {
  FyStream *side = fy_stream_new(device, 0);
  *line = __LINE__ + 1;
  FyTensor *large = fy_empty(fy_shape(1001, 1001), .device = device);
  fy_stream_guard(side) {
    fy_empty(fy_shape(5), .device = device);
  }
  fy_drop(fy_empty(fy_shape(3001), .device = device));
  FyTensor *pending = fy_zeros(fy_shape(777), .device = device);
  fy_record_stream(pending, side);
  fy_drop(pending); // the next allocation would see that the stream has passed
  (void)large;
}

// Memory of a CUDA graph: its pool's id, in segments and events.
static void a_pool_of_a_graph(void **state) {
  (void)state;
  skip_below_devices(1);
  FyDevice device = fy_cuda_device(0);
  fy_empty_cache();
  fy_record_memory_history(true, .clear_history = true);
  fy_scope {
    FyTensor *x = fy_ones(fy_shape(1 << 19), .device = device);
    FyCudaGraph *graph = fy_cuda_graph_new();
    fy_cuda_graph_capture(graph, .pool = fy_cuda_graph_pool_handle()) {
      fy_drop(fy_add(x, x));
    }
    fy_memory_snapshot(path);
  }
  fy_record_memory_history(false);
  expect_answer("pools = sorted((g[\"segment_pool_id\"] != (0, 0), g[\"segment_pool_id\"][0], g[\"total_size\"],"
                " g[\"active_size\"]) for g in s[\"segments\"] if g[\"device\"] == 0)\n"
                "print(pools)\n"
                "print([e[\"action\"] for e in s[\"device_traces\"][0] if e[\"pool_id\"] != (0, 0)])",
                "[(False, 0, 2097152, 512), (False, 0, 20971520, 2097152), (True, 0, 20971520, 0)]\n"
                "['segment_alloc', 'alloc', 'free_requested', 'free_completed']\n");
}

static void a_devices_segments_and_blocks(void **state) {
  (void)state;
  skip_below_devices(1);
  int line = 0;
  fy_empty_cache();
  fy_record_memory_history(true, .clear_history = true);
  fy_scope {
    fill_device(fy_cuda_device(0), &line);
    fy_memory_snapshot(path);
  }
  fy_record_memory_history(false);
  expect_answer(
      "for g in sorted((g for g in s[\"segments\"] if g[\"device\"] == 0), key=lambda g: (g[\"segment_type\"], "
      "g[\"stream\"])):\n"
      "  print(g[\"segment_type\"], g[\"stream\"] != 0, g[\"total_size\"], g[\"allocated_size\"], "
      "g[\"active_size\"], g[\"requested_size\"], g[\"segment_pool_id\"], *[b[\"state\"] for b in g[\"blocks\"]])",
      "large False 20971520 4008448 4008448 4008004 (0, 0) active_allocated inactive\n"
      "small False 2097152 0 3584 3108 (0, 0) active_pending_free inactive\n"
      "small True 2097152 512 512 20 (0, 0) active_allocated inactive\n");
  expect_answer(
      "for g in s[\"segments\"]:\n"
      "  at = g[\"address\"]\n"
      "  for b in g[\"blocks\"]:\n"
      "    assert b[\"address\"] == at\n"
      "    at += b[\"size\"]\n"
      "  assert at == g[\"address\"] + g[\"total_size\"]\n"
      "print(type(s[\"allocator_settings\"][\"max_split_size\"]), s[\"allocator_settings\"][\"max_split_size\"])",
      "<class 'int'> -1\n");
  expect_line(
      "f = [g for g in s[\"segments\"] if g[\"segment_type\"] == \"large\" and g[\"device\"] == 0][0][\"frames\"]\n"
      "print(f[0][\"filename\"], f[0][\"line\"])",
      line);
  expect_answer("print(*[e[\"action\"] for e in s[\"device_traces\"][0]])",
                "segment_alloc alloc segment_alloc alloc segment_alloc alloc free_requested free_completed alloc "
                "free_requested snapshot\n");
}

static void out_of_memory_says_what_was_free(void **state) {
  (void)state;
  skip_below_devices(1);
  skip_unless_simulated();
  FyError error;
  fy_empty_cache();
  fy_record_memory_history(true, .clear_history = true);
  fy_trap(error) {
    fy_empty(fy_shape(1 << 20, 1 << 20), .device = fy_cuda_device(0));
  }
  fy_memory_snapshot(path);
  fy_record_memory_history(false);
  assert_int_equal(error.kind, FY_OUT_OF_MEMORY_ERROR);
  size_t unused, total;
  char answer[128];
  fy_mem_get_info(fy_cuda_device(0), &unused, &total);
  snprintf(answer, sizeof answer, "oom %zu %zu False %d\n", (size_t)4 << 40, unused, error.line);
  expect_answer("e = s[\"device_traces\"][0][0]\n"
                "print(e[\"action\"], e[\"size\"], e[\"device_free\"], \"addr\" in e, e[\"frames\"][0][\"line\"])",
                answer);
}

// ---- where it cannot be written ----------------------------------------------------------------------------------------

static void errors_name_the_path(void **state) {
  (void)state;
  expect_error(FY_OS_ERROR, "/nowhere/at/all.pickle", fy_memory_snapshot("/nowhere/at/all.pickle"));
  expect_error(FY_TYPE_ERROR, "NULL", fy_memory_snapshot(NULL));
}

static void nothing_half_written(void **state) {
  (void)state;
  unlink(path);
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  signal(SIGXFSZ, SIG_IGN);
  fy_record_memory_history(true);
  for (int i = 1; i <= 100; i++)
    fy_drop(fy_empty(fy_shape(i)));
  setrlimit(RLIMIT_FSIZE, &small);
  expect_error(FY_OS_ERROR, path, fy_memory_snapshot(path));
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(files_in_folder(), 0);
  fy_memory_snapshot(path); // everything works afterwards
  assert_int_equal(files_in_folder(), 1);
  fy_record_memory_history(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cpu_is_the_last_device), cmocka_unit_test(a_devices_segments_and_blocks),
      cmocka_unit_test(a_pool_of_a_graph),          cmocka_unit_test(out_of_memory_says_what_was_free),
      cmocka_unit_test(errors_name_the_path),       cmocka_unit_test(nothing_half_written),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
