# SPDX-License-Identifier: MIT
# C from core/onnx/onnx.proto: protoc-c writes it when Ferry is built. A bundle (`make bundle`) has what it wrote, and the
# .proto that it was written from, for machines that have no protoc-c.

PROTO := core/onnx/onnx.proto
PROTO_C := build/include/onnx.pb-c.c
PROTO_H := $(PROTO_C:.c=.h)
PROTO_OBJ := $(B)/onnx.pb-c.o

$(PROTO_H): $(PROTO_C) ;
$(PROTO_C): $(PROTO) .ci/build/proto.sh core/onnx/rules.mk | $(PACKAGES) $(BUNDLE_READY)
	$(call say,PROTO,$<)
	@mkdir -p $(@D)
	@.ci/build/proto.sh $< $(@D) $(if $(BUNDLE),build/bundle/proto)

$(PROTO_OBJ): $(PROTO_C) $(B)/stamp/c $(RULES)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
