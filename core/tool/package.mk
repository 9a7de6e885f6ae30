# SPDX-License-Identifier: MIT
# Packages of the workbook, from what install.mk installs: a wheel for pipx and uvx, and a package for Debian and Ubuntu. They are called
# ferry-gpu, and their command is ferry.

PACKAGES_DIR := build/packages
STAGE := build/stage

.PHONY: wheel deb package-tree
# The same library on every machine: no GPU backend and no MPI of this one.
package-tree:
	@rm -rf '$(STAGE)' && mkdir -p '$(STAGE)'
	@$(MAKE) install PREFIX=/usr DESTDIR='$(CURDIR)/$(STAGE)' MPICC= NVCC= >$(STAGE).log

wheel: package-tree ## a wheel for pipx and uvx, in build/packages
	@python3 .ci/build/wheel.py '$(STAGE)/usr' '$(VERSION)' '$(PACKAGES_DIR)'

deb: package-tree ## a package for Debian and Ubuntu, in build/packages
	@.ci/build/deb.sh '$(STAGE)' '$(VERSION)' '$(PACKAGES_DIR)'
