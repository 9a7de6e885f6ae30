# SPDX-License-Identifier: MIT
# What judges answers, as a part of build/ferry, and what it links answers with. The exercises' checks (tests/hidden/*/check.c)
# go into the program; their drivers are objects of their own, to be linked with an answer when it is graded.
# Sanitized builds do without it: answers run under limits that leave no room for a sanitizer's memory. What reads replies and
# judges them is in test_replies there, too.

GRADER_CHILD := $(addprefix tests/grader/,child.c host_memory.c buffers_tensor.c event_trace.c ledger_sim.c misaligned.c play_count.c)
GRADER_C := $(TOOL_C) $(filter-out $(GRADER_CHILD),$(filter-out tests/grader/test_%,$(wildcard tests/grader/*.c)))
CHECK_C := $(filter tests/hidden/%/check.c,$(SOURCES))
DRIVER_C := $(filter tests/hidden/%/driver.c,$(SOURCES))
GRADER_CU := $(filter tests/grader/%.cu tests/hidden/%/driver.cu,$(filter-out tests/grader/attacks/%,$(SOURCES)))
JUDGE_C := $(addprefix tests/grader/,case.c elements.c expect.c expect_inspect.c mistakes.c registry.c score.c suspect.c wire.c) core/inspect/report/step_link.c core/inspect/report/summary.c core/tool/print/shell.c core/tool/print/usage.c
REPLIES_C := tests/grader/test_replies.c
SANDBOX_C := core/tool/print/plain.c core/tool/print/usage.c tests/grader/wire.c $(filter tests/grader/sandbox%,$(GRADER_C))
SANDBOX_TEST_C := tests/grader/test_sandbox.c tests/grader/test_folders.c
SCALE_C := $(addprefix core/tool/scale/scale_,model.c events.c buckets.c hardware.c published.c)
SCALE_TEST_C := tests/core/tool/test_scale.c
JSON_C := core/tool/print/json.c tests/core/tool/test_json.c
FORBIDDEN_C := core/tool/compile/root.c $(addprefix tests/grader/,symbols.c forbidden.c forbidden_arrays.c test_forbidden.c) core/sim/compile/c_tokens.c
CHILD_TEST_C := tests/grader/wire.c tests/grader/test_child.c
ifneq ($(SANITIZE),)
GRADER_CHILD :=
GRADER_C := $(JUDGE_C)
DRIVER_C :=
GRADER_CU :=
endif
ifeq ($(SANITIZE),thread) # it has one
JUDGE_C :=
REPLIES_C :=
SANDBOX_TEST_C :=
SANDBOX_C :=
GRADER_C :=
CHECK_C :=
endif

# What the program takes of the library: objects that need no other.
FERRY_CORE_OBJ := $(addprefix $(B)/core/,model/architectures.o model/count_names.o model/gpu.o model/gpus.o model/kernel.o base/json_scan.o)
FERRY_OBJ := $(patsubst %.c,$(B)/%.o,$(GRADER_C) $(CHECK_C))
REPLIES_OBJ := $(patsubst %.c,$(B)/%.o,$(REPLIES_C) $(JUDGE_C) $(CHECK_C) core/tool/print/language.c)
SANDBOX_OBJ := $(patsubst %.c,$(B)/%.o,$(SANDBOX_C))
SANDBOX_TEST := $(SANDBOX_TEST_C:%.c=$(B)/%)
SCALE_OBJ := $(patsubst %.c,$(B)/%.o,$(SCALE_C) $(SCALE_TEST_C))
JSON_OBJ := $(JSON_C:%.c=$(B)/%.o)
FORBIDDEN_OBJ := $(FORBIDDEN_C:%.c=$(B)/%.o)
CHILD_TEST_OBJ := $(CHILD_TEST_C:%.c=$(B)/%.o)
GRADER_OBJ := $(sort $(FERRY_OBJ) $(SANDBOX_OBJ) $(SCALE_OBJ) $(JSON_OBJ) $(FORBIDDEN_OBJ) $(CHILD_TEST_OBJ)) $(patsubst %.c,$(B)/%.o,$(GRADER_CHILD) $(DRIVER_C) $(REPLIES_C)) $(SANDBOX_TEST:%=%.o)
GRADER_CU_OBJ := $(GRADER_CU:%.cu=$(B)/sim/%.o)

$(GRADER_OBJ) $(GRADER_CU_OBJ): private CPPFLAGS += -Itests/grader -I$(B)/include
# A test names what it needs and leaves the rest of its fields out.
$(patsubst %.c,$(B)/%.o,$(CHECK_C)): private CFLAGS += -Wno-missing-field-initializers
# These run with every answer.
JUDGING := $(patsubst %.c,$(B)/%.o,$(CHECK_C)) $(patsubst %,$(B)/tests/grader/%.o,case expect expect_inspect event_trace wire)
$(JUDGING): private CFLAGS += $(if $(SANITIZE),,-O2)

tests: $(patsubst %.c,$(B)/%,$(REPLIES_C))
$(B)/tests/grader/test_replies: $(REPLIES_OBJ) $(FERRY_CORE_OBJ) $(B)/stamp/link $(B)/stamp/grader
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(LDFLAGS) -Wl,--wrap=message_find,--wrap=expect_array,--wrap=expect_number $(REPLIES_OBJ) $(FERRY_CORE_OBJ) -lcmocka -lm

tests: $(B)/tests/core/tool/test_scale $(B)/tests/core/tool/test_json $(B)/tests/grader/test_forbidden $(B)/tests/grader/test_child
$(B)/tests/core/tool/test_scale: $(SCALE_OBJ)
$(B)/tests/core/tool/test_json: $(JSON_OBJ) $(B)/core/base/json_scan.o
$(B)/tests/grader/test_forbidden: $(FORBIDDEN_OBJ)
$(B)/tests/grader/test_child: $(CHILD_TEST_OBJ)
$(B)/tests/core/tool/test_scale $(B)/tests/core/tool/test_json $(B)/tests/grader/test_forbidden $(B)/tests/grader/test_child: $(B)/stamp/link $(B)/stamp/grader
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(LDFLAGS) $(filter %.o,$^) -lcmocka -lm

# The system's calls that the sandbox makes, which its tests let fail, or are told of.
SANDBOX_CALLS := pipe2 socketpair fork syscall mount setrlimit setresuid execve nanosleep
FOLDER_CALLS := chmod unlinkat openat
$(B)/tests/grader/test_sandbox: private WRAPPED = $(SANDBOX_CALLS)
$(B)/tests/grader/test_folders: private WRAPPED = $(FOLDER_CALLS)
tests: $(SANDBOX_TEST)
$(SANDBOX_TEST): %: %.o $(SANDBOX_OBJ) $(B)/stamp/link $(B)/stamp/grader
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(LDFLAGS) $(WRAPPED:%=-Wl,--wrap=%) $(filter %.o,$^) -lcmocka -lm
