# SPDX-License-Identifier: MIT
# libferry-mpi.so: what core/distributed asks of MPI, compiled by mpicc where there is one. Programs open it when they begin a
# process group of several ranks, so they build and run without it.

MPICC := $(shell command -v mpicc 2>/dev/null)
MPI_C := core/distributed/mpi_plugin.c core/distributed/reduce.c
# The folder of plugins that are compiled for MARCH: one for all compilers, and one for `make install`.
PLUGINS ?= build
MPI_PLUGIN := $(if $(MPICC),$(PLUGINS)/libferry-mpi.so)

STAMP_mpi := $(MPICC) $(CC) $(OPTIMIZE)
$(PLUGINS)/stamp/mpi: $(ALWAYS)
	@$(shell mkdir -p $(@D))$(file >$@.new,$(STAMP_mpi))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(PLUGINS)/libferry-mpi.so: $(MPI_C) core/distributed/mpi_table.h core/distributed/reduce.h core/distributed/distributed.h \
		$(PLUGINS)/stamp/mpi core/distributed/rules.mk | $(WHERE)
	$(call say,MPICC,$@)
	@mkdir -p $(@D)
	$(Q)OMPI_CC='$(CC)' $(MPICC) -std=c17 -D_GNU_SOURCE $(OPTIMIZE) -g $(WARNINGS) -Wpedantic -fPIC -fvisibility=hidden \
		-shared -Icore -Ibuild/include $(MPI_C) -o $@.new && mv $@.new $@

$(B)/core/distributed/mpi.o: private CPPFLAGS += -DFERRY_MPI_PATH='"$(PLUGIN_DIR)/libferry-mpi.so"'
