// SPDX-License-Identifier: MIT
// A runtime that refuses: pinned memory, peer copies, allocations, times of what ran. The results must be the same bits, with
// one warning.
//
// The runtime is this file's own: its fy_backend_table takes the place of the simulator's when the program is linked.
// Over 500 lines: a whole runtime that refuses, and its tests.
// run check: FERRY_CUDA=sim
#include "device/impl.h"
#include "expect.h"
#include "profiler/profiler.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// ---- a runtime on ordinary memory, whose work is done at once ----------------------------------------------------------

static bool refuse_pinned, refuse_peers, refuse_events;
static int refused_device = -1; // cannot be made current
static int launch_error;
static bool busy; // no event has passed yet
static int64_t events_made, event_queries;
static void (*started_copy)(int kind, size_t bytes);

static int device_count(int *count) {
  *count = 2;
  return 0;
}

static int set_device(int device) {
  return device == refused_device ? 719 : 0;
}

static int accept_device(int device) {
  (void)device;
  return 0;
}

static int get_device(int *device) {
  *device = 0;
  return 0;
}

static int synchronize(void) {
  return launch_error;
}

static int can_access_peer(int device, int peer, int *can) {
  *can = device != peer && !refuse_peers;
  return 0;
}

static const char *error_string(int error) {
  return error == 719 ? "unspecified launch failure" : "some error";
}

static int last_error(void) {
  return 0;
}

static int allocate(void **pointer, size_t bytes) {
  *pointer = malloc(bytes);
  return *pointer ? 0 : FY_BACKEND_OUT_OF_MEMORY;
}

static int host_allocate(void **pointer, size_t bytes) {
  return refuse_pinned ? FY_BACKEND_OUT_OF_MEMORY : allocate(pointer, bytes);
}

static int release(void *pointer) {
  free(pointer);
  return 0;
}

static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
  (void)stream;
  memcpy(to, from, bytes);
  started_copy(kind, bytes);
  return 0;
}

static int copy_peer(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream) {
  (void)to_device;
  (void)from_device;
  return refuse_peers ? 217 : copy(to, from, bytes, FY_COPY_DEVICE_TO_DEVICE, stream);
}

static int accept(void *handle) {
  (void)handle;
  return 0;
}

static int accept_two(void *a, void *b) {
  (void)a;
  (void)b;
  return 0;
}

static int event_create(void **event, bool timing) {
  (void)timing;
  events_made++;
  return refuse_events ? FY_BACKEND_OUT_OF_MEMORY : allocate(event, 1);
}

static int event_query(void *event) {
  (void)event;
  event_queries++;
  return busy ? FY_BACKEND_NOT_READY : 0;
}

static void observe(void (*kernel)(void), void (*copied)(int kind, size_t bytes)) {
  (void)kernel;
  started_copy = copied;
}

// No times of what ran, and a tool that is told of ranges.
static int refuse_trace(void (*queued)(const FyActivity *), void (*ran)(const FyActivity *)) {
  (void)ran;
  return queued ? FY_BACKEND_NOT_SUPPORTED : 0;
}

static const char *why_not_traced(void) {
  return "the tests do not want it";
}

static char ranges[512]; // the first letter of each that began, and a dot for each end

static void range_push(const char *name) {
  strncat(ranges, name, 1);
}

static void range_pop(void) {
  strcat(ranges, ".");
}

static const FyBackend backend = {
    .abi = FY_BACKEND_ABI,
    .simulated = true,
    .device_count = device_count,
    .set_device = set_device,
    .get_device = get_device,
    .synchronize = synchronize,
    .can_access_peer = can_access_peer,
    .enable_peer_access = accept_device,
    .error_string = error_string,
    .last_error = last_error,
    .malloc = allocate,
    .free = release,
    .host_malloc = host_allocate,
    .host_free = release,
    .copy = copy,
    .copy_peer = copy_peer,
    .stream_synchronize = accept,
    .stream_wait_event = accept_two,
    .event_create = event_create,
    .event_destroy = release,
    .event_record = accept_two,
    .event_synchronize = accept,
    .event_query = event_query,
    .observe = observe,
    .trace = refuse_trace,
    .why_not_traced = why_not_traced,
    .range_push = range_push,
    .range_pop = range_pop,
};

const FyBackend *fy_backend_table(void) {
  return &backend;
}

// ---- what standard error says ------------------------------------------------------------------------------------------

static int real_stderr;
static FILE *captured;

