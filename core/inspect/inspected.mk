# SPDX-License-Identifier: MIT
# The library's own kernels, instrumented for tests/core/inspect/test_library.sh: compiled as `./ferry inspect` compiles a file (the flags
# and their reasons: core/sim/compile/kernel_flags.h; instrument/pad_arrays.c adds redzones), and linked with the test of every op and
# with a program of typical sizes. Only g++: clang instruments after optimization.

ifeq ($(SANITIZE)$(CLANG),)
INSPECTED_CU := $(filter core/op/%.cu,$(CORE_CU))
INSPECTED_OBJ := $(INSPECTED_CU:%.cu=$(B)/inspected/%.o)
INSPECTED := $(addprefix $(B)/inspected/,library test_golden)

PAD_ARRAYS := $(B)/core/inspect/instrument/pad_arrays
$(PAD_ARRAYS): core/inspect/instrument/pad_arrays.c $(RULES) | $(PACKAGES)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -DINSPECT_PAD_ARRAYS $< -o $@ -MT $@
-include $(PAD_ARRAYS:=.d)

$(INSPECTED_OBJ): $(B)/inspected/%.o: %.cu $(CU2CPP) $(PAD_ARRAYS) core/sim/compile/kernel_flags.h $(RULES) core/inspect/inspected.mk | $(PACKAGES) $(WHERE) $(SIM_CUH) $(BUNDLE_READY)
	$(call say,SIM,$*.cu (inspected))
	@mkdir -p $(@D)
	$(Q)$(CU2CPP) --gcc $< $(@:.o=.cpp)
	$(Q)$(CXX) -Ibuild/sim/core $(SIM_CPPFLAGS) -iquote $(dir $*) $(CPPFLAGS) $(call flags_of,INSPECT) -S $(@:.o=.cpp) -o $(@:.o=.s) -MT $@
	$(Q)$(PAD_ARRAYS) $(@:.o=.s) $(@:.o=.padded.s)
	$(Q)$(CXX) -c $(@:.o=.padded.s) -o $@
	$(Q)objcopy --redefine-sym memcpy=inspect_memcpy --redefine-sym memmove=inspect_memmove --redefine-sym memset=inspect_memset $@

tests: $(INSPECTED)
$(B)/inspected/library: $(B)/tests/core/inspect/library.o
$(B)/inspected/test_golden: $(B)/tests/core/op/test_golden.o
$(INSPECTED): $(INSPECTED_OBJ) $(LIBINSPECT) $(B)/libsupport.a $(B)/libferry.a $(B)/stamp/link
	$(call say,LINK,$@)
	$(Q)$(CXX) $(filter %.o,$^) -Wl,--whole-archive $(LIBINSPECT) -Wl,--no-whole-archive -o $@ $(LDFLAGS) $(B)/libsupport.a \
		$(B)/libferry.a $(LDLIBS) -lcmocka
-include $(INSPECTED_OBJ:.o=.d)
endif
