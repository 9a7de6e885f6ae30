# SPDX-License-Identifier: MIT
# The library as programs elsewhere use it, and `ferry`: `pkg-config --cflags ferry`, `pkg-config --libs --static ferry`.
#
# It has a build of its own below $(B)/portable, compiled for the baseline of this kind of processor (BASELINE in the Makefile)
# instead of for this one, so that it can be copied to other machines. MARCH=... on the command line chooses otherwise.

PREFIX ?= /usr/local
INSTALL_ROOT = $(DESTDIR)$(abspath $(PREFIX))
INSTALL_MARCH := $(if $(filter file,$(origin MARCH)),$(BASELINE),$(MARCH))

.PHONY: install install-files
install: ## the library and `ferry`, under PREFIX=/usr/local: headers, archive, ferry.pc; for every x86-64-v3, or MARCH=...
	@$(MAKE) B='$(B)/portable' MARCH='$(INSTALL_MARCH)' GRADER_BUILD='$(B)' PLUGINS='$(B)/portable' \
		PLUGIN_DIR='$(abspath $(PREFIX))/lib/ferry' install-files

# The headers that ferry.h includes, itself and what these include: the public ones.
public_headers = $(patsubst core/%,%,$(filter core/%,$(shell $(CC) -std=c17 -D_GNU_SOURCE -Icore -Ibuild/include -MM core/ferry.h)))
VERSION_OF = $(shell awk '$$2 == "FERRY_VERSION_$(1)" { print $$3 }' core/base/version.h)

define FERRY_PC
prefix=$(abspath $(PREFIX))
libdir=$${prefix}/lib
includedir=$${prefix}/include/ferry

Name: ferry
Description: tensors, autograd, modules, devices and data parallelism in C, on CPU and CUDA
Version: $(call VERSION_OF,MAJOR).$(call VERSION_OF,MINOR).$(call VERSION_OF,PATCH)
Cflags: -I$${includedir} -D_GNU_SOURCE $(OPENMP)
Libs: -L$${libdir} -lferry $(call absolute,$(LDFLAGS)) $(LDLIBS) -lstdc++
endef

INSTALLED_FERRY := $(B)/bin/ferry
$(INSTALLED_FERRY): $(FERRY_OBJ) $(FERRY_CORE_OBJ) $(B)/stamp/grader
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -o $@ $(LDFLAGS) $(FERRY_OBJ) $(FERRY_CORE_OBJ) -lm

# Headers of an older version that are public no more go, so the folder is written whole.
install-files: $(LIBRARY) $(LIBCUDASIM) $(CU2CPP) $(WHERE) $(MPI_PLUGIN) $(INSTALLED_FERRY)
	@rm -rf '$(INSTALL_ROOT)/include/ferry' '$(INSTALL_ROOT)/lib/ferry/include'
	@mkdir -p '$(INSTALL_ROOT)/bin' '$(INSTALL_ROOT)/lib/ferry/include' '$(INSTALL_ROOT)/lib/pkgconfig' '$(INSTALL_ROOT)/include/ferry'
	@install -m 755 $(INSTALLED_FERRY) '$(INSTALL_ROOT)/bin/ferry'
	@install -m 755 $(CU2CPP) $(MPI_PLUGIN) $(wildcard build/libferry-cuda.so) '$(INSTALL_ROOT)/lib/ferry/'
	@install -m 644 $(LIBCUDASIM) '$(INSTALL_ROOT)/lib/ferry/libcudasim.a'
	@cp -R core/sim/include/. '$(INSTALL_ROOT)/lib/ferry/include/'
	@install -m 644 $(LIBRARY) '$(INSTALL_ROOT)/lib/libferry.a'
	@cd core && for header in $(sort $(public_headers)); do \
		install -D -m 644 $$header '$(INSTALL_ROOT)/include/ferry/'$$header || exit 1; done
	@install -m 644 $(WHERE) '$(INSTALL_ROOT)/include/ferry/ferry_where.h'
	@$(file >$(B)/ferry.pc,$(FERRY_PC))install -m 644 $(B)/ferry.pc '$(INSTALL_ROOT)/lib/pkgconfig/ferry.pc'
	$(call say,INST,$(INSTALL_ROOT)/bin/ferry)
