# SPDX-License-Identifier: MIT
# The notebooks and the wheel of the Python package, in build/notebook.

.PHONY: notebook
notebook: setup ## the Jupyter notebooks of the lessons, and the Python package that runs their cells, in build/notebook
	@$(MAKE) ferry
	@core/notebook/build.sh