static void begin_capture(void) {
  fflush(stderr);
  real_stderr = dup(2);
  captured = tmpfile();
  assert_non_null(captured);
  dup2(fileno(captured), 2);
}

// Returns how many lines were written, and the last of them.
static int end_capture(char line[512]) {
  int lines = 0;
  fflush(stderr);
  dup2(real_stderr, 2);
  close(real_stderr);
  rewind(captured);
  line[0] = '\0';
  while (fgets(line, 512, captured))
    lines++;
  fclose(captured);
  return lines;
}

// ---- tests -----------------------------------------------------------------------------------------------------------

static void pageable_memory_stands_in_for_pinned(void **state) {
  (void)state;
  char line[512];
  void *pointers[3];
  void *blocks[3];
  void *device;
  void *device_block;
  unsigned char back[1000];
  fy_cuda_alloc(0, sizeof back, &device, &device_block);
  begin_capture();
  refuse_pinned = true;
  for (int i = 0; i < 3; i++) {
    fy_pinned_alloc(sizeof back, &pointers[i], &blocks[i]);
    memset(pointers[i], i + 1, sizeof back);
    fy_copy_bytes(device, 0, false, pointers[i], -1, true, sizeof back, true);
    fy_pinned_record_stream(blocks[i], 0, NULL);
    fy_copy_bytes(back, -1, false, device, 0, false, sizeof back, false);
    assert_int_equal(back[999], i + 1);
  }
  for (int i = 0; i < 3; i++)
    fy_pinned_free(blocks[i]);
  refuse_pinned = false;
  assert_int_equal(end_capture(line), 1);
  assert_non_null(strstr(line, "no pages could be locked for 1000 bytes of pinned memory"));
  assert_int_equal(fy_pinned_memory_stats().active_blocks, 0);
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), 0);
  fy_cuda_free(device_block);
}

static void the_pinned_cache_is_given_up_first(void **state) {
  (void)state;
  void *pointer;
  void *block;
  fy_pinned_alloc(MIB, &pointer, &block);
  fy_pinned_free(block);
  int64_t frees = fy_pinned_memory_stats().device_frees;
  refuse_pinned = true;
  fy_pinned_alloc(2 * MIB, &pointer, &block);
  refuse_pinned = false;
  assert_int_equal(fy_pinned_memory_stats().device_frees, frees + 1);
  fy_pinned_free(block);
}

static void peers_that_refuse_are_reached_through_the_host(void **state) {
  (void)state;
  char line[512];
  void *a;
  void *b;
  void *a_block;
  void *b_block;
  unsigned char sent[3000];
  unsigned char back[3000];
  for (size_t i = 0; i < sizeof sent; i++)
    sent[i] = (unsigned char)(i * 3);
  fy_cuda_alloc(0, sizeof sent, &a, &a_block);
  fy_cuda_alloc(1, sizeof sent, &b, &b_block);
  fy_copy_bytes(a, 0, false, sent, -1, false, sizeof sent, false);
  begin_capture();
  refuse_peers = true;
  for (int i = 0; i < 3; i++)
    fy_copy_bytes(b, 1, false, a, 0, false, sizeof sent, false);
  refuse_peers = false;
  assert_int_equal(end_capture(line), 1);
  assert_non_null(strstr(line, "no peer copies between cuda:0 and cuda:1"));
  fy_copy_bytes(back, -1, false, b, 1, false, sizeof back, false);
  assert_memory_equal(sent, back, sizeof sent);
  fy_cuda_free(a_block);
  fy_cuda_free(b_block);
}

// The destination's device is lost in the middle: the buffer on the host is given back.
static void a_refused_device_leaves_no_buffer(void **state) {
  (void)state;
  char line[512];
  void *a, *b, *a_block, *b_block;
  FyError error;
  fy_cuda_alloc(0, 3000, &a, &a_block);
  fy_cuda_alloc(1, 3000, &b, &b_block);
  begin_capture();
  refuse_peers = true;
  fy_copy_bytes(b, 1, false, a, 0, false, 3000, false); // asks whether the two are peers
  const int64_t before = fy_memory_allocated(FY_CPU_DEVICE);
  refused_device = 1;
  fy_trap(error) {
    fy_copy_bytes(b, 1, false, a, 0, false, 3000, false);
  }
  refused_device = -1;
  refuse_peers = false;
  end_capture(line);
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_non_null(strstr(error.message, "unspecified launch failure"));
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  fy_cuda_free(a_block);
  fy_cuda_free(b_block);
}

