// Chapter 7: pitfalls.
//
// What stops a program that uses a GPU, and what makes it slow: non-contiguous tensors, in-place changes of tensors
// that autograd has saved, tensors and models on different devices, and more transfers and synchronization than
// necessary.
//
// The lesson is docs/07_pitfalls.md.
#include "common.h"

#include <stdio.h>
#include <string.h>

static const char *where(const FyTensor *t) {
  return fy_device_name_of(fy_device_of(t));
}

// ---- counting -------------------------------------------------------------------------------------------------------

// [counts]
// What a section of code did, apart from its time. Unlike times, counts are the same on a simulated device.
typedef struct Work {
  FyDevice device;
  FyCounters before;
  double start;
} Work;

static Work work_begin(FyDevice device) {
  fy_synchronize(device);
  return (Work){device, fy_counters(), seconds_now(device)};
}

static void work_end(const Work *work, const char *name) {
  FyCounters done = fy_counters_since(work->before);
  fy_synchronize(work->device);
  printf("%-26s %s\n", name, time_text(work->device, seconds_now(work->device) - work->start));
  printf("  copies to the device %lld, back %lld; kernels started %lld; waits %lld\n", (long long)done.host_to_device,
         (long long)done.device_to_host, (long long)done.launches, (long long)done.synchronizations);
}
// [end]

// ---- shapes ---------------------------------------------------------------------------------------------------------

// [view]
static void view_against_reshape(FyDevice device) {
  heading("view against reshape");
  FyTensor *contiguous = fy_reshape(fy_arange(12, .device = device), fy_shape(3, 4)); // torch.arange(12).reshape(3, 4)
  printf("contiguous: %s, strides (%lld, %lld)\n", fy_shape_string(contiguous), (long long)fy_stride_at(contiguous, 0),
         (long long)fy_stride_at(contiguous, 1));
  FyTensor *viewed = fy_view(contiguous, fy_shape(6, 2)); // PyTorch: contiguous.view(6, 2)
  printf("view(6, 2): %s, the same memory: %s\n", fy_shape_string(viewed),
         truth(fy_shares_storage(viewed, contiguous)));

  FyTensor *transposed = fy_transpose(contiguous, 0, 1); // PyTorch: contiguous.transpose(0, 1)
  printf("transposed: %s, strides (%lld, %lld), contiguous: %s\n", fy_shape_string(transposed),
         (long long)fy_stride_at(transposed, 0), (long long)fy_stride_at(transposed, 1),
         truth(fy_is_contiguous(transposed)));
  FyError error;
  printf("transposed.view(6, 2)\n  ");
  fy_trap(error) {
    fy_view(transposed, fy_shape(6, 2));
  }
  show_error(&error);
  FyTensor *reshaped = fy_reshape(transposed, fy_shape(6, 2)); // PyTorch: transposed.reshape(6, 2)
  printf("transposed.reshape(6, 2): %s, the same memory: %s, so it was copied\n", fy_shape_string(reshaped),
         truth(fy_shares_storage(reshaped, transposed)));
  FyTensor *by_hand = fy_view(fy_contiguous(transposed), fy_shape(6, 2)); // PyTorch: transposed.contiguous().view(6, 2)
  printf("contiguous().view(6, 2) is the same in two steps: %s\n", truth(fy_equal(by_hand, reshaped)));
}
// [end]

// ---- transfers ------------------------------------------------------------------------------------------------------

// [rows]
static void many_small_transfers(const Chapter *chapter) {
  heading("Many small transfers against one");
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 128, 1000, 10000);
  FyTensor *large = fy_randn(fy_shape(n, n)); // (n, n) on the CPU
  fy_scope {
    fy_to(large, device); // reserves the memory, so that neither version pays for it
  }
  Work work = work_begin(device);
  for (int64_t i = 0; i < n; i++) {
    fy_scope {
      fy_to(fy_select(large, 0, i), device); // PyTorch: for row in large: row.to(device)
    }
  }
  work_end(&work, text("%lld rows, one by one", (long long)n));
  work = work_begin(device);
  fy_to(large, device); // PyTorch: large.to(device)
  work_end(&work, "all of it at once");
}
// [end]

