# Instrumented builds: SANITIZE=address (with the undefined-behaviour sanitizer) or SANITIZE=thread.

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
# The optimiser's guesses about uninitialised values are unreliable on instrumented code.
WARNINGS += $(if $(SANITIZE),-Wno-error $(if $(CLANG),,-Wno-maybe-uninitialized))
