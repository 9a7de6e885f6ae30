// SPDX-License-Identifier: MIT
// What CUPTI tells of a GPU, by a CUPTI of this test's own: what is queued, what has run, by which clock, under which name; what
// is said where there is none. Needs CUPTI's header (NVIDIA's toolkit), and no GPU.
// run check:
#if __has_include(<cupti.h>)
#include "device/cupti_trace.h"
#include "expect.h"
#include <stddef.h>
#include <stdint.h>

// ---- a CUPTI ---------------------------------------------------------------------------------------------------------------

enum { CLOCK_AHEAD = 1234567890 }; // nanoseconds of its clock before CLOCK_MONOTONIC

static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc requested;
static CUpti_BuffersCallbackCompleteFunc completed;
static int enabled_kinds, enabled_calls, subscribers, flushes;
static CUptiResult subscribe_result, enable_result, timestamp_result;

typedef union Record {
  CUpti_Activity any;
  CUpti_ActivityKernel4 kernel;
  CUpti_ActivityMemcpy3 copy;
  CUpti_ActivityMemcpyPtoP2 peer;
  CUpti_ActivityMemset2 fill;
} Record;
static Record waiting[8]; // records that the next flush hands over
static int waiting_count;

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *context) {
  (void)context;
  *subscriber = (CUpti_SubscriberHandle)(uintptr_t)16;
  callback = function;
  subscribers += subscribe_result == CUPTI_SUCCESS;
  return subscribe_result;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) {
  assert_int_equal((uintptr_t)subscriber, 16);
  subscribers--;
  return CUPTI_SUCCESS;
}

static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                   CUpti_CallbackId id) {
  (void)subscriber;
  enabled_calls += enable && (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) && id;
  return CUPTI_SUCCESS;
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete) {
  requested = request;
  completed = complete;
  return CUPTI_SUCCESS;
}

static CUptiResult enable(CUpti_ActivityKind kind) {
  (void)kind;
  enabled_kinds += enable_result == CUPTI_SUCCESS;
  return enable_result;
}

static CUptiResult disable(CUpti_ActivityKind kind) {
  (void)kind;
  enabled_kinds--;
  return CUPTI_SUCCESS;
}