// [excess]
static void there_and_back(const Chapter *chapter) {
  heading("To and fro against staying");
  FyDevice device = chapter->device;
  int64_t n = size_for(chapter, 100, 1000, 1000), repeats = size_for(chapter, 20, 100, 100);
  FyTensor *tensor = fy_randn(fy_shape(n, n));
  Work work = work_begin(device);
  for (int64_t i = 0; i < repeats; i++) {
    fy_scope {
      fy_cpu(fy_to(tensor, device)); // PyTorch: tensor.to(device).to("cpu")
    }
  }
  work_end(&work, text("%lld journeys", (long long)repeats));
  FyTensor *moved = fy_to(tensor, device); // once
  work = work_begin(device);
  for (int64_t i = 0; i < repeats; i++) {
    fy_scope {
      fy_mul_scalar(moved, 2); // PyTorch: moved * 2
    }
  }
  work_end(&work, text("%lld multiplications there", (long long)repeats));
}
// [end]

// ---- waiting in a loop ----------------------------------------------------------------------------------------------

// [item]
// Asks for each result immediately: every iteration waits until the device has finished.
static void sums_with_item(FyTensor *a, FyTensor *b, int64_t count, float *results) {
  for (int64_t i = 0; i < count; i++) {
    fy_scope {
      results[i] = (float)fy_item(fy_sum(fy_mul(a, b))); // PyTorch: (a * b).sum().cpu().numpy()
    }
  }
}

// Leaves the results on the device and copies them to the host together.
static void sums_that_stay(FyTensor *a, FyTensor *b, int64_t count, float *results) {
  FyTensor *sums = fy_zeros(fy_shape(count), .device = fy_device_of(a)); // torch.zeros(count, device=a.device)
  for (int64_t i = 0; i < count; i++) {
    fy_scope {
      fy_copy_(fy_select(sums, 0, i), fy_sum(fy_mul(a, b))); // PyTorch: sums[i] = (a * b).sum()
    }
  }
  fy_copy_to_host(sums, results); // PyTorch: sums.cpu().numpy()
}
// [end]

// [waiting]
static void waiting_in_a_loop(const Chapter *chapter) {
  heading("Waiting in a loop");
  FyDevice device = chapter->device;
  enum { TURNS = 100 };
  int64_t n = size_for(chapter, 64, 300, 1000);
  FyTensor *a = fy_rand(fy_shape(n, n), .device = device); // (n, n)
  FyTensor *b = fy_rand(fy_shape(n, n), .device = device);
  float one_by_one[TURNS], together[TURNS];
  Work work = work_begin(device);
  sums_with_item(a, b, TURNS, one_by_one);
  work_end(&work, "item() in every turn");
  work = work_begin(device);
  sums_that_stay(a, b, TURNS, together);
  work_end(&work, "one copy at the end");
  printf("the same results: %s\n", truth(memcmp(one_by_one, together, sizeof together) == 0));
}
// [end]

// ---- one sample at a time -------------------------------------------------------------------------------------------

// [samples]
// One sample at a time: (1, 100) to the device, (1, 10) back.
static FyTensor *sample_by_sample(FyModule *model, FyTensor *data, FyDevice device) {
  FyTensor *results = fy_empty(fy_shape(fy_size_at(data, 0), 10));
  for (int64_t i = 0; i < fy_size_at(data, 0); i++) {
    fy_scope {
      FyTensor *sample = fy_to(fy_unsqueeze(fy_select(data, 0, i), 0), device); // data[i].unsqueeze(0).to(device)
      fy_copy_(fy_narrow(results, 0, i, 1), fy_forward(model, sample));         // results.append(result.cpu())
    }
  }
  return results;
}

