// SPDX-License-Identifier: MIT
// Modules: torch.nn.
//
// A module is an object (scope.h) with a forward function, and named parameters, buffers and children. One's own:
//
//   typedef struct Net {
//     FyModule base;
//     FyModule *fc1, *fc2;
//   } Net;
//
//   static FyTensor *net_forward(FyModule *self, FyTensor *x) {
//     Net *net = (Net *)self;
//     return fy_forward(net->fc2, fy_relu(fy_forward(net->fc1, x)));
//   }
//
//   Net *net = fy_module_new(Net, net_forward);
//   fy_register_module(net, fc1, fy_nn_linear(10, 50));
//   fy_register_module(net, fc2, fy_nn_linear(50, 1));
//
// A module belongs to the scope it is made in; a registered child also to its parent.
//
// Several threads may call one module at a time if its layers change nothing in forward (batch norm does, while
// training); everything else here is for one thread at a time and module. Macros that take any module pass it to the
// function that they call, which raises FY_TYPE_ERROR for NULL.
#ifndef FERRY_NN_NN_H
#define FERRY_NN_NN_H

#include "base/options.h"
#include "autograd/autograd.h"
#include "op/ops.h"
#include "tensor/list.h"

typedef struct FyModule FyModule;

// What a kind of module is. Only `name` and `forward` are required.
typedef struct FyModuleClass {
  const char *name;                                                 // "Linear", as print(module) shows it
  FyTensor *(*forward)(FyModule *self, FyTensor *input);            // in a scope of its own: only the result leaves it
  void (*extra_repr)(const FyModule *self, char *out, size_t size); // "in_features=10, out_features=5, bias=True"
  void (*destroy)(FyModule *self);                     // frees what the struct holds beyond registered fields
  void (*clone)(FyModule *copy, const FyModule *self); // for replicas: repairs what a bytewise copy breaks; required
                                                       // beside destroy
} FyModuleClass;

// What replaces a module's forward while the module is in the mode that it was made for (nn/cuda_graph.h); within an object.
typedef struct FyGraphedForward {
  bool training;
  FyTensor *(*forward)(const struct FyGraphedForward *self, FyModule *module, FyTensor *input);
  FyObject *object;
} FyGraphedForward;

typedef enum FyFieldKind { FY_PARAMETER, FY_BUFFER, FY_CHILD } FyFieldKind;

typedef struct FyField {
  char *name;
  FyFieldKind kind;
  union {
    FyTensor *tensor; // counted; NULL for a parameter that is not there (bias=False)
    FyModule *module; // counted
  };
  int64_t offset; // of the struct's own pointer to it, -1 when there is none
} FyField;

struct FyModule {
  FyObject object;
  const FyModuleClass *type;
  size_t bytes; // of the whole struct
  bool training;
  FyField *fields;
  int field_count, field_capacity;
  const FyGraphedForward *graphed; // its object is counted; NULL: none
  FyModuleClass own;               // storage of `type` for fy_module_new
};

// A new module of struct `Type` (whose first member is FyModule), zeroed beyond it, in training mode.
#define fy_module_new(Type, forward) ((Type *)fy_module_new_with(sizeof(Type), #Type, (forward)))
FY_API void *fy_module_new_with(size_t bytes, const char *name, FyTensor *(*forward)(FyModule *, FyTensor *));
// The same for a class kept elsewhere (static).
FY_API void *fy_module_new_of(size_t bytes, const FyModuleClass *type);

