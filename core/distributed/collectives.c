// SPDX-License-Identifier: MIT
// The public calls: what they check, and how a call becomes work.
#include "distributed/shared.h"
#include "autograd/autograd.h"
#include "op/creation/factory.h"
#include "op/ops.h"
#include <stdlib.h>
#include <string.h>

static FyTraffic traffic;

FyTraffic fy_distributed_traffic(void) {
  FyTraffic now = traffic;
  fy_shared_traffic(&now.shared, &now.shared_bytes);
  return now;
}

// ---- checks ------------------------------------------------------------------------------------------------------------

static void check_tensor(FyTensor *t, const char *function) {
  fy_check(t, FY_TYPE_ERROR, "%s: the tensor is NULL", function);
  fy_check(t->array.contiguous, FY_VALUE_ERROR, "Tensors must be contiguous");
  const bool cuda = t->device.type == FY_CUDA;
  fy_check(
      cuda ? fy_distributed.cuda : fy_distributed.cpu, FY_RUNTIME_ERROR,
      "No backend type associated with device type %s: the process group was initialized with \"%s\", which is for %s "
      "tensors",
      cuda ? "cuda" : "cpu", fy_get_backend(), cuda ? "CPU" : "CUDA");
}

static void check_pair(const FyTensor *a, const FyTensor *b, const char *function) {
  fy_check(a->array.dtype == b->array.dtype, FY_VALUE_ERROR,
           "%s: output tensor must have the same type as input tensor", function);
  fy_check_same_device(a->device, b->device);
}

// ---- beginning -----------------------------------------------------------------------------------------------------------

typedef struct Begin {
  FyCallKind kind;
  FyTensor *in, *out; // the same for what happens in place
  int64_t count;
  FyReduceOp op;
  int root;
} Begin;

static void count_traffic(const FyGroup *group, const Begin *b, int64_t bytes) {
  if (b->kind == FY_CALL_SEND) {
    traffic.sends++;
    traffic.sent_bytes += bytes;
  } else if (b->kind == FY_CALL_RECV) {
    traffic.receives++;
    traffic.received_bytes += bytes;
  } else {
    traffic.collectives++;
    traffic.collective_bytes += b->kind == FY_CALL_REDUCE_SCATTER                        ? bytes * group->size
                                : b->kind == FY_CALL_BROADCAST && b->root != group->rank ? 0
                                                                                         : bytes;
  }
}

static uint64_t next_sequence(FyGroup *group, const Begin *b) {
  return b->kind == FY_CALL_SEND   ? ++group->sent[b->root]
         : b->kind == FY_CALL_RECV ? ++group->received[b->root]
                                   : ++group->sequence;
}

// A group of one has nobody to ask: what goes in comes out.
static void alone(const Begin *b) {
  if (b->in && b->out && b->in != b->out)
    fy_no_grad
      fy_copy_(fy_view(b->out, fy_shape(fy_numel(b->out))), fy_view(b->in, fy_shape(fy_numel(b->in))));
}

// `quiet`: no thread is woken to go on with work in shared memory.
static FyWork *begin(FyGroup *group, Begin b, bool async_op, bool quiet) {
  const bool cuda = b.in && b.in->device.type == FY_CUDA;
  FyWork *work = NULL;
  FyCollectiveCall call = {.sequence = next_sequence(group, &b),
                           .kind = b.kind,
                           .dtype = b.in ? b.in->array.dtype : 0,
                           .op = (int)b.op,
                           .root = b.root,
                           .count = (uint64_t)b.count,
                           .cuda = cuda};
  count_traffic(group, &b, b.count * (int64_t)fy_dtype_size(call.dtype));
  int mark = fy_scope_open();
  work = fy_work_new(group, call, b.in ? b.in->array.data : NULL, b.out ? b.out->array.data : NULL);
  work->tensors[0] = fy_retain(b.in);
  work->tensors[1] = fy_retain(b.out);
  if (b.kind == FY_CALL_ALL_REDUCE)
    fy_shared_note(work, b.in);
  if (group->size == 1) {
    alone(&b);
    work->state = FY_WORK_DONE;
  } else if (cuda) {
    fy_cuda_work_start(work);
  } else {
    work->quiet = quiet && work->shared;
    fy_engine_start(work, async_op && !work->quiet);
  }
  if (b.out && b.kind != FY_CALL_SEND)
    fy_bump_version(b.out);
  if (async_op)
    fy_keep(work);
  else
    fy_work_wait(work);
  fy_scope_close(mark);
  return async_op ? work : NULL;
}

void fy_work_wait(FyWork *work) {
  fy_check(work, FY_TYPE_ERROR, "fy_work_wait: the work is NULL");
  if (work->event)
    fy_event_wait(work->event, fy_current_stream(work->tensors[0]->device));
  else if (work->group->size > 1)
    fy_engine_wait(work);
}

bool fy_work_is_completed(FyWork *work) {
  fy_check(work, FY_TYPE_ERROR, "fy_work_is_completed: the work is NULL");
  if (work->event)
    return fy_event_query(work->event);
  return work->group->size == 1 || fy_engine_is_done(work);
}

// ---- the calls -----------------------------------------------------------------------------------------------------------

static void check_reduction(const FyTensor *t, FyReduceOp op) {
  fy_check(op >= 0 && op < FY_REDUCE_OP_COUNT, FY_VALUE_ERROR, "there is no reduction %d", (int)op);
  fy_check(op != FY_REDUCE_OP_AVG || t->array.dtype != FY_BOOL, FY_RUNTIME_ERROR,
           "Cannot use ReduceOp.AVG with Boolean inputs");
}

