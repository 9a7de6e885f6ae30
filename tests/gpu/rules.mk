# SPDX-License-Identifier: MIT
# What the GPU check (tests/gpu) builds, in order of value: `make gpu-programs` builds it, `make -s gpu-list` names it.

SMOKE := $(B)/tests/gpu/smoke
LADDERS := $(B)/tests/gpu/ladders
GPU_ROOMS := op device amp train nn optim autograd tensor distributed data parallel profiler trace
GPU_TESTS := $(foreach room,$(GPU_ROOMS),$(filter $(B)/tests/core/$(room)/%,$(TEST_PROGRAMS)))
GPU_PROGRAMS := $(PLUGIN) $(CUDA_LADDERS) $(CUDA_TEST_PROGRAMS) $(CUDA_CHAPTER_PROGRAMS) $(LIBRARY) $(SMOKE) $(GPU_TESTS) \
	$(CHAPTER_PROGRAMS) $(CHAPTER_CU_PROGRAMS) $(FERRY) $(BENCH)
ifneq ($(GPU_DRY),) # what a dry run tries, without nvcc
GPU_PROGRAMS := $(LIBRARY) $(SMOKE) $(LADDERS) $(addprefix $(B)/tests/core/,op/test_golden op/test_numbers device/test_caching_allocator) \
	$(CHAPTER_CU_PROGRAMS) $(FERRY) $(BENCH)
endif

.PHONY: gpu-programs gpu-list gpu-check
gpu-programs: $(GPU_PROGRAMS)

gpu-list:
	@printf '%s\n' $(GPU_PROGRAMS)

gpu-check: ## on a machine with a GPU: tests and measurements on it, in stages of 8 minutes together (ARGS="--help")
	@tests/gpu/check.sh --make '$(MAKE)' --build $(B) $(ARGS)

tests: $(SMOKE) $(LADDERS)
$(SMOKE): $(SMOKE).o $(LIBRARY) $(B)/stamp/link
	$(call say,LINK,$@)
	$(call link,$<,$(LIBRARY))

$(LADDERS): $(B)/sim/tests/gpu/ladders.o $(LIBRARY) $(B)/stamp/link
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(call link,$<,$(LIBRARY))
