# libferry-cuda.so: the CUDA sources compiled by nvcc against NVIDIA's toolkit. Programs load it when they start, if there
# is a driver, so they run without one. It does not depend on CC; sanitized builds do without it.

NVCC := $(firstword $(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)) $(shell command -v nvcc 2>/dev/null) \
	$(wildcard /usr/local/cuda/bin/nvcc))
CUDA_DIR := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
CUDA_LIB := $(firstword $(wildcard $(CUDA_DIR)/lib64 $(CUDA_DIR)/targets/$(shell uname -m)-linux/lib))

NVCCFLAGS := -std=c++17 -O3 -lineinfo -Icore -Ibuild/include -Werror all-warnings \
	-Xcompiler -Wall,-Wextra,-fPIC,-fvisibility=hidden
CUDA_OBJ := $(CORE_CU:%.cu=build/cuda/%.o)
CUDA_TEST_OBJ := $(TEST_CU:%.cu=build/cuda/%.o)
PLUGIN := $(if $(SANITIZE),,$(if $(NVCC),$(if $(CORE_CU),build/libferry-cuda.so)))

STAMP_cuda := $(NVCC) $(NVCCFLAGS) $(CUDA_LIB)
STAMP_plugin := $(CUDA_OBJ)
STAMP_arch := $(NVCC) $(CUDA_ARCH)
CUDA_STAMPS := $(addprefix build/cuda/stamp/,cuda plugin arch)
$(CUDA_STAMPS): build/cuda/stamp/%: FORCE
	@$(shell mkdir -p $(@D))$(file >$@.new,$(STAMP_$*))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# nvcc's architecture options for the GPU that is here. Asking takes about a second, so the answer is kept until `make clean`
# or `make gpu-check`.
CUDA_ARCH_FILE := build/cuda/arch
$(CUDA_ARCH_FILE): core/make/arch.sh build/cuda/stamp/arch
	@core/make/arch.sh '$(NVCC)' '$(CUDA_ARCH)' > $@.new
	@if cmp -s $@.new $@; then touch $@ && rm $@.new; else mv $@.new $@; fi

$(CUDA_OBJ) $(CUDA_TEST_OBJ): build/cuda/%.o: %.cu build/cuda/stamp/cuda $(CUDA_ARCH_FILE) core/make/cuda.mk | $(WHERE)
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) $$(cat $(CUDA_ARCH_FILE)) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

build/libferry-cuda.so: $(CUDA_OBJ) build/cuda/stamp/plugin
	$(call say,NVCC,$@)
	$(Q)$(NVCC) -shared -cudart static -o $@ $$(cat $(CUDA_ARCH_FILE)) $(CUDA_OBJ) -lcublas \
		-Xlinker --no-undefined,--exclude-libs,ALL$(if $(CUDA_LIB),$(comma)-rpath$(comma)$(CUDA_LIB))

.PHONY: cuda-check
cuda-check: ## compile the real CUDA build and every CUDA test with nvcc, warnings as errors
	@$(if $(NVCC),,echo 'cuda-check: no nvcc (looked in CUDA_HOME, PATH and /usr/local/cuda)' && exit 2)
	@$(MAKE) cuda-objects
	@core/make/cuda-check.sh build/libferry-cuda.so

.PHONY: cuda-objects
cuda-objects: $(PLUGIN) $(CUDA_TEST_OBJ)

-include $(CUDA_OBJ:.o=.d) $(CUDA_TEST_OBJ:.o=.d)
