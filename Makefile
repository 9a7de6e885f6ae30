# SPDX-License-Identifier: MIT
# Ferry's build. `make help` lists the targets; everything that is built goes under build/.
#
# Variables for the command line:
#   CC=clang           another compiler (builds under build/clang, C++ compiler to match)
#   SANITIZE=address   or `thread`: an instrumented build (under build/asan, build/tsan)
#   CUDA_HOME=DIR      the CUDA toolkit, where it is neither on PATH nor in /usr/local/cuda
#   NVCC=              (empty) build without the toolkit although there is one
#   CUDA_ARCH="80 90"  compute capabilities to compile for, instead of the GPU that is present
#   MARCH=x86-64-v3    the processor to compile for, instead of this one; for `make install` instead of its baseline
#   LEVELS=x86-64-v4   also kernels of the CPU for these levels of instructions, chosen when a program starts (core/op/rules.mk)
#   PREFIX=DIR         where `make install` puts the library, and DESTDIR=DIR a folder before it, for packages
#   BUNDLE=            (empty) ignore bundle/ (see `make bundle`)
#   ARGS="--quick"     arguments for the chapters of `make run` (--verbose: show all that they print) and for tests/run.sh of
#                      `make test`
#   V=1                show whole commands

.DEFAULT_GOAL := all
MAKEFLAGS += -rR --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

ifeq ($(MAKELEVEL),0)
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)
endif
endif

Q := $(if $(V),,@)
comma := ,
say = @printf '  %-5s %s\n' '$(1)' '$(2)'
# A build of many steps: on a terminal one line that says how long it will take. It counts them by make -n COUNTING=1, which takes
# files for up to date that make writes at each run, and that mostly stay as they are.
ALWAYS := $(if $(COUNTING),,FORCE)
progress = V='$(V)' .ci/build/progress.sh '$(1)' $(MAKE)

# ---- compilers and variants ------------------------------------------------------------------------------------------

ifneq ($(filter default undefined,$(origin CC)),)
CC := $(if $(shell command -v gcc),gcc,$(if $(shell command -v clang),clang,gcc))
endif
ifneq ($(filter default undefined,$(origin CXX)),)
CXX := $(patsubst cc,c++,$(subst gcc,g++,$(subst clang,clang++,$(CC))))
endif
CLANG := $(findstring clang,$(CC))
SANITIZE_DIR_address := asan
SANITIZE_DIR_thread := tsan

SANITIZE_DIR = $(or $(SANITIZE_DIR_$(SANITIZE)),$(error SANITIZE is address or thread))
B := build$(if $(CLANG),/clang)$(if $(SANITIZE),/$(SANITIZE_DIR))
# The processor that `make install` compiles for, and the oldest of its kind, for what must run on each (core/sim/base/processor.h).
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
BASELINE_x86_64 := x86-64-v3
BASELINE_aarch64 := armv8-a
OLDEST_x86_64 := x86-64
OLDEST_aarch64 := armv8-a
BASELINE := $(or $(BASELINE_$(MACHINE)),native)
OLDEST := $(OLDEST_$(MACHINE))
ifeq ($(origin MARCH),undefined)
# On ARM, compilers know "native" only for some processors.
MARCH := $(if $(filter x86_64,$(MACHINE))$(shell $(CC) -march=native -E -x c /dev/null >/dev/null 2>&1 && echo known),native,$(BASELINE))
endif
OPTIMIZE := -O3 -march=$(MARCH) -fno-math-errno -fno-trapping-math -ffp-contract=fast
WARNINGS := -Wall -Wextra -Werror
OPENMP := -fopenmp

