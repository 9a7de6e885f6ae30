# SPDX-License-Identifier: MIT
# What ./ferry adopt links programs with (adopt.h), and its own two programs' objects: check.c, step.c. None of it is in libferry.a.

ADOPT_C := $(if $(SANITIZE),,$(filter core/adopt/%.c,$(SOURCES)))
ADOPT_CU := $(if $(SANITIZE),,$(filter core/adopt/%.cu,$(SOURCES)))
ADOPT_OBJ := $(ADOPT_C:%.c=$(B)/%.o) $(ADOPT_CU:%.cu=$(B)/sim/%.o)
$(B)/core/adopt/step.o: private CPPFLAGS += -Ichapters

.PHONY: $(B)/adopt
$(B)/adopt: $(ADOPT_OBJ)
ferry-program all: $(B)/adopt