// self->field = child / parameter / buffer, registered under the field's name; assigning again replaces. Parameters get
// requires_grad; NULL means that there is none (bias=False). Raise FY_VALUE_ERROR for a parameter that is no leaf
// and for a child that contains its parent, FY_TYPE_ERROR for a NULL child, FY_KEY_ERROR for a name with a dot or empty.
#define fy_register_module(self, field, module)                                                                        \
  ((self)->field = fy_module_add_child((FyModule *)(self), #field, (module), (char *)&(self)->field - (char *)(self)))
#define fy_register_parameter(self, field, tensor)                                                                     \
  ((self)->field = fy_module_add_tensor((FyModule *)(self), #field, FY_PARAMETER, (tensor),                            \
                                        (char *)&(self)->field - (char *)(self)))
#define fy_register_buffer(self, field, tensor)                                                                        \
  ((self)->field =                                                                                                     \
       fy_module_add_tensor((FyModule *)(self), #field, FY_BUFFER, (tensor), (char *)&(self)->field - (char *)(self)))

// The same by name; offset -1 when the struct has no field for it. Return what was added.
FY_API FyModule *fy_module_add_child(FyModule *self, const char *name, FyModule *child, int64_t offset);
FY_API FyTensor *fy_module_add_tensor(FyModule *self, const char *name, FyFieldKind kind, FyTensor *tensor,
                                      int64_t offset);

// module(x): opens a scope, runs forward, lets the result out.
FY_API FyTensor *fy_forward_of(FyModule *module, FyTensor *input);
#define fy_forward(module, input) fy_forward_of((FyModule *)(module), (input))

// c(b(a(x))): fy_forward_each(x, a, b, c) runs modules one after the other as nn.Sequential(a, b, c) does, dropping what lies
// between and running as one op those that it can. Raises FY_TYPE_ERROR for a NULL input; a NULL module ends the list.
FY_API FyTensor *fy_forward_each_with(FyTensor *input, FyModule *const *modules);
#define fy_forward_each(input, ...) fy_forward_each_with((input), (FyModule *[]){__VA_ARGS__, NULL})

// module.parameters() / named_parameters(), named_buffers(), state_dict(): depth first, in registration order, a module's
// own parameters before its buffers before its children. A tensor registered twice appears once, in state_dict under each
// of its names. state_dict has parameters and buffers, detached: they share storage with the module's.
FY_API FyTensorList *fy_parameters_of(FyModule *module);
FY_API FyTensorList *fy_buffers_of(FyModule *module);
FY_API FyTensorList *fy_state_dict_of(FyModule *module);
#define fy_parameters(module) fy_parameters_of((FyModule *)(module))
#define fy_buffers(module) fy_buffers_of((FyModule *)(module))
#define fy_state_dict(module) fy_state_dict_of((FyModule *)(module))

// module.load_state_dict(state): copies by name. Raises FY_RUNTIME_ERROR with PyTorch's text: missing keys, unexpected keys,
// size mismatches, all of them listed; then nothing has been copied. Values cross devices and dtypes as in fy_copy_.
#define fy_load_state_dict(module, state) fy_load_state_dict_of((FyModule *)(module), (state))
FY_API void fy_load_state_dict_of(FyModule *module, const FyTensorList *state);

// module.to(device), .cuda(), .cpu(), .half(), .float(), .double(): moves or converts every parameter and buffer in place
// (integer buffers keep their dtype) and returns the module. An optimizer made before stays valid: parameters keep their
// identity, as in PyTorch, and so do their gradients, which move along. Raises FY_TYPE_ERROR for an integer dtype.
// A graph recorded before still runs backward, in the forward's dtype and on its device, and where .grad is None the
// gradient it leaves is of these. SGD steps with a gradient of another dtype; Adam, and every step on another device, raise.
FY_API void *fy_module_to_of(FyModule *module, FyTo options);
#define fy_module_to(module, ...) fy_module_to_of((FyModule *)(module), (FyTo){.device = __VA_ARGS__})
FY_API void *fy_module_to_dtype_of(FyModule *module, FyDType dtype);
#define fy_module_to_dtype(module, dtype) fy_module_to_dtype_of((FyModule *)(module), (dtype))
#define fy_module_cuda(module) fy_module_to_of((FyModule *)(module), (FyTo){.device = fy_cuda_device(-1)})
#define fy_module_cpu(module) fy_module_to_of((FyModule *)(module), (FyTo){.device = FY_CPU_DEVICE})
#define fy_module_half(module) fy_module_to_dtype_of((FyModule *)(module), FY_FLOAT16)

// module.train(), module.eval(), module.zero_grad() (grads become None), module.requires_grad_(bool).
FY_API void fy_set_training_of(FyModule *module, bool training);
#define fy_train(module) fy_set_training_of((FyModule *)(module), true)
#define fy_eval(module) fy_set_training_of((FyModule *)(module), false)
FY_API void fy_module_zero_grad_of(FyModule *module);
#define fy_module_zero_grad(module) fy_module_zero_grad_of((FyModule *)(module))
FY_API void fy_module_requires_grad_(FyModule *module, bool requires_grad);

// module.apply(fn): children first, then the module itself.
FY_API void fy_module_apply_of(FyModule *module, void (*fn)(FyModule *module, void *context), void *context);
#define fy_module_apply(module, fn, context) fy_module_apply_of((FyModule *)(module), (fn), (context))

// print(module), as PyTorch prints it, newline at the end; repr returns the text, which the caller frees (raises
// FY_OUT_OF_MEMORY_ERROR).
FY_API void fy_module_print_of(const FyModule *module);
#define fy_module_print(module) fy_module_print_of((const FyModule *)(module))
FY_API char *fy_module_repr_of(const FyModule *module);
#define fy_module_repr(module) fy_module_repr_of((const FyModule *)(module))

// A copy whose parameters and buffers are the given ones, in the order of fy_parameters and fy_buffers (for replicas).
FY_API FyModule *fy_module_clone_with(const FyModule *module, FyTensors parameters, FyTensors buffers);

// ---- layers ------------------------------------------------------------------------------------------------------------------
// Parameters are initialized as PyTorch does, from the process's generator. Options after the positional arguments:
// .device, .dtype, .no_bias = true, ...

typedef struct FyLayerOptions {
  int out_features;
  FyNamedOptions no_number_here; // .no_bias = true, ...
  bool no_bias;
  FyDevice device;
  FyDType dtype;
} FyLayerOptions;

// nn.Linear(in_features, out_features): weight (out, in), bias (out). Input (*, in).
#define fy_nn_linear(in_features, ...) fy_nn_linear_with((in_features), (FyLayerOptions){.out_features = __VA_ARGS__})
FY_API FyModule *fy_nn_linear_with(int in_features, FyLayerOptions options);

// nn.Conv2d(in_channels, out_channels, kernel_size): fy_nn_conv2d(3, 16, 3, .padding = 1).
typedef struct FyConv2dOptions {
  int kernel_size, stride, padding, dilation, groups; // 0 means 1 where 0 makes no sense
  bool no_bias;
  FyDevice device;
  FyDType dtype;
} FyConv2dOptions;
#define fy_nn_conv2d(in_channels, out_channels, ...)                                                                   \
  fy_nn_conv2d_with((in_channels), (out_channels), (FyConv2dOptions){.kernel_size = __VA_ARGS__})
FY_API FyModule *fy_nn_conv2d_with(int in_channels, int out_channels, FyConv2dOptions options);

// nn.BatchNorm1d(C) on (N, C) and nn.BatchNorm2d(C) on (N, C, H, W). Buffers running_mean, running_var and
// num_batches_tracked (int64). Options: .eps (1e-5 unless it is named), .momentum (0.1), .no_affine.
typedef struct FyBatchNormOptions {
  int num_features;
  double eps, momentum;
  bool no_affine;
  FyDevice device;
  FyDType dtype;
  const char *named; // the arguments' text, by the macro. NULL: zeros stand for the defaults
} FyBatchNormOptions;
#define fy_nn_batch_norm1d(...)                                                                                        \
  fy_nn_batch_norm_with(1, (FyBatchNormOptions){.named = FY_TEXT_OF(__VA_ARGS__), .num_features = __VA_ARGS__})
#define fy_nn_batch_norm2d(...)                                                                                        \
  fy_nn_batch_norm_with(2, (FyBatchNormOptions){.named = FY_TEXT_OF(__VA_ARGS__), .num_features = __VA_ARGS__})
FY_API FyModule *fy_nn_batch_norm_with(int dims, FyBatchNormOptions options);

FY_API FyModule *fy_nn_relu(void);         // nn.ReLU()
FY_API FyModule *fy_nn_relu_inplace(void); // nn.ReLU(inplace=True)
FY_API FyModule *fy_nn_gelu(void);         // nn.GELU()
FY_API FyModule *fy_nn_dropout(double p);  // nn.Dropout(p)
#define fy_nn_max_pool2d(...) fy_nn_max_pool2d_with((FyPool2d){.kernel_size = __VA_ARGS__})
FY_API FyModule *fy_nn_max_pool2d_with(FyPool2d options); // nn.MaxPool2d(2)
FY_API FyModule *fy_nn_flatten(void);                     // nn.Flatten(): from dimension 1 on

// nn.Sequential(a, b, c): children "0", "1", ... Holds them; drops each output before the next layer runs.
#define fy_nn_sequential(...) fy_nn_sequential_with((FyModule *[]){__VA_ARGS__, NULL})
FY_API FyModule *fy_nn_sequential_with(FyModule *const *children);
FY_API FyModule *fy_sequential_at(FyModule *sequential, int index); // sequential[index], negative from the end

// torch.utils.checkpoint.checkpoint_sequential(model, segments, x): the model's output, with all segments but the last
// checkpointed (autograd/checkpoint.h), each of count / segments layers. Layers that a Sequential runs as one op run as one
// within a segment. Raises FY_TYPE_ERROR where `sequential` is no Sequential or x is NULL, FY_VALUE_ERROR for segments outside
// 1 to the number of layers, and what the layers raise.
FY_API FyTensor *fy_checkpoint_sequential(FyModule *sequential, int segments, FyTensor *x);

// nn.CrossEntropyLoss() and nn.MSELoss(): criterion(input, target) through fy_loss.
FY_API FyModule *fy_nn_cross_entropy_loss(void);
FY_API FyModule *fy_nn_mse_loss(void);
FY_API FyTensor *fy_loss(FyModule *criterion, FyTensor *input, FyTensor *target);

// ---- torch.nn.init -------------------------------------------------------------------------------------------------------------
FY_API FyTensor *fy_init_uniform_(FyTensor *t, double low, double high);
FY_API FyTensor *fy_init_normal_(FyTensor *t, double mean, double std);
FY_API FyTensor *fy_init_kaiming_uniform_(FyTensor *t, double a); // fan_in, leaky_relu with slope a

#endif
