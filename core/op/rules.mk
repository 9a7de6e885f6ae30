# SPDX-License-Identifier: MIT
# A library whose CPU kernels exist for several levels of instructions (levels.h): LEVELS=x86-64-v4 adds them to what MARCH says. For
# x86-64, where the library of packages has them; `make install` sets it.
#
# Functions of LEVEL_CALLED are called by name: levels.sh makes each a jump to the level's. Those of LEVEL_OPS are kernels that ops
# point to, so that only the table of all ops exists once more. Nothing of them has a state.

LEVELS ?=
LEVEL_CALLED := $(addprefix core/op/,$(addprefix convolution/,conv_dnn.c conv_im2col.c conv_pool_cpu.c conv_run.c pool_cpu.c winograd.c) \
	copy/convert.c copy/transpose.c indexing/index_cpu.c kernel/iter.c normalization/norm_cpu.c $(addprefix product/,gemm.c matmul_bfloat16.c) \
	random/random_cpu.c reduction/extremum_cpu.c reduction/reduce_cpu.c) $(addprefix core/trace/,dense.c fuse.c group.c images.c)
LEVEL_OPS := $(addprefix core/op/,attention/attention.c $(addprefix elementwise/,add.c chain.c compare.c pointwise.c pointwise_float.c) copy/copy.c \
	indexing/index.c loss/cross_entropy.c loss/mse_loss.c normalization/layer_norm.c normalization/softmax.c optimizer/scale.c optimizer/step.c \
	product/matmul.c random/random.c shape/cat.c creation/sequence.c)
LEVEL_C := $(LEVEL_CALLED) $(LEVEL_OPS) core/op/table.c

level_of = $(B)/level/$(1)/%.o
LEVEL_OBJ := $(foreach level,$(LEVELS),$(LEVEL_C:%.c=$(call level_of,$(level))))
LEVELS_O := $(if $(LEVELS),$(B)/levels.o)
LIBRARY_OBJ := $(if $(LEVELS),$(filter-out $(LEVEL_CALLED:%.c=$(B)/%.o),$(CORE_OBJ)),$(CORE_OBJ)) $(LEVELS_O)

define level_rule
$(LEVEL_C:%.c=$(call level_of,$(1))): $(call level_of,$(1)): %.c $(B)/stamp/c $(RULES) core/op/rules.mk | $(PACKAGES) $(WHERE) $(BUNDLE_READY)
	$$(call say,CC,$$< ($(1)))
	@mkdir -p $$(@D)
	$$(Q)$(CC) $$(CPPFLAGS) $$(CFLAGS) -march=$(1) -c $$< -o $$@
endef
$(foreach level,$(LEVELS),$(eval $(call level_rule,$(level))))

$(LEVELS_O): $(LEVEL_CALLED:%.c=$(B)/%.o) $(LEVEL_OBJ) .ci/build/levels.sh
	$(call say,LD,$@)
	$(Q)CC='$(CC)' .ci/build/levels.sh '$(B)' '$(LEVELS)' '$(LEVEL_CALLED:%.c=%.o)' '$(LEVEL_OPS:%.c=%.o)'
-include $(LEVEL_OBJ:.o=.d)
