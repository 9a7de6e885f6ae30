// SPDX-License-Identifier: MIT
// Modules: torch.nn.
//
// A module is an object (scope.h) with a forward function and with named parameters, buffers and child modules. This is
// a module of your own:
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
// The scope in which a module is created owns it. A registered child is also retained by its parent.
//
// Several threads may run the forward pass of the same module at the same time if its layers do not change their state,
// as batch norm does during training. All other functions may be used by only one thread at a time for each module.
// Macros with a `module` argument accept a pointer to any module struct, and raise FY_TYPE_ERROR if it is NULL.
#ifndef FERRY_NN_NN_H
#define FERRY_NN_NN_H

#include "base/options.h"
#include "autograd/autograd.h"
#include "op/ops.h"
#include "tensor/list.h"

typedef struct FyModule FyModule;

// A class of modules. Only `name` and `forward` are required.
typedef struct FyModuleClass {
  const char *name;                                                 // "Linear", as print(module) shows it
  FyTensor *(*forward)(FyModule *self, FyTensor *input);            // runs in its own scope; only the result is kept
  void (*extra_repr)(const FyModule *self, char *out, size_t size); // "in_features=10, out_features=5, bias=True"
  void (*destroy)(FyModule *self);                     // frees the members of the struct that are not registered
  void (*clone)(FyModule *copy, const FyModule *self); // repairs members that must not be copied byte by byte, for
                                                       // replicas; required if there is a destroy function
} FyModuleClass;

// A forward function that replaces the module's own while the module is in the mode, training or evaluation, for which
// it was made (nn/cuda_graph.h). `object` contains this struct.
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
    FyTensor *tensor; // retained; NULL for a parameter that is absent (bias=False)
    FyModule *module; // retained
  };
  int64_t offset; // of the pointer to it in the struct; -1 if there is none
} FyField;

struct FyModule {
  FyObject object;
  const FyModuleClass *type;
  size_t bytes; // size of the whole struct
  bool training;
  FyField *fields;
  int field_count, field_capacity;
  const FyGraphedForward *graphed; // its object is retained; NULL for none
  FyModuleClass own;               // the class, if fy_module_new created the module
};

// Creates a module of the struct `Type`, whose first member must be an FyModule; its other members are zero. The module
// is in training mode and owned by the innermost scope. Raises FY_OUT_OF_MEMORY_ERROR. PyTorch: class
// Net(torch.nn.Module).
#define fy_module_new(Type, forward) ((Type *)fy_module_new_with(sizeof(Type), #Type, (forward)))
FY_API void *fy_module_new_with(size_t bytes, const char *name, FyTensor *(*forward)(FyModule *, FyTensor *));

// Creates a module of `bytes` bytes of the given class, which must exist as long as the module (static). Otherwise the
// same as fy_module_new.
FY_API void *fy_module_new_of(size_t bytes, const FyModuleClass *type);