static void without_events_a_block_waits_for_its_streams(void **state) {
  (void)state;
  int other_stream;
  void *a;
  void *b;
  void *block;
  refuse_events = true;
  fy_cuda_alloc(0, MIB, &a, &block);
  fy_cuda_record_stream(block, 0, &other_stream);
  fy_cuda_free(block); // synchronizes the stream instead
  refuse_events = false;
  assert_int_equal(fy_memory_stats(fy_cuda_device(0)).active_blocks, 0);
  fy_cuda_alloc(0, MIB, &b, &block);
  assert_ptr_equal(a, b);
  fy_cuda_free(block);
}

// Blocks that wait for one stream: an allocation asks for the first of them alone, since a stream works in order.
static void many_waiting_blocks_cost_one_question(void **state) {
  (void)state;
  enum { BLOCKS = 1000, STREAMS = 3 };
  static void *blocks[BLOCKS];
  int streams[STREAMS];
  void *pointer;
  for (int i = 0; i < BLOCKS; i++) {
    fy_cuda_alloc(0, 512, &pointer, &blocks[i]);
    fy_cuda_record_stream(blocks[i], 0, &streams[i % STREAMS]);
  }
  busy = true;
  for (int i = 0; i < BLOCKS; i++)
    fy_cuda_free(blocks[i]);
  int64_t before = event_queries;
  for (int i = 0; i < 100; i++) {
    fy_cuda_alloc(0, 512, &pointer, &blocks[0]);
    fy_cuda_free(blocks[0]);
  }
  assert_in_range(event_queries - before, 100, 100 * STREAMS);
  busy = false;
  fy_cuda_alloc(0, 512, &pointer, &blocks[0]);
  fy_cuda_free(blocks[0]);
  assert_int_equal(fy_memory_stats(fy_cuda_device(0)).active_blocks, 0);
}

static void many_waiting_pinned_blocks_cost_one_question(void **state) {
  (void)state;
  enum { BLOCKS = 1000 };
  static void *blocks[BLOCKS];
  int stream;
  void *pointer;
  for (int i = 0; i < BLOCKS; i++) {
    fy_pinned_alloc(512, &pointer, &blocks[i]);
    fy_pinned_record_stream(blocks[i], 0, &stream);
  }
  busy = true;
  for (int i = 0; i < BLOCKS; i++)
    fy_pinned_free(blocks[i]);
  int64_t before = event_queries;
  for (int i = 0; i < 100; i++) {
    fy_pinned_alloc(512, &pointer, &blocks[0]);
    fy_pinned_free(blocks[0]);
  }
  assert_int_equal(event_queries - before, 100);
  busy = false;
  fy_pinned_alloc(512, &pointer, &blocks[0]);
  fy_pinned_free(blocks[0]);
  assert_int_equal(fy_pinned_memory_stats().active_blocks, 0);
}

// Whatever fails between, the event that orders two streams goes back to the pool.
static void an_order_that_fails_leaves_no_event_behind(void **state) {
  (void)state;
  int streams[2];
  assert_int_equal(fy_order_streams(0, &streams[0], 1, &streams[1]), 0);
  int64_t before = events_made;
  refused_device = 1;
  for (int i = 0; i < 5; i++) {
    fy_use_device(0);
    FyError error;
    fy_trap(error) {
      fy_cuda_check(fy_order_streams(0, &streams[0], 1, &streams[1]));
    }
    assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  }
  refused_device = -1;
  assert_int_equal(fy_order_streams(0, &streams[0], 1, &streams[1]), 0);
  assert_int_equal(events_made, before);
}

