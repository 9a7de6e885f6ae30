# SPDX-License-Identifier: MIT
# `make install`: the library as programs elsewhere use it (`pkg-config --cflags ferry`, `pkg-config --libs --static ferry`), and the
# whole workbook with the command `ferry`, in a folder that may be moved: lib/ferry. core/tool/package.mk puts it into packages.
#
# It has a build of its own below $(B)/portable, compiled for the baseline of this kind of processor (BASELINE in the Makefile)
# instead of for this one, so that it can be copied to other machines. MARCH=... on the command line chooses otherwise. The CPU's kernels
# also exist for the levels above the baseline (core/op/rules.mk), and the program chooses when it starts.

PREFIX ?= /usr/local
INSTALL_ROOT = $(DESTDIR)$(abspath $(PREFIX))
INSTALL_MARCH := $(if $(filter file,$(origin MARCH)),$(BASELINE),$(MARCH))
LEVELS_ABOVE_x86-64 := x86-64-v3 x86-64-v4
LEVELS_ABOVE_x86-64-v2 := x86-64-v3 x86-64-v4
LEVELS_ABOVE_x86-64-v3 := x86-64-v4
INSTALL_LEVELS := $(if $(filter command line,$(origin LEVELS)),$(LEVELS),$(LEVELS_ABOVE_$(INSTALL_MARCH)))
# The same rules for a build below $(B)/portable.
portable = $(MAKE) B='$(B)/portable' MARCH='$(INSTALL_MARCH)' LEVELS='$(INSTALL_LEVELS)' INSTALLING=1 PLUGINS='$(B)/portable' $(1)

.PHONY: install install-files tree-files
install: ## the library and the workbook, under PREFIX=/usr/local: headers, archive, ferry.pc, ferry; for every x86-64-v3, or MARCH=...
	+@$(call portable,PLUGIN_DIR='$(abspath $(PREFIX))/lib/ferry') install-files

# The headers that ferry.h includes, itself and what these include: the public ones.
public_headers = $(patsubst core/%,%,$(filter core/%,$(shell $(CC) -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include -MM core/ferry.h)))
VERSION_OF = $(shell awk '$$2 == "FERRY_VERSION_$(1)" { print $$3 }' core/base/version.h)
VERSION = $(call VERSION_OF,MAJOR).$(call VERSION_OF,MINOR).$(call VERSION_OF,PATCH)

define FERRY_PC
prefix=$(abspath $(PREFIX))
libdir=$${prefix}/lib
includedir=$${prefix}/include/ferry

Name: ferry
Description: tensors, autograd, modules, devices and data parallelism in C, on CPU and CUDA
Version: $(VERSION)
Cflags: -I$${includedir} -D_GNU_SOURCE $(OPENMP)
Libs: -L$${libdir} -lferry $(subst -Lbuild/,-L$(CURDIR)/build/,$(LDFLAGS)) $(LDLIBS) -lstdc++
endef

# ---- the program ---------------------------------------------------------------------------------------------------------

# It says what the library needs of the processor where it lacks it, so it is itself compiled for the oldest one. What it prints names
# the command as it is typed, `ferry`. Its own configuration comes before that of the clone's program.
ifneq ($(INSTALLING),)
SPELLED := .ci/build/spelled.sed
$(FERRY_OBJ) $(FERRY_CORE_OBJ): private CFLAGS += $(OLDEST:%=-march=%)
$(FERRY_OBJ): private compile_c = $(CC) -I$(B)/include $(CPPFLAGS) -MF $(@:.o=.d) -MT $@ $(CFLAGS) -E $< | sed -E -f $(SPELLED) | \
	$(CC) $(CFLAGS) -x cpp-output -c - -o $@
$(FERRY_OBJ): $(SPELLED) core/tool/install.mk
# Answers are linked with the libraries that are in the same folder (.ci/build/tree.sh).
LIBRARIES := @FERRY_ROOT@/build/bundle/lib
DNNL := $(shell objdump -p $$($(CC) -print-file-name=libdnnl.so) 2>/dev/null | awk '$$1 == "SONAME" { print $$2 }')
INSTALLED_LINK := $(OPENMP) -L$(LIBRARIES) -Wl,--disable-new-dtags,-rpath,$(LIBRARIES) -l:$(DNNL) -l:libprotobuf-c.a -l:libz.a -lm -ldl -lpthread
# ncurses is part of it where its archives are here.
CURSES_ARCHIVES := $(wildcard $(foreach name,ncursesw tinfo,$(shell $(CC) -print-file-name=lib$(name).a)))
endif

PROCESSOR_OBJ := $(B)/core/sim/base/processor.o $(B)/core/sim/base/processor_needs.o
INSTALLED_FERRY := $(B)/bin/ferry
$(INSTALLED_FERRY): $(FERRY_OBJ) $(FERRY_CORE_OBJ) $(PROCESSOR_OBJ) $(B)/stamp/grader $(B)/stamp/step
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $(FERRY_OBJ) $(FERRY_CORE_OBJ) $(PROCESSOR_OBJ) $(if $(CURSES),$(or $(CURSES_ARCHIVES),$(CURSES))) -lm

# ---- the workbook: a folder like the clone, with what is read and nothing else ------------------------------------------------

TREE = $(INSTALL_ROOT)/lib/ferry
TREE_OBJ := $(patsubst %.c,$(B)/%.o,$(GRADER_CHILD) $(DRIVER_C) tests/grader/wire.c) $(GRADER_CU_OBJ)
TREE_FILES = .clangd LICENSE README.md $(wildcard docs/*.md exercises/*.* solutions/*.*) \
	$(filter %.h %.cuh %.cu,$(filter tests/grader/%,$(filter-out tests/grader/attacks/%,$(SOURCES)))) \
	$(foreach name,answer.h check.c driver.c driver.cu reference.txt right_*,$(wildcard tests/hidden/*/$(name)))
tree-files: $(INSTALLED_FERRY) $(TREE_OBJ) $(LIBRARY) $(LIBINSPECT) $(LIBCUDASIM) $(CU2CPP) $(WHERE) $(SIM_CUH) $(PROTO_H)
	@.ci/build/tree.sh '$(TREE)' '$(B)' $(TREE_FILES) $(filter %.o,$^)

# Headers of an older version that are public no more go, so the folder is written whole.
install-files: tree-files $(MPI_PLUGIN)
	@rm -rf '$(INSTALL_ROOT)/include/ferry'
	@mkdir -p '$(INSTALL_ROOT)/bin' '$(INSTALL_ROOT)/lib/pkgconfig' '$(INSTALL_ROOT)/include/ferry'
	@install -s -m 755 $(INSTALLED_FERRY) '$(INSTALL_ROOT)/bin/ferry'
	$(if $(MPI_PLUGIN)$(wildcard build/libferry-cuda.so),@install -m 755 $(MPI_PLUGIN) $(wildcard build/libferry-cuda.so) '$(TREE)/')
	@install -m 644 $(LIBRARY) '$(INSTALL_ROOT)/lib/libferry.a'
	@cd core && for header in $(sort $(public_headers)); do \
		install -D -m 644 $$header '$(INSTALL_ROOT)/include/ferry/'$$header || exit 1; done
	@install -m 644 $(WHERE) '$(INSTALL_ROOT)/include/ferry/ferry_where.h'
	@$(file >$(B)/ferry.pc,$(FERRY_PC))install -m 644 $(B)/ferry.pc '$(INSTALL_ROOT)/lib/pkgconfig/ferry.pc'
	$(call say,INST,$(INSTALL_ROOT)/bin/ferry)
include core/tool/package.mk
