// SPDX-License-Identifier: MIT
// libferry-mpi.so: the table of functions over MPI, compiled by mpicc where there is one (rules.mk).
#include "distributed/mpi_table.h"
#include "distributed/reduce.h"
#include "tensor/dtype.h"
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Comm) <= sizeof(void *) && sizeof(MPI_Request) <= sizeof(void *), "handles fit a pointer");

enum { MOST_AT_ONCE = 1 << 28 }; // elements: MPI's counts are ints

static bool began; // by init, which then ends it too

static MPI_Comm comm_of(void *handle) {
  MPI_Comm comm;
  memcpy(&comm, &handle, sizeof comm);
  return comm;
}

static void *handle_of(MPI_Comm comm) {
  void *handle = NULL;
  memcpy(&handle, &comm, sizeof comm);
  return handle;
}

// ---- beginning and ending ----

static int init(int *rank, int *size) {
  int error = MPI_SUCCESS, initialized, provided;
  MPI_Initialized(&initialized);
  if (!initialized) {
    // A rank that waits lets others have its core, unless the user has decided otherwise: ranks may share cores.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    // Announcements with short data go out at once, without asking whether there is room (FY_SHORT_BYTES).
    setenv("OMPI_MCA_btl_vader_eager_limit", "16384", 0);
    error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    began = error == MPI_SUCCESS;
  } else {
    error = MPI_Query_thread(&provided);
  }
  if (error == MPI_SUCCESS && provided < MPI_THREAD_SERIALIZED)
    error = MPI_ERR_OTHER;
  if (error == MPI_SUCCESS)
    error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (error == MPI_SUCCESS)
    error = MPI_Comm_size(MPI_COMM_WORLD, size);
  return error;
}

static int finalize(void) {
  return began ? MPI_Finalize() : MPI_SUCCESS;
}

static const char *error_string(int error) {
  static _Thread_local char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS)
    return "an unknown error of MPI";
  return text;
}

// ---- communicators ----

static int ready(int error, MPI_Comm made, void **comm) {
  if (error == MPI_SUCCESS)
    error = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  *comm = error == MPI_SUCCESS ? handle_of(made) : NULL;
  return error;
}

static int world(void **comm) {
  MPI_Comm made = MPI_COMM_NULL;
  int error = MPI_Comm_dup(MPI_COMM_WORLD, &made);
  return ready(error, made, comm);
}

static int group(void *parent, const int *ranks, int count, int tag, void **comm) {
  MPI_Group all, some;
  MPI_Comm made = MPI_COMM_NULL;
  int error = MPI_Comm_group(comm_of(parent), &all);
  if (error == MPI_SUCCESS)
    error = MPI_Group_incl(all, count, ranks, &some);
  if (error == MPI_SUCCESS)
    error = MPI_Comm_create_group(comm_of(parent), some, tag, &made);
  return ready(error, made, comm);
}

static void free_comm(void *handle) {
  MPI_Comm comm = comm_of(handle);
  MPI_Comm_free(&comm);
}

// ---- messages ----

static int keep(int error, MPI_Request made, void **request) {
  *request = NULL;
  if (error == MPI_SUCCESS)
    memcpy(request, &made, sizeof made);
  return error;
}

static int send(void *comm, const void *data, size_t bytes, int to, int tag, void **request) {
  MPI_Request made = MPI_REQUEST_NULL;
  int error = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, comm_of(comm), &made);
  return keep(error, made, request);
}

static int receive(void *comm, void *data, size_t bytes, int from, int tag, void **request) {
  MPI_Request made = MPI_REQUEST_NULL;
  int error = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, comm_of(comm), &made);
  return keep(error, made, request);
}

static int test(void **request) {
  MPI_Request asked;
  int done = 0;
  memcpy(&asked, request, sizeof asked);
  int error = MPI_Test(&asked, &done, MPI_STATUS_IGNORE);
  if (done || error != MPI_SUCCESS)
    *request = NULL;
  return error;
}

// ---- reductions ----