// Register a child module, a parameter or a buffer under the field's name, assign it to self->field, and return it. The
// module retains it. Registering a name again replaces the previous value. A parameter requires grad from then on; NULL
// means that the module does not have this parameter (bias=False). Raise FY_VALUE_ERROR if a parameter is not a leaf,
// and if a child contains its parent; FY_TYPE_ERROR if a child is NULL; FY_KEY_ERROR if the name is empty or contains a
// dot. PyTorch: module.register_module(name, child), module.register_parameter(name, tensor) and
// module.register_buffer(name, tensor).
#define fy_register_module(self, field, module)                                                                        \
  ((self)->field = fy_module_add_child((FyModule *)(self), #field, (module), (char *)&(self)->field - (char *)(self)))
#define fy_register_parameter(self, field, tensor)                                                                     \
  ((self)->field = fy_module_add_tensor((FyModule *)(self), #field, FY_PARAMETER, (tensor),                            \
                                        (char *)&(self)->field - (char *)(self)))
#define fy_register_buffer(self, field, tensor)                                                                        \
  ((self)->field =                                                                                                     \
       fy_module_add_tensor((FyModule *)(self), #field, FY_BUFFER, (tensor), (char *)&(self)->field - (char *)(self)))

// Do the same with a name as a string, and return the child or the tensor. `offset` is the offset of the field in the
// struct, or -1 if the struct has no field for it; the field is not assigned.
FY_API FyModule *fy_module_add_child(FyModule *self, const char *name, FyModule *child, int64_t offset);
FY_API FyTensor *fy_module_add_tensor(FyModule *self, const char *name, FyFieldKind kind, FyTensor *tensor,
                                      int64_t offset);

// Runs the module's forward function on `input` in a new scope, and moves the result to the innermost scope of the
// caller. Raises FY_TYPE_ERROR if the input or the result is NULL, and the errors of forward. PyTorch: module(input).
FY_API FyTensor *fy_forward_of(FyModule *module, FyTensor *input);
#define fy_forward(module, input) fy_forward_of((FyModule *)(module), (input))

// Runs modules one after the other: fy_forward_each(x, a, b, c) returns c(b(a(x))), owned by the innermost scope. Each
// intermediate result is dropped as soon as the next module has run. Adjacent modules for which there is a fused op
// (such as a Linear layer and ReLU) run as one op. A NULL module ends the list. Raises FY_TYPE_ERROR if the input is
// NULL, and the errors of the modules. PyTorch: torch.nn.Sequential(a, b, c)(x).
FY_API FyTensor *fy_forward_each_with(FyTensor *input, FyModule *const *modules);
#define fy_forward_each(input, ...) fy_forward_each_with((input), (FyModule *[]){__VA_ARGS__, NULL})

// Return the named parameters, the named buffers, or both (the state dict) of a module and of its descendants, as a
// list that the innermost scope owns. The order is depth first: the parameters of a module in the order of
// registration, then its buffers, then its children. A tensor that is registered several times appears once; in the
// state dict, it appears under each of its names. The tensors of a state dict are detached and share storage with those
// of the module. PyTorch: module.parameters(), module.buffers() and module.state_dict().
FY_API FyTensorList *fy_parameters_of(FyModule *module);
FY_API FyTensorList *fy_buffers_of(FyModule *module);
FY_API FyTensorList *fy_state_dict_of(FyModule *module);
#define fy_parameters(module) fy_parameters_of((FyModule *)(module))
#define fy_buffers(module) fy_buffers_of((FyModule *)(module))
#define fy_state_dict(module) fy_state_dict_of((FyModule *)(module))

// Copies the tensors of `state` to the parameters and buffers of the same names. Devices and dtypes may differ, as in
// fy_copy_. Raises FY_RUNTIME_ERROR with PyTorch's message, which lists all missing keys, unexpected keys and size
// mismatches; then nothing is copied. PyTorch: module.load_state_dict(state).
#define fy_load_state_dict(module, state) fy_load_state_dict_of((FyModule *)(module), (state))
FY_API void fy_load_state_dict_of(FyModule *module, const FyTensorList *state);

// Move all parameters and buffers to a device, or convert them to a floating-point dtype, in place, and return the
// module. Integer buffers keep their dtype. Parameters keep their identity, as in PyTorch, so an existing optimizer
// remains valid. Their gradients are moved or converted as well. Raise FY_TYPE_ERROR if the dtype is an integer type.
//
// A graph that was recorded before still runs backward, with the dtype and the device of its forward pass. If .grad is
// NULL, the new gradient has this dtype and device. SGD accepts a gradient whose dtype differs from the parameter's;
// Adam and AdamW raise FY_RUNTIME_ERROR. If the gradient is on a different device, every optimizer raises it.
//
// PyTorch: module.to(device), module.to(dtype), module.cuda(), module.cpu() and module.half().
FY_API void *fy_module_to_of(FyModule *module, FyTo options);
#define fy_module_to(module, ...) fy_module_to_of((FyModule *)(module), (FyTo){.device = __VA_ARGS__})
FY_API void *fy_module_to_dtype_of(FyModule *module, FyDType dtype);
#define fy_module_to_dtype(module, dtype) fy_module_to_dtype_of((FyModule *)(module), (dtype))
#define fy_module_cuda(module) fy_module_to_of((FyModule *)(module), (FyTo){.device = fy_cuda_device(-1)})
#define fy_module_cpu(module) fy_module_to_of((FyModule *)(module), (FyTo){.device = FY_CPU_DEVICE})
#define fy_module_half(module) fy_module_to_dtype_of((FyModule *)(module), FY_FLOAT16)

// Change a module and all its descendants. fy_train and fy_eval set the mode to training or evaluation.
// fy_module_zero_grad sets the .grad of all parameters to NULL. fy_module_requires_grad_ sets whether the parameters
// require grad. PyTorch: module.train(), module.eval(), module.zero_grad() and module.requires_grad_(requires_grad).
FY_API void fy_set_training_of(FyModule *module, bool training);
#define fy_train(module) fy_set_training_of((FyModule *)(module), true)
#define fy_eval(module) fy_set_training_of((FyModule *)(module), false)
FY_API void fy_module_zero_grad_of(FyModule *module);
#define fy_module_zero_grad(module) fy_module_zero_grad_of((FyModule *)(module))
FY_API void fy_module_requires_grad_(FyModule *module, bool requires_grad);

// Calls `fn` for each descendant of a module and then for the module itself; children come before their parent.
// PyTorch: module.apply(fn).
FY_API void fy_module_apply_of(FyModule *module, void (*fn)(FyModule *module, void *context), void *context);
#define fy_module_apply(module, fn, context) fy_module_apply_of((FyModule *)(module), (fn), (context))

// Print the structure of a module to standard output, or return it as text, in the form of print(module) in PyTorch.
// The returned text does not end with a newline, and the caller frees it with free(). fy_module_repr raises
// FY_OUT_OF_MEMORY_ERROR.
FY_API void fy_module_print_of(const FyModule *module);
#define fy_module_print(module) fy_module_print_of((const FyModule *)(module))
FY_API char *fy_module_repr_of(const FyModule *module);
#define fy_module_repr(module) fy_module_repr_of((const FyModule *)(module))

// Returns a copy of a module with the given parameters and buffers, in the order of fy_parameters and fy_buffers, for
// replicas. The innermost scope owns the copy. Raises FY_VALUE_ERROR if the numbers of tensors are not the module's,
// and FY_NOT_IMPLEMENTED_ERROR if a class has a destroy function but no clone function.
FY_API FyModule *fy_module_clone_with(const FyModule *module, FyTensors parameters, FyTensors buffers);

// ---- layers ---------------------------------------------------------------------------------------------------------
// Functions that create layers. The innermost scope owns a new layer. Its parameters are initialized as in PyTorch,
// with the process's generator. Options follow the positional arguments: .device, .dtype, .no_bias = true, ... Options
// that are out of range raise FY_VALUE_ERROR.

typedef struct FyLayerOptions {
  int out_features;
  FyNamedOptions no_number_here; // .no_bias = true, ...
  bool no_bias;
  FyDevice device;
  FyDType dtype;
} FyLayerOptions;

// Creates a linear layer: fy_nn_linear(10, 50), fy_nn_linear(10, 50, .no_bias = true). The weight has the shape (out,
// in), the bias (out). The layer maps an input (*, in) to (*, out). PyTorch: torch.nn.Linear(in_features,
// out_features).
#define fy_nn_linear(in_features, ...) fy_nn_linear_with((in_features), (FyLayerOptions){.out_features = __VA_ARGS__})
FY_API FyModule *fy_nn_linear_with(int in_features, FyLayerOptions options);

// Creates a convolution layer: fy_nn_conv2d(3, 16, 3, .padding = 1). The weight has the shape (out, in / groups, k, k),
// the bias (out). PyTorch: torch.nn.Conv2d(in_channels, out_channels, kernel_size).
typedef struct FyConv2dOptions {
  int kernel_size, stride, padding, dilation, groups; // a stride, dilation or groups of 0 means 1
  bool no_bias;
  FyDevice device;
  FyDType dtype;
} FyConv2dOptions;
#define fy_nn_conv2d(in_channels, out_channels, ...)                                                                   \
  fy_nn_conv2d_with((in_channels), (out_channels), (FyConv2dOptions){.kernel_size = __VA_ARGS__})
FY_API FyModule *fy_nn_conv2d_with(int in_channels, int out_channels, FyConv2dOptions options);

// Create a batch norm layer for C = num_features channels: fy_nn_batch_norm1d for inputs (N, C) or (N, C, L), and
// fy_nn_batch_norm2d for inputs (N, C, H, W). The layer has the buffers running_mean (C), running_var (C) and
// num_batches_tracked (), an int64, and, unless .no_affine is set, the parameters weight (C) and bias (C). The default
// of eps is 1e-5, and that of momentum 0.1. PyTorch: torch.nn.BatchNorm1d(C) and torch.nn.BatchNorm2d(C).
typedef struct FyBatchNormOptions {
  int num_features;
  double eps, momentum;
  bool no_affine;
  FyDevice device;
  FyDType dtype;
  const char *named; // set by the macro: the arguments as text. If NULL, zeros mean the defaults
} FyBatchNormOptions;
#define fy_nn_batch_norm1d(...)                                                                                        \
  fy_nn_batch_norm_with(1, (FyBatchNormOptions){.named = FY_TEXT_OF(__VA_ARGS__), .num_features = __VA_ARGS__})
#define fy_nn_batch_norm2d(...)                                                                                        \
  fy_nn_batch_norm_with(2, (FyBatchNormOptions){.named = FY_TEXT_OF(__VA_ARGS__), .num_features = __VA_ARGS__})
FY_API FyModule *fy_nn_batch_norm_with(int dims, FyBatchNormOptions options);

// Creates a layer norm layer for inputs (*, normalized_shape): fy_nn_layer_norm(fy_shape(C)). Unless .no_affine is set, the
// layer has the parameters weight and, unless .no_bias is set, bias, both of the shape normalized_shape. The default of eps
// is 1e-5. PyTorch: torch.nn.LayerNorm(normalized_shape, eps, elementwise_affine, bias).
typedef struct FyLayerNormOptions {
  FySize normalized_shape;
  double eps;
  bool no_affine, no_bias;
  FyDevice device;
  FyDType dtype;
  const char *named; // set by the macro: the arguments as text. If NULL, zeros mean the defaults
} FyLayerNormOptions;
#define fy_nn_layer_norm(...)                                                                                          \
  fy_nn_layer_norm_with((FyLayerNormOptions){.named = FY_TEXT_OF(__VA_ARGS__), .normalized_shape = __VA_ARGS__})
FY_API FyModule *fy_nn_layer_norm_with(FyLayerNormOptions options);

FY_API FyModule *fy_nn_relu(void);         // torch.nn.ReLU()
FY_API FyModule *fy_nn_relu_inplace(void); // torch.nn.ReLU(inplace=True)
FY_API FyModule *fy_nn_gelu(void);         // torch.nn.GELU()
FY_API FyModule *fy_nn_dropout(double p);  // torch.nn.Dropout(p)
#define fy_nn_max_pool2d(...) fy_nn_max_pool2d_with((FyPool2d){.kernel_size = __VA_ARGS__}) // torch.nn.MaxPool2d(2)
FY_API FyModule *fy_nn_max_pool2d_with(FyPool2d options);
FY_API FyModule *fy_nn_flatten(void); // torch.nn.Flatten(): dimension 1 and all after it

// Creates a module that runs its children one after the other: fy_nn_sequential(a, b, c). It retains the children,
// whose names are "0", "1", ... Like fy_forward_each, it drops intermediate results and fuses adjacent layers. PyTorch:
// torch.nn.Sequential(a, b, c).
#define fy_nn_sequential(...) fy_nn_sequential_with((FyModule *[]){__VA_ARGS__, NULL})
FY_API FyModule *fy_nn_sequential_with(FyModule *const *children);

// Returns a child of a Sequential, borrowed from it. A negative index counts from the end. Raises FY_INDEX_ERROR if the
// index is out of range, and FY_TYPE_ERROR if the module is not a Sequential. PyTorch: sequential[index].
FY_API FyModule *fy_sequential_at(FyModule *sequential, int index);

// Returns the output of a Sequential for x, owned by the innermost scope, with gradient checkpointing
// (autograd/checkpoint.h). The layers are divided into segments of count / segments layers; the last segment has the
// rest and is not checkpointed. Layers within a segment are fused as in a normal forward pass. Raises FY_TYPE_ERROR if
// `sequential` is not a Sequential or x is NULL, FY_VALUE_ERROR unless segments is 1 to the number of layers, and the
// errors of the layers. PyTorch: torch.utils.checkpoint.checkpoint_sequential(model, segments, x).
FY_API FyTensor *fy_checkpoint_sequential(FyModule *sequential, int segments, FyTensor *x);

// Create a module that computes a loss: fy_loss(criterion, input, target) calls it, and returns the loss, owned by the
// innermost scope. fy_loss raises FY_TYPE_ERROR if the module is not a loss or a tensor is NULL, and the errors of
// fy_cross_entropy or fy_mse_loss. PyTorch: torch.nn.CrossEntropyLoss(), torch.nn.MSELoss() and criterion(input,
// target).
FY_API FyModule *fy_nn_cross_entropy_loss(void);
FY_API FyModule *fy_nn_mse_loss(void);
FY_API FyTensor *fy_loss(FyModule *criterion, FyTensor *input, FyTensor *target);

// ---- torch.nn.init --------------------------------------------------------------------------------------------------

// Fill a tensor with random numbers in place, without recording for backward, and return it. fy_init_uniform_ draws
// from [low, high), fy_init_normal_ from a normal distribution. fy_init_kaiming_uniform_ uses the mode fan_in and the
// gain of leaky_relu with slope a; it raises FY_VALUE_ERROR if the tensor has fewer than 2 dimensions. PyTorch:
// torch.nn.init.kaiming_uniform_(t, a), torch.nn.init.uniform_(t, low, high) and torch.nn.init.normal_(t, mean, std).
FY_API FyTensor *fy_init_uniform_(FyTensor *t, double low, double high);
FY_API FyTensor *fy_init_normal_(FyTensor *t, double mean, double std);
FY_API FyTensor *fy_init_kaiming_uniform_(FyTensor *t, double a);

#endif