CPPFLAGS = -Icore -Ibuild/include -D_GNU_SOURCE -MMD -MP
CFLAGS = -std=c17 $(OPTIMIZE) -g $(WARNINGS) -Wpedantic $(OPENMP) $(SAN)
ifeq ($(CLANG)$(filter native,$(MARCH))$(filter-out x86_64,$(MACHINE)),)
# For processors in general GCC clears a small struct by a repeated string instruction, which takes longer than the rest of a small op.
NO_STRINGS := unrolled_loop:256:noalign,libcall:-1:noalign
CFLAGS += -mmemset-strategy=$(NO_STRINGS) -mmemcpy-strategy=$(NO_STRINGS)
endif
# The simulator's kernels are many templates: -O3 doubles their compile time, and what it gains comes from these of its parts, by
# which the loop over a block's threads is vectorized, and lies well in the cache's lines.
VECTORIZE := $(if $(CLANG),,-ftree-vectorize -fvect-cost-model=dynamic -fsplit-loops -falign-loops=32)
CXXFLAGS = -std=c++17 $(OPTIMIZE) -O2 $(if $(SANITIZE),,$(VECTORIZE)) -g1 $(WARNINGS) -Wno-unknown-pragmas $(SAN)
SIM_CPPFLAGS := -Icore/sim/include
# threadIdx and its like are thread-local; programs link statically with them, so no table is needed in between.
SIM_TLS := -ftls-model=local-exec
TEST_CPPFLAGS := -Itests -Itests/support
LDFLAGS = $(OPENMP) $(LINK_SAN)
LDLIBS := -ldnnl -lprotobuf-c -lz -lm -ldl -lpthread

# ---- instrumented builds: SANITIZE=address (with the undefined-behavior sanitizer) or SANITIZE=thread --------------------------

ifeq ($(SANITIZE),address)
OPTIMIZE := -O1 -march=$(MARCH) -fno-omit-frame-pointer
SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
# No red zones stand around thread-local arrays: here the simulator's shared memory is static instead.
CPPFLAGS += -DCUDASIM_STATIC_SHARED
endif

ifeq ($(SANITIZE),thread)
OPTIMIZE := -O1 -march=$(MARCH) -fno-omit-frame-pointer
SAN := -fsanitize=thread
# GCC's OpenMP runtime is invisible to the thread sanitizer, which would see races in every parallel loop.
OPENMP := -fopenmp-simd -Wno-unknown-pragmas
# What calls OpenMP by name still finds it.
LDLIBS += $(if $(CLANG),-lomp,-lgomp)
endif

# The simulator itself tells the thread sanitizer CUDA's ordering rules; its own locks must not add to them.
SIM_C_SAN := $(if $(filter thread,$(SANITIZE)),-DCUDASIM_TSAN,$(SAN))
LINK_SAN := $(SAN)
# The optimizer's guesses about uninitialized values are unreliable on instrumented code.
WARNINGS += $(if $(SANITIZE),-Wno-error $(if $(CLANG),,-Wno-maybe-uninitialized))

# ---- bundle/, made by `make bundle` where packages can be had, replaces the packages where they cannot -----------------------

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

# ---- sources ---------------------------------------------------------------------------------------------------------

SOURCES := $(sort $(shell find core chapters plots tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null))
named = $(strip $(foreach file,$(2),$(if $(filter $(1),$(notdir $(file))),$(file))))

HEADERS := $(filter core/%.h,$(SOURCES))
CORE_C := $(filter-out core/adopt/% core/sim/compile/% core/tool/% core/distributed/mpi_plugin.c core/inspect/% core/live/% core/step/%,$(filter core/%.c,$(SOURCES)))
CORE_CU := $(filter-out core/adopt/%,$(filter core/%.cu,$(SOURCES)))
CUH := $(filter %.cuh,$(SOURCES))
CHAPTER_C := $(filter chapters/%.c,$(SOURCES))
CHAPTERS := $(filter chapters/0% chapters/1% chapters/2% chapters/3% chapters/4% chapters/5% chapters/6% chapters/7% \
	chapters/8% chapters/9%,$(CHAPTER_C))
# Chapters on kernels: CUDA C alone, for simulated devices here and for nvcc in core/device/rules.mk.
CHAPTER_CU := $(filter chapters/0% chapters/1% chapters/2% chapters/3% chapters/4% chapters/5% chapters/6% chapters/7% \
	chapters/8% chapters/9%,$(filter chapters/%.cu,$(SOURCES)))
