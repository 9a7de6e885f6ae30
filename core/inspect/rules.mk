# SPDX-License-Identifier: MIT
# build/libinspect.a: what `./ferry inspect` links a kernel's file with (core/inspect). It defines what the compiler's
# instrumentation calls, so it is no part of the library, and sanitized builds do without it.

INSPECT_C := $(if $(SANITIZE),,$(filter-out core/inspect/instrument/% core/inspect/report/%,$(filter core/inspect/%.c,$(SOURCES))))
INSPECT_OBJ := $(INSPECT_C:%.c=$(B)/%.o)
LIBINSPECT := $(if $(INSPECT_C),$(B)/libinspect.a)

$(INSPECT_OBJ): private CPPFLAGS += $(SIM_CPPFLAGS)
# The function of an access is a few dozen instructions: aligned, it crosses no cache line that it could avoid.
$(INSPECT_OBJ): private CFLAGS += -falign-functions=64

$(LIBINSPECT): $(INSPECT_OBJ) $(B)/stamp/inspect
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)ar rcs $@.new $(INSPECT_OBJ) && mv $@.new $@