// Segments that are free as a whole lie behind the rests of many that are not: the time for each must not grow with their
// number.
static double seconds_to_empty(int segments) {
  struct timespec begin, end;
  void *pointer;
  fy_empty_cache();
  void **used = malloc((size_t)segments * 2 * sizeof *used);
  void **unused = malloc((size_t)segments * sizeof *unused);
  for (int i = 0; i < segments; i++) {
    fy_cuda_alloc(0, 9 * MIB, &pointer, &used[2 * i]); // two in a segment of 20 MiB, whose rest is free
    fy_cuda_alloc(0, 9 * MIB, &pointer, &used[2 * i + 1]);
    fy_cuda_alloc(0, 12 * MIB, &pointer, &unused[i]); // a segment of its own
  }
  for (int i = 0; i < segments; i++)
    fy_cuda_free(unused[i]);
  int64_t frees = fy_memory_stats(fy_cuda_device(0)).device_frees;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  fy_empty_cache();
  clock_gettime(CLOCK_MONOTONIC, &end);
  assert_int_equal(fy_memory_stats(fy_cuda_device(0)).device_frees, frees + segments);
  for (int i = 0; i < 2 * segments; i++)
    fy_cuda_free(used[i]);
  fy_empty_cache();
  free(used);
  free(unused);
  return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

static void emptying_the_cache_gives_back_whole_segments(void **state) {
  (void)state;
  seconds_to_empty(500); // so that both find their records made
  double few = seconds_to_empty(500), many = seconds_to_empty(8000);
  // Shown, not judged: a busy machine is no mistake.
  print_message("500 segments %.1f ms, 8000 segments %.1f ms\n", few * 1e3, many * 1e3);
}

static void blocking_launches_show_errors_at_once(void **state) {
  (void)state;
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1); // read at the first op
  int64_t ops = fy_counters().ops, kernels = fy_counters().launches;
  fy_op_launched();
  launch_error = 719;
  expect_error(FY_RUNTIME_ERROR, "CUDA error: unspecified launch failure", fy_op_launched());
  fy_count_launch(); // counting alone neither waits nor raises
  launch_error = 0;
  fy_op_launched();
  assert_int_equal(fy_counters().ops, ops + 3);
  assert_int_equal(fy_counters().launches, kernels + 1);
}

static void a_profile_without_device_times_says_why_once(void **state) {
  (void)state;
  char line[512];
  begin_capture();
  fy_scope {
    for (int i = 0; i < 2; i++) {
      FyProfile *profile;
      fy_profile(profile, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
        fy_record_function("here") {
        }
      }
      assert_int_equal(fy_key_averages(profile)->count, 1);
    }
  }
  assert_int_equal(end_capture(line), 1);
  assert_string_equal(line, "Warning: profiles have no times of the GPU: the tests do not want it\n");
}

// Each begin has its end: in order, closed from without, after an error, and with a profile that begins in between.
static void ranges_are_told_to_tools_outside(void **state) {
  (void)state;
  FyError error;
  FyProfile *profile;
  ranges[0] = '\0';
  fy_record_function("a") {
    fy_record_function("b") {
    }
  }
  assert_string_equal(ranges, "ab..");
  ranges[0] = '\0';
  const int outer = fy_record_function_enter("c");
  fy_record_function_enter("d");
  fy_record_function_exit(outer);
  assert_string_equal(ranges, "cd..");
  ranges[0] = '\0';
  fy_record_function("e") {
    fy_trap(error) {
      fy_record_function("f") {
        fy_raise(FY_VALUE_ERROR, "on purpose");
      }
    }
    assert_string_equal(ranges, "ef.");
  }
  assert_string_equal(ranges, "ef..");
  ranges[0] = '\0';
  fy_scope {
    const int before = fy_record_function_enter("g");
    fy_profile(profile, FY_PROFILE_CPU) {
      fy_record_function("h") {
      }
    }
    fy_record_function_exit(before);
    assert_int_equal(fy_key_averages(profile)->count, 1);
  }
  assert_string_equal(ranges, "gh..");
  int marks[300];
  for (int i = 0; i < 300; i++)
    marks[i] = fy_record_function_enter("");
  for (int i = 299; i >= 0; i--)
    fy_record_function_exit(marks[i]);
  ranges[0] = '\0';
  fy_record_function("i") {
  }
  assert_string_equal(ranges, "i.");
}

static int empty_caches(void **state) {
  (void)state;
  fy_empty_cache();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_events_a_block_waits_for_its_streams), // first: none is in the pool yet
      cmocka_unit_test(pageable_memory_stands_in_for_pinned),
      cmocka_unit_test(the_pinned_cache_is_given_up_first),
      cmocka_unit_test(peers_that_refuse_are_reached_through_the_host),
      cmocka_unit_test(a_refused_device_leaves_no_buffer),
      cmocka_unit_test(many_waiting_blocks_cost_one_question),
      cmocka_unit_test(many_waiting_pinned_blocks_cost_one_question),
      cmocka_unit_test(an_order_that_fails_leaves_no_event_behind),
      cmocka_unit_test(emptying_the_cache_gives_back_whole_segments),
      cmocka_unit_test(blocking_launches_show_errors_at_once),
      cmocka_unit_test(a_profile_without_device_times_says_why_once),
      cmocka_unit_test(ranges_are_told_to_tools_outside),
  };
  return cmocka_run_group_tests(tests, NULL, empty_caches);
}
