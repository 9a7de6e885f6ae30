# SPDX-License-Identifier: MIT
# The views of ./ferry step. They are linked with the program (TOOL_C), and with tests of their own.

# The interactive view needs ncurses; without it that view says so.
CURSES := $(if $(shell echo '#include <ncurses.h>' | $(CC) -E -x c - >/dev/null 2>&1 && echo there),-lncursesw)

# Compiled again when the package comes or goes.
$(B)/core/step/terminal.o: private CPPFLAGS += $(if $(CURSES),-DSTEP_CURSES)
$(B)/core/step/terminal.o: $(B)/stamp/step

STEP_C := $(filter core/step/%.c,$(SOURCES))
STEP_OBJ := $(patsubst %.c,$(B)/%.o,$(STEP_C) $(addprefix core/tool/print/,json.c plain.c style.c term.c text.c usage.c) core/base/json_scan.c)
STEP_TEST_C := $(addprefix tests/core/step/,test_record.c test_page.c step_views.c)
STEP_TESTS := $(STEP_TEST_C:%.c=$(B)/%)

tests: $(STEP_TESTS)
$(STEP_TESTS): %: %.o $(STEP_OBJ) $(B)/stamp/link $(B)/stamp/step
	$(call say,LINK,$@)
	$(Q)$(CC) -o $@ $(LDFLAGS) $(filter %.o,$^) -lcmocka $(CURSES) -lm