static FyTensor *in_batches(FyModule *model, FyTensor *data, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *results = fy_empty(fy_shape(count, 10));
  for (int64_t i = 0; i < count; i += batch) {
    fy_scope {
      int64_t end = i + batch < count ? i + batch : count;
      FyTensor *part = fy_to(fy_slice(data, 0, i, end, 1), device); // PyTorch: data[i:i+batch_size].to(device)
      fy_copy_(fy_slice(results, 0, i, end, 1), fy_forward(model, part));
    }
  }
  return results;
}

static void samples_against_batches(const Chapter *chapter) {
  heading("Sample by sample against batches of 64");
  FyDevice device = chapter->device;
  FyModule *model = fy_nn_sequential(fy_nn_linear(100, 50), fy_nn_relu(), fy_nn_linear(50, 10));
  fy_module_to(model, device);
  FyTensor *data = fy_randn(fy_shape(size_for(chapter, 100, 1000, 10000), 100));
  fy_no_grad { // nothing is trained here, so no graph is recorded. PyTorch: with torch.no_grad():
    in_batches(model, data, 64, device); // warm-up
    Work work = work_begin(device);
    FyTensor *slow = sample_by_sample(model, data, device);
    work_end(&work, text("%lld samples, one by one", (long long)fy_size_at(data, 0)));
    work = work_begin(device);
    FyTensor *fast = in_batches(model, data, 64, device);
    work_end(&work, "in batches of 64");
    printf("the same results: %s\n", truth(fy_allclose(slow, fast, 1e-4, 1e-5)));
  }
}
// [end]

// ---- in place -------------------------------------------------------------------------------------------------------

// [in_place]
static void in_place_looks_harmless(FyDevice device) {
  heading("In place, and the gradients");
  FyTensor *tensor = fy_randn(fy_shape(3, 3), .requires_grad = true, .device = device);
  printf("Original:\n");
  fy_print(tensor);
  FyTensor *tensor_relu = fy_relu(tensor); // PyTorch: nn.ReLU()(tensor)
  printf("After ReLU:\n");
  fy_print(tensor_relu);
  fy_add_scalar_(tensor_relu, 1); // PyTorch: tensor_relu += 1
  printf("After += 1, in place; nothing complains:\n");
  fy_print(tensor_relu);
  // But backward of ReLU needs to know where its output was positive, and that output has been written over.
  FyError error;
  printf("tensor_relu.sum().backward()\n  ");
  fy_trap(error) {
    fy_backward(fy_sum(tensor_relu));
  }
  show_error(&error);
}
// [end]

// [harmless]
static void in_place_that_is_harmless(FyDevice device) {
  FyTensor *tensor = fy_ones(fy_shape(3), .requires_grad = true, .device = device);
  FyTensor *doubled = fy_mul_scalar(tensor, 2); // backward needs the 2, not the result
  fy_add_scalar_(doubled, 1);                   // PyTorch: doubled += 1
  fy_backward(fy_sum(doubled));
  printf("\nAfter tensor * 2 the same += 1 is harmless, since backward does not need the product. tensor.grad:\n");
  fy_print(fy_grad(tensor));
  FyTensor *other = fy_relu(tensor);
  FyTensor *sum = fy_add_scalar(other, 1); // PyTorch: other + 1, a new tensor
  fy_backward(fy_sum(sum));
  printf("After relu, + 1 into a new tensor is right. tensor.grad, with this one's added:\n");
  fy_print(fy_grad(tensor));
}
// [end]

