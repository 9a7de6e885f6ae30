// Exercise 6.1: one network, all GPUs                                           (chapter 6, docs/06_several_gpus.md)
//
// Write simple_cnn: a network for pictures of 3 x 32 x 32 in 10 classes, whose parameters are conv1.weight, conv1.bias,
// fc.weight and fc.bias.
//
//   PyTorch:  self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1)
//             self.relu = nn.ReLU()
//             self.pool = nn.MaxPool2d(2)
//             self.fc = nn.Linear(16 * 16 * 16, 10)
//             forward: x = self.pool(self.relu(self.conv1(x)));  return self.fc(x.view(x.size(0), -1))
//
// Then write on_all_devices: make the network ready for whatever machine this is, and return the model to call, of
// whatever kind. With several GPUs they share each batch, with one it does the work alone, and without CUDA the CPU
// does.
//
//   PyTorch:  device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
//             if torch.cuda.device_count() > 1:
//                 model = nn.DataParallel(model)
//             model.to(device)
//
// Given: batches of any size, of one picture at least, on the first GPU (or the CPU); they need not divide by the
// number of GPUs, of which there may be eight. Any GPU may be the current one. Between two calls of the model its
// weights may change.
// Judged: how many GPUs compute (none has more than batch / GPUs rows, rounded up), the output and the gradients of
// parameters and pictures, which are those of one device, and where they are: on the first.
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

// a forward function goes here

FyModule *simple_cnn(void) {
  return NULL;
}

FyModule *on_all_devices(FyModule *cnn) {
  return cnn;
}
