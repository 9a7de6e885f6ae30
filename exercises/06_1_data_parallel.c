// Exercise 6.1: Data parallelism                    lesson 6 · medium · 25 min
//
// Task      Write a small network, and run it on all GPUs of the machine:
//               self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1)
//               self.fc = nn.Linear(16 * 16 * 16, 10)
//               forward: x = F.max_pool2d(F.relu(self.conv1(x)), 2)
//                        return self.fc(x.flatten(1))
//               model = nn.DataParallel(cnn).to("cuda:0")
// Example   a batch of 7 images, 4 GPUs   ->   2, 2, 2 and 1 images per GPU
// Write     simple_cnn returns the network. Its parameters are conv1.weight,
//           conv1.bias, fc.weight and fc.bias.
//           on_all_devices returns the model to run; it may be cnn itself.
// Inputs    batches   (N, 3, 32, 32), N at least 1; on cuda:0, or on the CPU if
//                     the machine has no GPU
//           GPUs      0 to 8; any of them may be current
// Required  - the output and the gradients of parameters and input are the same
//             as on one device, and are on cuda:0
//           - the weights may change between two calls
//           - all GPUs compute a part of the batch, as with nn.DataParallel
// Stars     ** balanced: at most N / GPUs images on a GPU, rounded up
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

// write the forward function here

FyModule *simple_cnn(void) {
  return NULL;
}

FyModule *on_all_devices(FyModule *cnn) {
  return cnn;
}
