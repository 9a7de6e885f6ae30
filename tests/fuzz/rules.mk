# SPDX-License-Identifier: MIT
# The fuzzer: the interpreter of its programs, and the comparison with PyTorch.

$(FUZZ): $(FUZZ_OBJ) $(LIBRARY) $(B)/stamp/link $(B)/stamp/fuzz
	$(call say,LINK,$@)
	$(call link,$(FUZZ_OBJ),$(LIBRARY))

.PHONY: fuzz fuzz-torch

fuzz: library $(FUZZ)

fuzz-torch: setup ## random programs in Ferry and in PyTorch: what differs, as the shortest program (ARGS="--help")
	@$(MAKE) fuzz
	@$(if $(SANITIZE),.ci/build/sanitize.sh $(SANITIZE)) tests/fuzz/fuzz.sh --build $(B) $(ARGS)