// [saved]
static void input_changed_after_use(FyDevice device) {
  FyTensor *w = fy_tensor(fy_floats(1, 2, 3), fy_shape(3), .device = device, .requires_grad = true);
  FyTensor *x = fy_tensor(fy_floats(4, 5, 6), fy_shape(3), .device = device);
  FyTensor *loss = fy_sum(fy_mul(w, x)); // the gradient of w is x, so x is kept
  FyError error;
  printf("\nx changed between loss = (w * x).sum() and loss.backward(); version %u", fy_version_of(x));
  fy_mul_scalar_(x, 10); // PyTorch: x *= 10
  printf(" became %u\n  ", fy_version_of(x));
  fy_trap(error) {
    fy_backward(loss);
  }
  show_error(&error);
}
// [end]

// [leaf]
static void leaf_in_place(FyDevice device) {
  FyTensor *w = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  FyError error;
  printf("\nw += 1 for a parameter w\n  ");
  fy_trap(error) {
    fy_add_scalar_(w, 1);
  }
  show_error(&error);
  fy_no_grad { // PyTorch: with torch.no_grad():
    fy_add_scalar_(w, 1);
  }
  printf("with torch.no_grad() it may be changed, as an optimizer does:\n");
  fy_print(w);
}
// [end]

// ---- different devices ----------------------------------------------------------------------------------------------

// [mismatch]
static void mismatched_devices(FyDevice device) {
  heading("Mismatched devices");
  FyTensor *tensor_cpu = fy_randn(fy_shape(2, 2));
  FyTensor *tensor_gpu = fy_to(fy_randn(fy_shape(2, 2)), device);
  FyError error;
  printf("tensor_cpu + tensor_gpu\n  ");
  fy_trap(error) {
    fy_add(tensor_cpu, tensor_gpu);
  }
  show_error(&error);
  FyTensor *sum = fy_add(fy_to(tensor_cpu, device), tensor_gpu); // PyTorch: tensor_cpu.to(device) + tensor_gpu
  printf("tensor_cpu.to(device) + tensor_gpu:\n");
  fy_print(sum);
}
// [end]

// [forgotten]
static void model_forgotten(FyDevice device) {
  heading("The model left on the CPU");
  FyModule *model = fy_nn_linear(10, 2);
  FyTensor *input = fy_to(fy_randn(fy_shape(5, 10)), device);
  FyError error;
  printf("model(input), input on %s\n  ", where(input));
  fy_trap(error) {
    fy_forward(model, input);
  }
  show_error(&error);
  fy_module_to(model, device); // PyTorch: model.to(device)
  printf("after model.to(device):\n");
  fy_print(fy_forward(model, input));
}
// [end]

// ---- memory ---------------------------------------------------------------------------------------------------------

// [oom]
static int64_t too_many_elements(FyDevice device) {
  if (device.type != FY_CUDA) {
    return (int64_t)1 << 46; // of float32: 256 TiB
  }
  size_t free_bytes, total_bytes;
  fy_mem_get_info(device, &free_bytes, &total_bytes); // PyTorch: torch.cuda.mem_get_info(device)
  return (int64_t)(total_bytes / 4) + 1024;
}

static void more_than_there_is(FyDevice device) {
  heading("More memory than there is");
  FyError error;
  fy_trap(error) {
    fy_empty(fy_shape(too_many_elements(device)), .device = device);
  }
  show_error(&error);
  FyTensor *small = fy_ones(fy_shape(2, 2), .device = device);
  printf("The program goes on; the sum of four ones is %g.\n", fy_item(fy_sum(small)));
}
// [end]