// Operations of our own: all of float16 and bfloat16, which are none of MPI's types (here: numbers of two bytes), and the least and
// the greatest of other floats, since MPI's depend on the ranks' order where there are NaNs.
#define OWN_OPERATION(name, dtype, op)                                                                                 \
  static void name(void *in, void *inout, int *count, MPI_Datatype *type) {                                            \
    (void)type;                                                                                                        \
    fy_reduce_two(inout, in, (size_t)*count, dtype, op);                                                               \
  }
OWN_OPERATION(half_sum, FY_FLOAT16, FY_REDUCE_OP_SUM)
OWN_OPERATION(half_min, FY_FLOAT16, FY_REDUCE_OP_MIN)
OWN_OPERATION(half_max, FY_FLOAT16, FY_REDUCE_OP_MAX)
OWN_OPERATION(half_product, FY_FLOAT16, FY_REDUCE_OP_PRODUCT)
OWN_OPERATION(bfloat_sum, FY_BFLOAT16, FY_REDUCE_OP_SUM)
OWN_OPERATION(bfloat_min, FY_BFLOAT16, FY_REDUCE_OP_MIN)
OWN_OPERATION(bfloat_max, FY_BFLOAT16, FY_REDUCE_OP_MAX)
OWN_OPERATION(bfloat_product, FY_BFLOAT16, FY_REDUCE_OP_PRODUCT)
OWN_OPERATION(float_min, FY_FLOAT32, FY_REDUCE_OP_MIN)
OWN_OPERATION(float_max, FY_FLOAT32, FY_REDUCE_OP_MAX)
OWN_OPERATION(double_min, FY_FLOAT64, FY_REDUCE_OP_MIN)
OWN_OPERATION(double_max, FY_FLOAT64, FY_REDUCE_OP_MAX)

// MPI_OP_NULL: MPI's own will do.
static MPI_Op own_operation(int dtype, FyReduceOp op) {
  static MPI_User_function *const functions[FY_DTYPE_COUNT][FY_REDUCE_OP_COUNT] = {
      [FY_FLOAT16] = {[FY_REDUCE_OP_SUM] = half_sum,
                      [FY_REDUCE_OP_MIN] = half_min,
                      [FY_REDUCE_OP_MAX] = half_max,
                      [FY_REDUCE_OP_PRODUCT] = half_product},
      [FY_BFLOAT16] = {[FY_REDUCE_OP_SUM] = bfloat_sum,
                       [FY_REDUCE_OP_MIN] = bfloat_min,
                       [FY_REDUCE_OP_MAX] = bfloat_max,
                       [FY_REDUCE_OP_PRODUCT] = bfloat_product},
      [FY_FLOAT32] = {[FY_REDUCE_OP_MIN] = float_min, [FY_REDUCE_OP_MAX] = float_max},
      [FY_FLOAT64] = {[FY_REDUCE_OP_MIN] = double_min, [FY_REDUCE_OP_MAX] = double_max}};
  static MPI_Op made[FY_DTYPE_COUNT][FY_REDUCE_OP_COUNT];
  static bool known[FY_DTYPE_COUNT][FY_REDUCE_OP_COUNT];
  if (!functions[dtype][op])
    return MPI_OP_NULL;
  if (!known[dtype][op])
    known[dtype][op] = MPI_Op_create(functions[dtype][op], 1, &made[dtype][op]) == MPI_SUCCESS;
  return made[dtype][op];
}

