# Checks beyond the tests: sanitizers, formatting, a machine with a GPU.

# Unlike the others it builds only what judges an answer.
mutants: setup ## change right answers to the exercises and see that the hidden tests notice (ARGS="--help")
	@$(MAKE) ferry
	@tests/mutants/mutants.sh $(ARGS)

.PHONY: book mutants sanitize sanitize-address sanitize-thread format format-check

book: setup ## the lessons, exercises and a reference as a site, in build/book/site (once: Material for MkDocs from PyPI)
	@docs/book/build.sh

sanitize: ## every test under ASan and UBSan, those with threads under TSan
	@$(MAKE) setup
	@$(MAKE) sanitize-address; address=$$?; $(MAKE) sanitize-thread && exit $$address

sanitize-address:
	@$(MAKE) SANITIZE=address all
	@.ci/build/sanitize.sh address tests/run.sh --build $(B)/asan $(ARGS)

sanitize-thread:
	@$(MAKE) SANITIZE=thread TESTS_WITH=tsan all
	@.ci/build/sanitize.sh thread tests/run.sh --build $(B)/tsan --with tsan $(ARGS)

FORMATTED = $(shell find core chapters exercises plots solutions tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
	2>/dev/null)

format: ## format every C and CUDA source
	$(Q)clang-format -i $(FORMATTED)

format-check: ## fail where a source is not formatted
	@.ci/build/format-check.sh $(FORMATTED)
