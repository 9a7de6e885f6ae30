// Exercise 8.2: Pinned or pageable memory           lesson 8 · medium · 40 min
//
// Task      Train the same epoch twice, from pageable and from pinned memory.
//           Everything else must be equal, so that you can compare the times:
//               for pinned in (False, True):
//                   model.load_state_dict(initial)
//                   optimizer = SGD(model.parameters(), lr=0.125, momentum=0.5)
//                   loader = DataLoader(..., shuffle=True, pin_memory=pinned)
//                   for x, y in loader:   # .to(device, non_blocking=pinned)
//                       loss = F.mse_loss(model(x), y); ...
// Example   21 samples, batch_size = 5   ->   5 losses per row, equal rows
// Write     compare_loading. It stores two rows of losses, (batches) float32.
// Inputs    model    on `device`, a GPU; at most 8 parameters, which may have
//                    gradients; no buffers and no dropout
//           data     N >= 1 samples, float32; batch_size need not divide N
// Required  - both rows are correct, on `device`: same weights, new optimizer,
//             same shuffled order, which depends only on `seed`
//           - on return, the model has the weights that epoch 2 trained
//           - 2 copies to the device per batch: from pageable memory, then in
//             epoch 2 from pinned memory, where the host waits at most twice
// Stars     ** no copy to the host, and losses without graphs
//           *** the process's random generator is unchanged
#include "ferry.h"

#ifndef ANSWER_H // for your editor: the tests include a header that declares this
typedef struct Comparison {
  FyTensor *pageable, *pinned; // (batches) each
} Comparison;
#endif

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
}
