// SPDX-License-Identifier: MIT
// What the files of nn/ share, and optim/ and parallel/ use: for core/ only.
#ifndef FERRY_NN_IMPL_H
#define FERRY_NN_IMPL_H

#include "nn/nn.h"

// Calls visit for each field of the kinds asked for (bits 1 << FyFieldKind), a module's own before its children's:
// parameters first, then buffers, then the children in order. Tensors and children registered twice come twice; a
// parameter that is not there (bias=False) does not come. `owner` holds the field; `name` is the dotted path, valid during
// the call.
typedef void FyFieldVisit(FyModule *owner, FyField *field, const char *name, void *context);
// Raises what `visit` raises.
void fy_module_visit(FyModule *module, unsigned kinds, FyFieldVisit *visit, void *context);

// Raises FY_TYPE_ERROR when a module argument is NULL.
void fy_module_required(const FyModule *module, const char *function);

// From now on stands for the module's forward. Never raises.
void fy_module_set_graphed(FyModule *module, const FyGraphedForward *graphed);

// The number as Python's repr writes a float (1e-05, 0.1, 2.0); the text is in `out`, which is returned. Never raises.
enum { FY_NUMBER_TEXT = 32 };
const char *fy_python_float(double value, char out[FY_NUMBER_TEXT]);

// Fills the fresh weight (out, in, ...) and bias (out) or NULL of a linear or convolution layer as PyTorch does: both
// uniform within 1 / sqrt(fan_in). Raises what the ops raise.
void fy_init_default(FyTensor *weight, FyTensor *bias);

// What Sequential asks of its layers, to run neighbors as one op. Each is false for another kind of module. Never
// raise.
bool fy_module_as_conv2d(const FyModule *module, FyTensor **weight, FyConv2d *options);
bool fy_module_as_linear(const FyModule *module, FyTensor **weight, FyTensor **bias);
bool fy_module_as_max_pool2d(const FyModule *module, FyPool2d *options);
bool fy_module_is_relu(const FyModule *module);

#endif
