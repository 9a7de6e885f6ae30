# SPDX-License-Identifier: MIT
# build/ferry-live, the server of `./ferry book --live`. It needs libmicrohttpd; where that is missing, everything else is built.

LIVE_C := $(filter core/live/%.c,$(SOURCES))
LIVE_OBJ := $(LIVE_C:%.c=$(B)/%.o)
LIVE_PARTS := $(patsubst %,$(B)/%.o,core/base/json_scan core/tool/compile/files core/tool/compile/process core/tool/compile/root core/tool/print/json core/tool/print/plain \
	core/tool/print/text core/tool/print/usage tests/grader/sandbox_tree)
LIVE := $(if $(SANITIZE),,$(if $(shell echo '#include <microhttpd.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo there),$(B)/ferry-live))

all ferry-program: $(LIVE)
$(LIVE_OBJ): private CPPFLAGS += -Itests -I$(B)/include
$(LIVE_OBJ): private CFLAGS += -O1
$(LIVE_OBJ): $(GRADER_CONFIG)
$(B)/ferry-live: $(LIVE_OBJ) $(LIVE_PARTS)
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@.new $(LDFLAGS) $^ -lmicrohttpd && mv $@.new $@
