# SPDX-License-Identifier: MIT
# libferry-cuda.so: the CUDA sources compiled by nvcc against NVIDIA's toolkit. Programs load it when they start, if
# there is a driver, so they run without one. It does not depend on CC; sanitized builds do without it.

NVCC := $(firstword $(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)) $(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc))
CUDA_DIR := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
CUDA_LIB := $(firstword $(wildcard $(CUDA_DIR)/lib64 $(CUDA_DIR)/targets/$(shell uname -m)-linux/lib))

rpath = $(if $(1),$(comma)-rpath$(comma)$(1))
CUDA_RPATH := $(call rpath,$(CUDA_LIB))$(call rpath,$(if $(BUNDLE),$(CURDIR)/build/bundle/lib))
CUDA_INCLUDES := $(if $(BUNDLE),-isystem build/bundle/include) \
	$(addprefix -isystem ,$(wildcard $(CUDA_DIR)/extras/CUPTI/include))
NVCCFLAGS := -std=c++17 -O3 -lineinfo -Icore -Ibuild/include -Werror all-warnings \
	-Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden
CUDA_OBJ := $(CORE_CU:%.cu=build/cuda/%.o)
# CUDA tests run on the real runtime too, but for those that say `// sim only`.
CUDA_TEST_CU := $(if $(TEST_CU),$(shell grep -L '^// sim only' $(TEST_CU)))
CUDA_TEST_OBJ := $(CUDA_TEST_CU:%.cu=build/cuda/%.o)
CUDA_TEST_PROGRAMS := $(CUDA_TEST_OBJ:.o=)
# The chapters on kernels are the reader's to compile, by plain `nvcc FILE`: nothing of the library is in reach. One that says
# `// with the library` is compiled with its headers, and not linked.
CUDA_CHAPTERS := $(if $(CHAPTER_CU),$(shell grep -L '^// with the library' $(CHAPTER_CU)))
CUDA_CHAPTER_PROGRAMS := $(CUDA_CHAPTERS:%.cu=build/cuda/%)
CUDA_CHAPTER_OBJ := $(patsubst %.cu,build/cuda/%.o,$(filter-out $(CUDA_CHAPTERS),$(CHAPTER_CU)) $(CHAPTER_KERNELS))
# What ./ferry adopt links, compiled so that it stays fit for GPUs.
CUDA_ADOPT_OBJ := $(ADOPT_CU:%.cu=build/cuda/%.o)
CUDA_CHAPTER_RUNS := $(if $(SANITIZE),,$(if $(NVCC),$(if $(wildcard /dev/nvidiactl),$(CUDA_CHAPTER_PROGRAMS))))
# The kernels that the GPU check counts and times.
CUDA_LADDERS := $(GPU_CU:%.cu=build/cuda/%)
# Calls of the runtime that cuda_backend.cu counts on their way.
CUDA_COUNTED := __cudaPushCallConfiguration cudaMemsetAsync cudaMemcpyAsync cudaMemcpyPeerAsync
PLUGIN := $(if $(SANITIZE),,$(if $(NVCC),$(if $(CORE_CU),build/libferry-cuda.so)))
# It takes minutes, and nothing can use it where there is no GPU: there it is built when it is asked for.
PLUGIN_NOW := $(if $(wildcard /dev/nvidiactl),$(PLUGIN))
PLUGIN_LATER := $(if $(PLUGIN_NOW)$(wildcard build/libferry-cuda.so),,$(PLUGIN))

STAMP_cuda := $(NVCC) $(NVCCFLAGS) $(CUDA_INCLUDES) $(CUDA_LIB)
STAMP_plugin := $(CUDA_OBJ) $(CUDA_COUNTED)
STAMP_arch := $(NVCC) $(CUDA_ARCH)
CUDA_STAMPS := $(addprefix build/cuda/stamp/,cuda plugin arch)
$(CUDA_STAMPS): build/cuda/stamp/%: $(ALWAYS)
	@$(shell mkdir -p $(@D))$(file >$@.new,$(STAMP_$*))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# nvcc's architecture options for the GPU that is here. Asking takes about a second, so the answer is kept; gpu-check
# asks again.
CUDA_ARCH_FILE := build/cuda/arch
$(CUDA_ARCH_FILE): .ci/build/arch.sh build/cuda/stamp/arch
	@.ci/build/arch.sh '$(NVCC)' '$(CUDA_ARCH)' > $@

.PHONY: cuda-arch
cuda-arch: # asks again
	@.ci/build/arch.sh '$(NVCC)' '$(CUDA_ARCH)' | cmp -s - $(CUDA_ARCH_FILE) || rm -f $(CUDA_ARCH_FILE)

$(CUDA_TEST_OBJ): private CUDA_INCLUDES += $(TEST_CPPFLAGS)
$(CUDA_OBJ) $(CUDA_TEST_OBJ) $(CUDA_CHAPTER_OBJ) $(CUDA_ADOPT_OBJ): build/cuda/%.o: %.cu build/cuda/stamp/cuda $(CUDA_ARCH_FILE) core/device/rules.mk \
		| $(WHERE) $(BUNDLE_READY)
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) $(CUDA_INCLUDES) $$(cat $(CUDA_ARCH_FILE)) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

build/libferry-cuda.so: $(CUDA_OBJ) build/cuda/stamp/plugin
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -shared -cudart static -o $@ $$(cat $(CUDA_ARCH_FILE)) $(CUDA_OBJ) -lcublas -ldl \
		-Xlinker --no-undefined,--exclude-libs,ALL$(CUDA_RPATH) $(addprefix -Xlinker --wrap=,$(CUDA_COUNTED))

# A CUDA test stands on CUDA and cmocka alone: with the library it would get the simulator.
$(CUDA_TEST_PROGRAMS): %: %.o
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -o $@ $< $(if $(BUNDLE),-Lbuild/bundle/lib) -lcublas -lcmocka -Xlinker --as-needed$(CUDA_RPATH)

$(CUDA_CHAPTER_PROGRAMS) $(CUDA_LADDERS): build/cuda/%: %.cu $(wildcard chapters/*.cuh chapters/kernels.h tests/gpu/*.cuh) build/cuda/stamp/cuda $(CUDA_ARCH_FILE) \
		core/device/rules.mk
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -O2 -lineinfo -Werror all-warnings -Xcompiler -Wall,-Wextra $$(cat $(CUDA_ARCH_FILE)) $< -o $@

.PHONY: plugin
plugin: $(PLUGIN) ## libferry-cuda.so, the half for real GPUs, also where there is no GPU
	@$(if $(NVCC),,echo 'plugin: no nvcc (looked in CUDA_HOME, PATH and /usr/local/cuda)' && exit 2)

.PHONY: cuda-check
cuda-check: ## compile the real CUDA build, every CUDA test and the chapters on kernels with nvcc, warnings as errors
	@$(if $(NVCC),,echo 'cuda-check: no nvcc (looked in CUDA_HOME, PATH and /usr/local/cuda)' && exit 2)
	@$(MAKE) cuda-programs
	@.ci/build/cuda-check.sh build/libferry-cuda.so

.PHONY: cuda-programs
cuda-programs: $(PLUGIN) $(CUDA_TEST_PROGRAMS) $(CUDA_CHAPTER_PROGRAMS) $(CUDA_LADDERS) $(CUDA_CHAPTER_OBJ) $(CUDA_ADOPT_OBJ)

-include $(CUDA_OBJ:.o=.d) $(CUDA_TEST_OBJ:.o=.d) $(CUDA_ADOPT_OBJ:.o=.d) $(CUDA_CHAPTER_OBJ:.o=.d)
