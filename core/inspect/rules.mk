# SPDX-License-Identifier: MIT
# build/libinspect.a: what `./ferry inspect` links a kernel's file with (core/inspect). It defines what the compiler's
# instrumentation calls, so it is no part of the library, and sanitized builds do without it.

INSPECT_C := $(if $(SANITIZE),,$(filter-out core/inspect/instrument/% core/inspect/report/% core/inspect/prove/%,$(filter core/inspect/%.c,$(SOURCES))))
INSPECT_OBJ := $(INSPECT_C:%.c=$(B)/%.o)
LIBINSPECT := $(if $(INSPECT_C),$(B)/libinspect.a)

$(INSPECT_OBJ): private CPPFLAGS += $(SIM_CPPFLAGS)
# The function of an access is a few dozen instructions: aligned, it crosses no cache line that it could avoid.
$(INSPECT_OBJ): private CFLAGS += -falign-functions=64

$(LIBINSPECT): $(INSPECT_OBJ) $(B)/stamp/inspect
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)ar rcs $@.new $(INSPECT_OBJ) && mv $@.new $@

# build/prove-races: proves that a kernel has no data race (core/inspect/prove). Only where LLVM's C headers are (Debian: llvm-dev); when
# it runs, it needs the clang of the same version, and z3.
LLVM_CONFIG := $(if $(SANITIZE)$(CLANG),,$(shell command -v llvm-config 2>/dev/null))
ifneq ($(if $(LLVM_CONFIG),$(wildcard $(shell $(LLVM_CONFIG) --includedir)/llvm-c/Core.h)),)
PROVE := $(B)/prove-races
PROVE_C := $(filter core/inspect/prove/%.c,$(SOURCES))
$(PROVE): $(PROVE_C) core/inspect/prove/prove.h $(B)/stamp/root | $(PACKAGES)
	$(call say,CC,core/inspect/prove)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -Icore -isystem $(shell $(LLVM_CONFIG) --includedir) -O2 $(WARNINGS) -Wpedantic \
		-DPROVE_CLANG='"$(shell $(LLVM_CONFIG) --bindir)/clang"' -DPROVE_FOLDER='"$(CURDIR)/core/inspect/prove"' \
		$(PROVE_C) -o $@ $(shell $(LLVM_CONFIG) --ldflags --libs)

all: $(PROVE)
endif