// The type and the operation; an average's sum is divided afterwards. Of bools the sum says whether any is true.
static void choose(int dtype, FyReduceOp op, MPI_Datatype *type, MPI_Op *operation) {
  if (op == FY_REDUCE_OP_AVG)
    op = FY_REDUCE_OP_SUM;
  if (dtype == FY_BOOL)
    op = op == FY_REDUCE_OP_SUM ? FY_REDUCE_OP_MAX : op == FY_REDUCE_OP_PRODUCT ? FY_REDUCE_OP_MIN : op;
  *type = dtype == FY_FLOAT32                     ? MPI_FLOAT
          : dtype == FY_FLOAT64                   ? MPI_DOUBLE
          : dtype == FY_INT64                     ? MPI_INT64_T
          : dtype == FY_INT32                     ? MPI_INT32_T
          : dtype == FY_UINT8 || dtype == FY_BOOL ? MPI_UINT8_T
                                                  : MPI_UINT16_T;
  *operation = own_operation(dtype, op);
  if (*operation == MPI_OP_NULL)
    *operation = op == FY_REDUCE_OP_MIN       ? MPI_MIN
                 : op == FY_REDUCE_OP_MAX     ? MPI_MAX
                 : op == FY_REDUCE_OP_PRODUCT ? MPI_PROD
                                              : MPI_SUM;
}

static int least(size_t left) {
  return left < MOST_AT_ONCE ? (int)left : MOST_AT_ONCE;
}

static int all_reduce(void *comm, void *data, size_t count, int dtype, FyReduceOp op) {
  MPI_Datatype type;
  MPI_Op operation;
  choose(dtype, op, &type, &operation);
  for (size_t first = 0; first < count; first += MOST_AT_ONCE) {
    char *at = (char *)data + first * fy_dtype_size(dtype);
    int error = MPI_Allreduce(MPI_IN_PLACE, at, least(count - first), type, operation, comm_of(comm));
    if (error != MPI_SUCCESS)
      return error;
  }
  return MPI_SUCCESS;
}

static int broadcast(void *comm, void *data, size_t bytes, int root) {
  for (size_t first = 0; first < bytes; first += MOST_AT_ONCE) {
    int error = MPI_Bcast((char *)data + first, least(bytes - first), MPI_BYTE, root, comm_of(comm));
    if (error != MPI_SUCCESS)
      return error;
  }
  return MPI_SUCCESS;
}

// Blocks that an int cannot count are gathered as elements of a larger type.
static int all_gather(void *comm, const void *in, void *out, size_t bytes) {
  MPI_Datatype block;
  if (bytes <= MOST_AT_ONCE)
    return MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, comm_of(comm));
  const size_t piece = bytes % 4096 == 0 ? 4096 : bytes % 64 == 0 ? 64 : 1;
  if (bytes / piece > INT32_MAX)
    return MPI_ERR_COUNT;
  int error = MPI_Type_contiguous((int)piece, MPI_BYTE, &block);
  if (error == MPI_SUCCESS)
    error = MPI_Type_commit(&block);
  if (error == MPI_SUCCESS)
    error = MPI_Allgather(in, (int)(bytes / piece), block, out, (int)(bytes / piece), block, comm_of(comm));
  MPI_Type_free(&block);
  return error;
}

static int reduce_scatter(void *comm, const void *in, void *out, size_t count, int dtype, FyReduceOp op, int ranks) {
  MPI_Datatype type;
  MPI_Op operation;
  choose(dtype, op, &type, &operation);
  const size_t size = fy_dtype_size(dtype);
  if (count <= MOST_AT_ONCE)
    return MPI_Reduce_scatter_block(in, out, (int)count, type, operation, comm_of(comm));
  for (int r = 0; r < ranks; r++) // share by share, piece by piece
    for (size_t first = 0; first < count; first += MOST_AT_ONCE) {
      const char *from = (const char *)in + ((size_t)r * count + first) * size;
      int error = MPI_Reduce(from, (char *)out + first * size, least(count - first), type, operation, r, comm_of(comm));
      if (error != MPI_SUCCESS)
        return error;
    }
  return MPI_SUCCESS;
}

static const FyMpi table = {.abi = FY_MPI_ABI,
                            .init = init,
                            .finalize = finalize,
                            .error_string = error_string,
                            .world = world,
                            .group = group,
                            .free_comm = free_comm,
                            .send = send,
                            .receive = receive,
                            .test = test,
                            .all_reduce = all_reduce,
                            .broadcast = broadcast,
                            .all_gather = all_gather,
                            .reduce_scatter = reduce_scatter};

__attribute__((visibility("default"))) const FyMpi *fy_mpi_table(void) {
  return &table;
}