FyWork *fy_all_reduce_with(FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, "fy_all_reduce");
  check_reduction(o.tensor, o.op);
  return begin(group, (Begin){FY_CALL_ALL_REDUCE, o.tensor, o.tensor, fy_numel(o.tensor), o.op, 0}, o.async_op, false);
}

FyWork *fy_average_bucket(FyGroup *group, FyTensor *bucket, bool last) {
  group = fy_group_required(group);
  check_tensor(bucket, "fy_all_reduce");
  const Begin all_reduce = {FY_CALL_ALL_REDUCE, bucket, bucket, fy_numel(bucket), FY_REDUCE_OP_AVG, 0};
  return begin(group, all_reduce, !last, true);
}

FyWork *fy_broadcast_with(FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, "fy_broadcast");
  const int root = fy_group_rank_of(group, o.rank, "fy_broadcast");
  return begin(group, (Begin){FY_CALL_BROADCAST, o.tensor, o.tensor, fy_numel(o.tensor), 0, root}, o.async_op, false);
}

FyWork *fy_all_gather_into_tensor_with(FyTensor *output, FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, "fy_all_gather_into_tensor");
  check_tensor(output, "fy_all_gather_into_tensor");
  check_pair(output, o.tensor, "fy_all_gather_into_tensor");
  fy_check(fy_numel(output) == fy_numel(o.tensor) * group->size, FY_VALUE_ERROR,
           "output tensor size must be equal to world_size times input tensor size: it has %lld elements, and %d ranks "
           "give %lld each",
           (long long)fy_numel(output), group->size, (long long)fy_numel(o.tensor));
  return begin(group, (Begin){FY_CALL_ALL_GATHER, o.tensor, output, fy_numel(o.tensor), 0, 0}, o.async_op, false);
}

FyWork *fy_reduce_scatter_tensor_with(FyTensor *output, FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, "fy_reduce_scatter_tensor");
  check_tensor(output, "fy_reduce_scatter_tensor");
  check_pair(output, o.tensor, "fy_reduce_scatter_tensor");
  check_reduction(o.tensor, o.op);
  fy_check(
      fy_numel(o.tensor) == fy_numel(output) * group->size, FY_VALUE_ERROR,
      "input tensor must be the same size as output size times world size: it has %lld elements, and %d ranks take "
      "%lld each",
      (long long)fy_numel(o.tensor), group->size, (long long)fy_numel(output));
  return begin(group, (Begin){FY_CALL_REDUCE_SCATTER, o.tensor, output, fy_numel(output), o.op, 0}, o.async_op, false);
}

static void check_list(const FyGroup *group, FyTensors list, const FyTensor *like, const char *function) {
  fy_check(list.count == group->size, FY_VALUE_ERROR,
           "%s: the list must have one tensor for each of the %d ranks, but has %d", function, group->size, list.count);
  for (int i = 0; i < list.count; i++) {
    check_tensor(list.items[i], function);
    check_pair(list.items[i], like, function);
    fy_check(fy_numel(list.items[i]) == fy_numel(like), FY_VALUE_ERROR,
             "%s: tensor %d of the list has %lld elements, and not %lld", function, i,
             (long long)fy_numel(list.items[i]), (long long)fy_numel(like));
  }
}

static FyTensor *row(FyTensor *flat, int index, const FyTensor *like) {
  return fy_view(fy_narrow(flat, 0, index, 1), fy_size(like));
}

void fy_all_gather_with(FyTensors outputs, FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, "fy_all_gather");
  check_list(group, outputs, o.tensor, "fy_all_gather");
  fy_check(!o.async_op, FY_NOT_IMPLEMENTED_ERROR, "fy_all_gather: use fy_all_gather_into_tensor for .async_op");
  fy_scope {
    fy_no_grad {
      FyTensor *flat = fy_empty(fy_shape(group->size, fy_numel(o.tensor)), .device = o.tensor->device,
                                .dtype = (FyDType)o.tensor->array.dtype);
      fy_all_gather_into_tensor_with(flat, o);
      for (int i = 0; i < outputs.count; i++)
        fy_copy_(outputs.items[i], row(flat, i, outputs.items[i]));
    }
  }
}

void fy_reduce_scatter_with(FyTensor *output, FyReduceScatter o) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(output, "fy_reduce_scatter");
  check_list(group, o.inputs, output, "fy_reduce_scatter");
  fy_scope {
    fy_no_grad {
      FyTensor *flat = fy_empty(fy_shape(group->size, fy_numel(output)), .device = output->device,
                                .dtype = (FyDType)output->array.dtype);
      for (int i = 0; i < o.inputs.count; i++)
        fy_copy_(row(flat, i, o.inputs.items[i]), o.inputs.items[i]);
      fy_reduce_scatter_tensor_with(output, (FyCollective){.tensor = flat, .op = o.op, .group = o.group});
    }
  }
}

void fy_barrier_with(FyCollective o) {
  FyGroup *group = fy_group_required(o.group);
  begin(group, (Begin){.kind = FY_CALL_BARRIER}, false, false);
}

static FyWork *message(FyCallKind kind, FyCollective o, const char *function) {
  FyGroup *group = fy_group_required(o.group);
  check_tensor(o.tensor, function);
  const int peer = fy_group_rank_of(group, o.rank, function);
  fy_check(peer != group->rank, FY_VALUE_ERROR, "Invalid %s rank: a rank cannot %s itself",
           kind == FY_CALL_SEND ? "destination" : "source", kind == FY_CALL_SEND ? "send to" : "receive from");
  return begin(group, (Begin){kind, o.tensor, o.tensor, fy_numel(o.tensor), 0, peer}, o.async_op, false);
}

FyWork *fy_send_with(FyCollective o) {
  return message(FY_CALL_SEND, o, "fy_send");
}
FyWork *fy_recv_with(FyCollective o) {
  return message(FY_CALL_RECV, o, "fy_recv");
}