# Kernels of a C chapter, in a file of their own.
CHAPTER_KERNELS := $(filter chapters/own_kernels.cu,$(SOURCES))
BENCH_C := $(filter plots/bench/%.c,$(SOURCES))
TIMELINE_C := $(filter plots/trace/%.c,$(SOURCES))
MODEL_C := $(filter plots/model/%.c,$(SOURCES))
FUZZ_C := $(filter tests/fuzz/%.c,$(SOURCES))
GPU_C := $(filter tests/gpu/%.c,$(SOURCES))
GPU_CU := $(filter tests/gpu/%.cu,$(SOURCES))
TOOL_C := $(filter core/tool/%.c core/inspect/instrument/%.c core/inspect/report/%.c core/step/%.c core/sim/compile/c_tokens.c,$(SOURCES))
TEST_C := $(call named,test_%.c,$(filter-out tests/core/step/% tests/core/tool/%,$(filter tests/core/%,$(SOURCES))))
TEST_CU := $(call named,test_%.cu,$(filter tests/core/%,$(SOURCES)))
SUPPORT_C := $(filter-out $(TEST_C) tests/core/step/% tests/core/tool/% tests/core/inspect/library.c,$(filter tests/core/%.c tests/support/%.c,$(SOURCES)))

ifneq ($(TESTS_WITH),) # only the tests whose source has this line
TEST_C := $(if $(TEST_C),$(shell grep -lE '^// $(TESTS_WITH)' $(TEST_C)))
TEST_CU := $(if $(TEST_CU),$(shell grep -lE '^// $(TESTS_WITH)' $(TEST_CU)))
endif

include core/adopt/rules.mk
include core/inspect/rules.mk
include core/step/rules.mk
include tests/grader/rules.mk
include core/tool/rules.mk
include core/live/rules.mk

CORE_OBJ := $(CORE_C:%.c=$(B)/%.o) $(CORE_CU:%.cu=$(B)/sim/%.o)
CHAPTER_OBJ := $(CHAPTER_C:%.c=$(B)/%.o)
BENCH_OBJ := $(BENCH_C:%.c=$(B)/%.o)
TIMELINE_OBJ := $(TIMELINE_C:%.c=$(B)/%.o)
MODEL_OBJ := $(MODEL_C:%.c=$(B)/%.o)
FUZZ_OBJ := $(FUZZ_C:%.c=$(B)/%.o)
CHAPTER_COMMON := $(patsubst %.c,$(B)/%.o,$(filter-out $(CHAPTERS),$(CHAPTER_C))) $(CHAPTER_KERNELS:%.cu=$(B)/sim/%.o)
SUPPORT_OBJ := $(SUPPORT_C:%.c=$(B)/%.o)
TOOL_OBJ := $(TOOL_C:%.c=$(B)/%.o)
C_OBJ := $(filter-out $(B)/sim/%,$(CORE_OBJ)) $(CHAPTER_OBJ) $(BENCH_OBJ) $(TIMELINE_OBJ) $(MODEL_OBJ) $(FUZZ_OBJ) \
	$(GPU_C:%.c=$(B)/%.o) $(TEST_C:%.c=$(B)/%.o) $(SUPPORT_OBJ) $(B)/tests/core/inspect/library.o $(GRADER_OBJ) $(INSPECT_OBJ) $(STEP_TEST_C:%.c=$(B)/%.o)
C_OBJ := $(sort $(C_OBJ) $(STEP_OBJ) $(LIVE_OBJ) $(ADOPT_C:%.c=$(B)/%.o))
CU_OBJ := $(patsubst %.cu,$(B)/sim/%.o,$(CORE_CU) $(TEST_CU) $(GPU_CU) $(GRADER_CU) $(CHAPTER_CU) $(CHAPTER_KERNELS) $(ADOPT_CU))

LIBRARY := $(B)/libferry.a
CHAPTER_PROGRAMS := $(CHAPTERS:%.c=$(B)/%)
CHAPTER_CU_PROGRAMS := $(CHAPTER_CU:%.cu=$(B)/%)
BENCH := $(B)/plots/bench/bench
TIMELINE := $(B)/plots/trace/trace
MODEL := $(B)/plots/model/check
FUZZ := $(B)/tests/fuzz/interpreter
TEST_PROGRAMS := $(TEST_C:%.c=$(B)/%) $(TEST_CU:%.cu=$(B)/%)

PLUGIN_DIR ?= $(CURDIR)/build

include core/device/rules.mk
include core/distributed/rules.mk

# ---- what to build ---------------------------------------------------------------------------------------------------

CHAPTER_LIBRARY := $(B)/libchapters.a