static CUptiResult flush_all(uint32_t flags) {
  uint8_t *buffer = NULL;
  size_t bytes = 0, most = 1;
  assert_int_equal(flags, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  flushes++;
  requested(&buffer, &bytes, &most);
  assert_non_null(buffer);
  assert_int_equal((uintptr_t)buffer % 8, 0);
  assert_true(bytes > sizeof waiting);
  assert_int_equal(most, 0);
  memcpy(buffer, waiting, sizeof waiting);
  completed(NULL, 0, buffer, bytes, (size_t)waiting_count * sizeof *waiting);
  waiting_count = 0;
  return CUPTI_SUCCESS;
}

static CUptiResult next_record(uint8_t *buffer, size_t bytes, CUpti_Activity **record) {
  uint8_t *next = *record ? (uint8_t *)*record + sizeof(Record) : buffer;
  if (next >= buffer + bytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)(void *)next;
  return CUPTI_SUCCESS;
}

static CUptiResult timestamp(uint64_t *nanoseconds) {
  *nanoseconds = (uint64_t)(fy_cupti_now() + CLOCK_AHEAD);
  return timestamp_result;
}

static CUptiResult result_string(CUptiResult result, const char **text) {
  *text = result == CUPTI_ERROR_NOT_INITIALIZED ? "CUPTI_ERROR_NOT_INITIALIZED" : "CUPTI_ERROR_OTHER";
  return CUPTI_SUCCESS;
}

static const char *same_name(const char *mangled) {
  return mangled;
}

static int device_three(void) {
  return 3;
}

// ---- who is told -----------------------------------------------------------------------------------------------------------

static FyActivity queued_ones[8], ran_ones[8];
static int queued_count, ran_count;

static void queued(const FyActivity *a) {
  queued_ones[queued_count++] = *a;
}

static void ran(const FyActivity *a) {
  ran_ones[ran_count++] = *a;
}

static int begin(void **state) {
  (void)state;
  fy_cupti_trace.cupti = (FyCupti){subscribe, unsubscribe, enable_callback, register_callbacks, enable,
                                   disable,   flush_all,   next_record,     timestamp,          result_string};
  fy_cupti_trace.name = same_name;
  fy_cupti_trace.current_device = device_three;
  subscribe_result = enable_result = timestamp_result = CUPTI_SUCCESS;
  enabled_kinds = enabled_calls = flushes = queued_count = ran_count = waiting_count = 0;
  return 0;
}

static void call(CUpti_ApiCallbackSite site, uint32_t correlation) {
  const CUpti_CallbackData data = {.callbackSite = site, .correlationId = correlation};
  callback(NULL, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
}

static Record *record(CUpti_ActivityKind kind) {
  Record *r = &waiting[waiting_count++];
  memset(r, 0, sizeof *r);
  r->any.kind = kind;
  return r;
}

// ---- tests -----------------------------------------------------------------------------------------------------------------

static void calls_are_told_when_they_have_queued(void **state) {
  (void)state;
  char why[FY_CUPTI_WHY] = "";
  assert_true(fy_cupti_start(queued, ran, why));
  assert_int_equal(enabled_calls, sizeof fy_cupti_calls / sizeof *fy_cupti_calls);
  assert_int_equal(enabled_kinds, 4);
  call(CUPTI_API_EXIT, 6); // it began before the trace
  assert_int_equal(queued_count, 0);
  const int64_t before = fy_cupti_now();
  call(CUPTI_API_ENTER, 7);
  assert_int_equal(queued_count, 0);
  call(CUPTI_API_ENTER, 8); // the driver's, within
  call(CUPTI_API_EXIT, 8);
  assert_int_equal(queued_count, 0);
  call(CUPTI_API_EXIT, 7);
  assert_int_equal(queued_count, 1);
  assert_int_equal(queued_ones[0].id, 7);
  assert_int_equal(queued_ones[0].device, 3);
  assert_true(queued_ones[0].begin >= before && queued_ones[0].end >= queued_ones[0].begin);
  fy_cupti_stop();
  assert_int_equal(subscribers, 0);
  assert_int_equal(enabled_kinds, 0);
  call(CUPTI_API_ENTER, 9); // one that was under way when the trace ended
  call(CUPTI_API_EXIT, 9);
  assert_int_equal(queued_count, 1);
}

static void records_are_told_by_the_right_clock_before_the_end(void **state) {
  (void)state;
  char why[FY_CUPTI_WHY] = "";
  assert_true(fy_cupti_start(queued, ran, why));
  const int64_t now = fy_cupti_now();
  Record *r = record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  r->kernel.start = (uint64_t)(now + CLOCK_AHEAD);
  r->kernel.end = (uint64_t)(now + CLOCK_AHEAD + 5000);
  r->kernel.correlationId = 41;
  r->kernel.deviceId = 1;
  r->kernel.streamId = 7;
  r->kernel.gridX = 10;
  r->kernel.gridY = 20;
  r->kernel.gridZ = 1;
  r->kernel.blockX = 256;
  r->kernel.blockY = r->kernel.blockZ = 1;
  r->kernel.name = "relu";
  r = record(CUPTI_ACTIVITY_KIND_MEMCPY);
  r->copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  r->copy.bytes = 4096;
  r->copy.start = r->copy.end = 1000;
  r->copy.correlationId = 42;
  record(CUPTI_ACTIVITY_KIND_OVERHEAD); // of another kind
  r = record(CUPTI_ACTIVITY_KIND_MEMCPY2);
  r->peer.bytes = 77;
  r->peer.end = 5;
  r->peer.correlationId = 43;
  r = record(CUPTI_ACTIVITY_KIND_MEMSET);
  r->fill.bytes = 99;
  r->fill.end = 5;
  r->fill.correlationId = 44;
  r = record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); // one that has not ended
  r->kernel.start = 5;
  fy_cupti_stop();
  assert_int_equal(flushes, 1);
  assert_int_equal(ran_count, 4);
  const FyActivity *a = ran_ones;
  assert_int_equal(a[0].kind, FY_ACTIVITY_KERNEL);
  assert_int_equal(a[0].id, 41);
  assert_int_equal(a[0].device, 1);
  assert_int_equal(a[0].stream, 7);
  assert_string_equal(a[0].name, "relu");
  assert_int_equal(a[0].grid[1], 20);
  assert_int_equal(a[0].block[0], 256);
  assert_int_equal(a[0].end - a[0].begin, 5000);
  assert_true(llabs(a[0].begin - now) < 1000000); // the clocks are read apart, by as much as the machine lets happen
  assert_int_equal(a[1].kind, FY_ACTIVITY_COPY);
  assert_int_equal(a[1].copy_kind, FY_COPY_DEVICE_TO_HOST);
  assert_int_equal(a[1].bytes, 4096);
  assert_int_equal(a[2].copy_kind, FY_COPY_DEVICE_TO_DEVICE);
  assert_int_equal(a[2].bytes, 77);
  assert_int_equal(a[2].id, 43);
  assert_int_equal(a[3].kind, FY_ACTIVITY_FILL);
  assert_int_equal(a[3].bytes, 99);
  fy_cupti_stop(); // a second time: nothing
  assert_int_equal(flushes, 1);
}

static void no_time_no_records(void **state) {
  (void)state;
  char why[FY_CUPTI_WHY] = "";
  assert_true(fy_cupti_start(queued, ran, why));
  timestamp_result = CUPTI_ERROR_NOT_INITIALIZED;
  record(CUPTI_ACTIVITY_KIND_MEMSET)->fill.end = 5;
  fy_cupti_stop();
  assert_int_equal(ran_count, 0);
}

static void refusals_say_why_and_leave_nothing(void **state) {
  (void)state;
  char why[FY_CUPTI_WHY] = "";
  subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  assert_false(fy_cupti_start(queued, ran, why));
  assert_non_null(strstr(why, "another profiler, such as nsys, has it"));
  assert_int_equal(enabled_kinds, 0);
  subscribe_result = CUPTI_SUCCESS;
  enable_result = CUPTI_ERROR_NOT_INITIALIZED;
  assert_false(fy_cupti_start(queued, ran, why));
  assert_string_equal(why, "CUPTI refuses to record what runs: CUPTI_ERROR_NOT_INITIALIZED");
  assert_int_equal(subscribers, 0);
  assert_null(fy_cupti_trace.ran);
}

static void a_missing_library_is_named(void **state) {
  (void)state;
  FyCupti cupti = {0};
  char why[FY_CUPTI_WHY] = "";
  const char *const nowhere[] = {"libcupti-of-nobody.so.1", "libcupti-of-nobody.so.2", NULL};
  assert_false(fy_cupti_load(&cupti, nowhere, why));
  assert_non_null(strstr(why, "CUPTI, which tells when something ran on a GPU, cannot be loaded"));
  assert_non_null(strstr(why, "add the folder of libcupti-of-nobody.so.2 to LD_LIBRARY_PATH"));
  const char *const other[] = {"libm.so.6", NULL};
  assert_false(fy_cupti_load(&cupti, other, why));
  assert_string_equal(why, "libm.so.6 is no CUPTI that can be used: it has no cuptiSubscribe");
}

// NVIDIA's own, where it is: all functions are found, and answer.
static void the_real_one_is_found(void **state) {
  (void)state;
  FyCupti cupti = {0};
  char why[FY_CUPTI_WHY] = "", name[32];
  snprintf(name, sizeof name, "libcupti.so.%d", CUDA_VERSION / 1000);
  const char *const names[] = {name, "/usr/local/cuda/lib64/libcupti.so", NULL};
  if (!fy_cupti_load(&cupti, names, why)) {
    print_message("%s\n", why);
    skip();
  }
  const char *text = NULL;
  assert_int_equal(cupti.result_string(CUPTI_ERROR_NOT_INITIALIZED, &text), CUPTI_SUCCESS);
  assert_non_null(strstr(text, "NOT_INITIALIZED"));
}

static void names_are_shortened(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"void relu_max_pool<float>(FyPool, float const*)", "relu_max_pool<float>"},
      {"void (anonymous namespace)::gemm<int, (Kind)2>(void (*)(int), float (&)[3])", "gemm<int, (Kind)2>"},
      {"fill(float*, int)", "fill"},
      {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
      {"", ""},
      {")", ")"},
      {"a)))", "a)))"},
      {"()", ""},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[128];
    strcpy(text, names[i][0]);
    assert_string_equal(fy_cupti_shorten(text), names[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(calls_are_told_when_they_have_queued, begin),
      cmocka_unit_test_setup(records_are_told_by_the_right_clock_before_the_end, begin),
      cmocka_unit_test_setup(no_time_no_records, begin),
      cmocka_unit_test_setup(refusals_say_why_and_leave_nothing, begin),
      cmocka_unit_test(a_missing_library_is_named),
      cmocka_unit_test(the_real_one_is_found),
      cmocka_unit_test(names_are_shortened),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>
int main(void) {
  printf("ok 1 - CUPTI # SKIP its header cupti.h, a part of NVIDIA's CUDA toolkit, is not there\n1..1\n");
  return 0;
}
#endif
