# bundle/, made by `make bundle` where packages can be had, replaces the packages where they cannot.

ifneq ($(origin BUNDLE),command line)
BUNDLE := $(wildcard bundle/libs-$(shell uname -m).tar.gz)
endif

ifneq ($(BUNDLE),)
BUNDLE_READY := build/bundle/ready
CPPFLAGS += -isystem build/bundle/include
# RPATH rather than RUNPATH: the bundled libraries find one another by it too.
LDFLAGS += -Lbuild/bundle/lib -Wl,--disable-new-dtags,-rpath,$(CURDIR)/build/bundle/lib
FERRY_DATA ?= $(CURDIR)/bundle/data
export FERRY_DATA

$(BUNDLE_READY): $(BUNDLE)
	@printf '  %-5s %s\n' UNTAR $<
	@mkdir -p $(@D)
	@tar -xzf $< -C $(@D)
	@touch $@
endif

.PHONY: bundle
bundle: ## gather into bundle/ what a machine without package access needs besides CUDA and a compiler
	@.ci/build/bundle.sh