.PHONY: all library chapters tests run check test test-all nightly setup clean help FORCE

all: library chapters bench tests $(FERRY) ## the library, the chapters, the benchmarks, the tests and ./ferry (what `make` does)

library: $(LIBRARY) $(PLUGIN_NOW) $(MPI_PLUGIN) ## libferry.a; libferry-cuda.so with nvcc and a GPU, libferry-mpi.so with mpicc
	$(if $(PLUGIN_LATER),@echo '  nvcc is here and no GPU: the half for GPUs is not built (make plugin builds it)')

chapters: library $(CHAPTER_LIBRARY) $(CHAPTER_PROGRAMS) $(CHAPTER_CU_PROGRAMS) $(CUDA_CHAPTER_RUNS) ## the chapter programs

tests: library $(TEST_PROGRAMS) $(FUZZ) ## the test programs

run: setup ## install what is missing, build, run the chapters in order, draw the plots, say what comes next
	@$(MAKE) ferry
	@echo 'The exercises are ready: ./ferry start, in another terminal or after this'
	+@$(call progress,the lessons) library chapters bench
	@.ci/build/chapters.sh $(B) $(ARGS)
	@plots/draw.sh --build $(B)
	$(if $(FERRY),@echo && $(if $(filter build,$(B)),./ferry,$(FERRY)))

check: all ## the quick tests, in under a minute after a build: before each commit
	@tests/run.sh --build $(B) --suite check $(ARGS)

test: setup ## install what is missing, build, and run the tests: all but the slowest, and samples of the many answers
	@$(MAKE) all
	@tests/run.sh --build $(B) $(ARGS)

test-all: setup ## every test, every answer, under sanitizers, on other systems and compilers: hours
	@$(MAKE) all
	@tests/run.sh --build $(B) --suite all; all=$$?; $(MAKE) sanitize; sanitize=$$?; $(MAKE) nightly; nightly=$$?; \
		echo "test-all: tests $$all, sanitizers $$sanitize, other systems $$nightly (0: passed)"; [ $$all$$sanitize$$nightly = 000 ]

nightly: ## the part of test-all on bare Debian 12 and 13, with other compilers, and for other processors (ARGS=PATTERN)
	@tests/run.sh --nightly $(ARGS)

setup:
	@CC='$(CC)' CXX='$(CXX)' BUNDLE='$(BUNDLE)' .ci/build/setup.sh

clean: ## remove build/ (bundle/ stays)
	rm -rf build

help: ## this list
	@awk -f .ci/build/help.awk $(MAKEFILE_LIST)

# ---- stamps: files that change when flags or lists do, so that what depends on them is built again -------------------

STAMP_c := $(shell $(CC) --version 2>/dev/null | head -n 1) $(CC) $(CPPFLAGS) $(CFLAGS) $(SIM_CPPFLAGS) $(SIM_C_SAN) \
	$(TEST_CPPFLAGS)
STAMP_cxx := $(shell $(CXX) --version 2>/dev/null | head -n 1) $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(SIM_TLS) $(SIM_CPPFLAGS) $(TEST_CPPFLAGS)
STAMP_root := $(CURDIR) $(PLUGIN_DIR)
STAMP_link := $(CXX) $(LDFLAGS) $(LDLIBS)
STAMP_library = $(LIBRARY_OBJ)
STAMP_support := $(SUPPORT_OBJ) $(CHAPTER_COMMON)
STAMP_grader := $(GRADER_OBJ)
STAMP_inspect := $(INSPECT_OBJ)
STAMP_step := $(STEP_OBJ) $(CURSES)
STAMP_bench := $(BENCH_OBJ)
STAMP_timeline := $(TIMELINE_OBJ)
STAMP_model := $(MODEL_OBJ)
STAMP_fuzz := $(FUZZ_OBJ)

STAMPS := $(addprefix $(B)/stamp/,c cxx root link library support grader inspect step bench timeline model fuzz)
$(STAMPS): $(B)/stamp/%: $(ALWAYS)
	@$(shell mkdir -p $(@D))$(file >$@.new,$(STAMP_$*))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

RULES := Makefile

# ---- without its packages a build says what is missing and what to type, not what the compiler makes of it ----------