// [accumulate]
// A batch too large for memory can go through in parts: gradients add up until they are cleared.
static void a_batch_in_parts(FyDevice device) {
  FyModule *model = fy_nn_linear(10, 3);
  fy_module_to(model, device);
  FyTensor *weight = fy_parameters(model)->items[0];
  FyTensor *x = fy_randn(fy_shape(64, 10), .device = device);
  FyTensor *y = fy_randint(0, 3, fy_shape(64), .device = device);
  fy_backward(fy_cross_entropy(fy_forward(model, x), y)); // all 64 together
  FyTensor *whole = fy_clone(fy_grad(weight));
  fy_module_zero_grad(model);
  for (int part = 0; part < 4; part++) { // 16 at a time
    fy_scope {
      FyTensor *output = fy_forward(model, fy_narrow(x, 0, 16 * part, 16));
      FyTensor *loss = fy_cross_entropy(output, fy_narrow(y, 0, 16 * part, 16));
      fy_backward(fy_div_scalar(loss, 4)); // the mean of four means is the mean of all
    }
  }
  printf("64 samples in four parts, their gradients added: largest difference from all at once %.1e\n",
         fy_item(fy_max(fy_abs(fy_sub(whole, fy_grad(weight))))));
}
// [end]

// ---- read too early -------------------------------------------------------------------------------------------------

// [early]
static void read_too_early(const Chapter *chapter) {
  heading("A copy read before it has arrived");
  FyDevice device = chapter->device;
  if (device.type != FY_CUDA) {
    printf("On the CPU every copy is complete when its call returns. FERRY_CUDA=sim shows this section.\n");
    return;
  }
  int64_t n = size_for(chapter, 512, 1024, 8192);
  FyTensor *a = fy_full(1.0 / 32, fy_shape(n, n), .device = device);
  FyTensor *host = fy_zeros(fy_shape(n, n), .pin_memory = true); // PyTorch: torch.zeros(n, n, pin_memory=True)
  volatile float *last = (volatile float *)fy_numpy(host) + n * n - 1;
  fy_synchronize(device);
  fy_copy_async_(host, fy_matmul(a, a)); // PyTorch: host.copy_(a @ a, non_blocking=True)
  float early = *last;                   // not synchronized yet
  fy_synchronize(device);
  float late = *last;
  printf("the last element at once: %g; after torch.cuda.synchronize(): %g\n", early, late);
  printf("%s\n", early == late ? "This time the copy was faster than the reader. It need not be."
                               : "The first is what the memory held before: no error, just a wrong number.");
}
// [end]

// ---- questions about model.cuda() -----------------------------------------------------------------------------------

// [again]
static void questions_about_cuda(FyDevice device) {
  heading("Questions about model.cuda()");
  FyModule *model = fy_nn_sequential(fy_nn_linear(1000, 1000), fy_nn_relu(), fy_nn_linear(1000, 10));
  Work work = work_begin(device);
  fy_module_to(model, device);
  work_end(&work, "Why is it slow? First call");
  work = work_begin(device);
  fy_module_to(model, device);
  work_end(&work, "  called again");
  FyModule *half = fy_module_half(fy_nn_sequential(fy_nn_linear(1000, 1000), fy_nn_relu(), fy_nn_linear(1000, 10)));
  printf("In half precision the first weight is %s instead of %s.\n",
         bytes_text((double)fy_nbytes(fy_parameters(half)->items[0])),
         bytes_text((double)fy_nbytes(fy_parameters(model)->items[0])));
  printf("No GPU? Choose with torch.cuda.is_available(): here it is %s, and the lesson took %s.\n",
         truth(fy_cuda_is_available()), fy_device_name_of(device));
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 7: pitfalls", "What goes wrong and what goes slowly on a GPU.");
  FyDevice device = chapter.device;
  fy_scope {
    view_against_reshape(device);
    in_place_looks_harmless(device);
    in_place_that_is_harmless(device);
    input_changed_after_use(device);
    leaf_in_place(device);
    mismatched_devices(device);
    model_forgotten(device);
  }
  fy_scope {
    many_small_transfers(&chapter);
  }
  fy_scope {
    there_and_back(&chapter);
    waiting_in_a_loop(&chapter);
    samples_against_batches(&chapter);
  }
  fy_scope {
    read_too_early(&chapter);
    questions_about_cuda(device);
    more_than_there_is(device);
    a_batch_in_parts(device);
  }
  return 0;
}