PACKAGES := $(B)/stamp/packages
$(PACKAGES): .ci/build/setup.sh $(B)/stamp/c
	@CC='$(CC)' CXX='$(CXX)' BUNDLE='$(BUNDLE)' .ci/build/setup.sh --check
	@touch $@

# ---- generated header: every public function, wrapped so that an error knows the caller's file and line --------------

WHERE := build/include/ferry_where.h
$(WHERE): $(if $(COUNTING),,build/stamp/where) ;
build/stamp/where: $(HEADERS) .ci/build/where.awk
	@mkdir -p build/include build/stamp
	@awk -f .ci/build/where.awk core/ferry.h > $(WHERE).new
	@if cmp -s $(WHERE).new $(WHERE); then rm $(WHERE).new; else mv $(WHERE).new $(WHERE); fi
	@touch $@

include core/onnx/rules.mk
include core/op/rules.mk

# ---- CUDA sources for the simulator: rewritten as C++ ----------------------------------------------------------------

CU2CPP := build/cu2cpp
$(CU2CPP): $(wildcard core/sim/compile/*.c core/sim/compile/*.h) | $(PACKAGES)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -Icore -O2 $(WARNINGS) $(filter %.c,$^) -o $@

SIM_CPP := $(patsubst %.cu,build/sim/%.cpp,$(CORE_CU) $(TEST_CU) $(GPU_CU) $(GRADER_CU) $(CHAPTER_CU) $(CHAPTER_KERNELS) $(ADOPT_CU))
SIM_CUH := $(CUH:%=build/sim/%)
$(SIM_CPP): build/sim/%.cpp: %.cu $(CU2CPP)
	@mkdir -p $(@D)
	$(Q)$(CU2CPP) --split $< $@
$(SIM_CUH): build/sim/%: % $(CU2CPP)
	@mkdir -p $(@D)
	$(Q)$(CU2CPP) --split $< $@

$(CU_OBJ): $(B)/sim/%.o: build/sim/%.cpp $(B)/stamp/cxx $(RULES) | $(PACKAGES) $(WHERE) $(SIM_CUH) $(BUNDLE_READY)
	$(call say,SIM,$*.cu)
	@mkdir -p $(@D)
	$(Q)$(CXX) -Ibuild/sim/core $(SIM_CPPFLAGS) -DFERRY_SIM=1 -iquote $(dir $*) $(CPPFLAGS) $(CXXFLAGS) $(SIM_TLS) -c $< -o $@

# ---- C objects, the library, the programs ----------------------------------------------------------------------------

SIM_C_OBJ := $(filter $(B)/core/sim/%,$(C_OBJ))
$(SIM_C_OBJ): private CPPFLAGS += $(SIM_CPPFLAGS)
$(SIM_C_OBJ): private SAN := $(SIM_C_SAN)
$(filter %/processor.o,$(SIM_C_OBJ)): private CFLAGS += $(OLDEST:%=-march=%)
# Where the plugin for GPUs is. Only this object and those of BENCH_ROOT, TRACE_SCRIPTS and FERRY_MPI_PATH hold an absolute
# path, so a build that is copied or moved compiles only them again.
$(B)/core/device/runtime.o: private CPPFLAGS += -DFERRY_PLUGIN_PATH='"$(PLUGIN_DIR)/libferry-cuda.so"'
$(B)/core/device/runtime.o $(B)/core/distributed/mpi.o $(BENCH_OBJ) $(TIMELINE_OBJ): $(B)/stamp/root
$(filter $(B)/tests/%,$(C_OBJ)): private CPPFLAGS += $(TEST_CPPFLAGS) $(SIM_CPPFLAGS)
$(TOOL_OBJ): private CPPFLAGS += -Itests $(SIM_CPPFLAGS)
# Tests and the program are compiled more often than they are run, except for what judges answers.
$(filter-out $(JUDGING),$(filter $(B)/tests/%,$(C_OBJ)) $(TOOL_OBJ)): private CFLAGS += -O1
$(filter $(B)/sim/tests/%,$(CU_OBJ)): private CPPFLAGS += $(TEST_CPPFLAGS)
# Its header alone, where the toolkit is: nvcc is not needed.
CUPTI_HEADERS := $(wildcard $(addprefix $(or $(CUDA_HOME),$(CUDA_DIR),/usr/local/cuda)/,include extras/CUPTI/include))
# In place of the simulator's, whose cuda.h has not what CUPTI's headers want of it.
ifneq ($(CUPTI_HEADERS),)
$(B)/tests/core/device/test_cupti.o: private SIM_CPPFLAGS := $(CUPTI_HEADERS:%=-isystem %)
endif

compile_c = $(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(C_OBJ): $(B)/%.o: %.c $(B)/stamp/c $(RULES) | $(PACKAGES) $(WHERE) $(PROTO_H) $(BUNDLE_READY)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(compile_c)

# An archive is written whole, so that the object of a deleted source does not live on in it.
$(LIBRARY): $(LIBRARY_OBJ) $(PROTO_OBJ) $(B)/stamp/library
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)ar rcs $@.new $(LIBRARY_OBJ) $(PROTO_OBJ) && mv $@.new $@

SUPPORT := $(B)/libsupport.a
$(SUPPORT): $(SUPPORT_OBJ) $(B)/stamp/support
	@rm -f $@.new
	$(Q)ar rcs $@.new $(SUPPORT_OBJ) && mv $@.new $@

$(B)/chapters/gpt_text.o: chapters/plays.txt

# For ./ferry play and the live book, which build changed copies of the chapters' programs.
$(CHAPTER_LIBRARY): $(CHAPTER_COMMON) $(B)/stamp/support
	@rm -f $@.new
	$(Q)ar rcs $@.new $(CHAPTER_COMMON) && mv $@.new $@

link = $(Q)$(CXX) $(1) -o $@ $(LDFLAGS) $(2) $(LDLIBS)

$(CHAPTER_PROGRAMS): $(B)/%: $(B)/%.o $(CHAPTER_LIBRARY) $(LIBRARY) $(B)/stamp/link $(B)/stamp/support
	$(call say,LINK,$@)
	$(call link,$<,$(CHAPTER_LIBRARY) $(LIBRARY))

$(CHAPTER_CU_PROGRAMS): $(B)/%: $(B)/sim/%.o $(LIBRARY) $(B)/stamp/link
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(call link,$<,$(LIBRARY))

$(TEST_C:%.c=$(B)/%): $(B)/%: $(B)/%.o
$(TEST_CU:%.cu=$(B)/%): $(B)/%: $(B)/sim/%.o
$(TEST_PROGRAMS): $(SUPPORT) $(LIBRARY) $(B)/stamp/link
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(call link,$(filter %.o,$^),$(SUPPORT) $(LIBRARY) -lcmocka)

include core/tool/install.mk
include core/notebook/rules.mk
include core/inspect/inspected.mk
include plots/rules.mk
include tests/fuzz/rules.mk
include tests/gpu/rules.mk

# ---- checks beyond the tests: sanitizers, formatting, mutants --------------------------------------------------------

# Unlike the others it builds only what judges an answer.
mutants: setup ## change right answers to the exercises and see that the hidden tests notice (ARGS="--help")
	@$(MAKE) ferry
	@tests/mutants/mutants.sh $(ARGS)

races: setup ## compare the races that the inspector finds with the labels of public suites (ARGS="--help")
	@$(MAKE) ferry
	@python3 tests/races/races.py $(ARGS)

counters: setup ## compare the inspector's counts with published hardware counters (ARGS="--help")
	@$(MAKE) ferry
	@python3 tests/counters/counters.py $(ARGS)

model-check: setup ## compare modeled times with published measurements of other projects' kernels (ARGS="--help")
	@$(MAKE) ferry bench
	@python3 tests/model/model_check.py $(ARGS)

.PHONY: book translations counters model-check mutants races sanitize sanitize-address sanitize-thread format format-check

book: setup ## the lessons, exercises and a reference as a site, in build/book/site (once: Material for MkDocs from PyPI)
	@$(MAKE) ferry
	@docs/book/build.sh

translations: ## messages and lessons in other languages (needs gettext and po4a): LANGUAGE=es ./ferry
	@docs/translations/build.sh

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

.PHONY: bundle
bundle: ## gather into bundle/ what a machine without package access needs besides CUDA and a compiler
	@.ci/build/bundle.sh

-include $(C_OBJ:.o=.d) $(CU_OBJ:.o=.d)
