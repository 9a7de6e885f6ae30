// SPDX-License-Identifier: MIT
// What core/distributed asks of MPI: a table that libferry-mpi.so fills in (mpi_plugin.c). The library does not link MPI
// itself, so that programs build and run on machines without it.
//
// Calls are made by one thread at a time. Functions return 0 or an MPI error code, which `error_string` explains.
#ifndef FERRY_DISTRIBUTED_MPI_TABLE_H
#define FERRY_DISTRIBUTED_MPI_TABLE_H

#include "distributed/distributed.h"

enum { FY_MPI_ABI = 1 };

typedef struct FyMpi {
  int abi;
  int (*init)(int *rank, int *size); // begins MPI, unless the program has
  int (*finalize)(void);             // ends it, if init began it; all ranks call it
  const char *(*error_string)(int error);

  // Communicators. A group is made by its members alone; `tag` tells groups that are made at one time apart.
  int (*world)(void **comm);
  int (*group)(void *world, const int *ranks, int count, int tag, void **comm);
  void (*free_comm)(void *comm);

  // Messages that go on while others do. *request becomes NULL when it is done, or has failed.
  int (*send)(void *comm, const void *data, size_t bytes, int to, int tag, void **request);
  int (*receive)(void *comm, void *data, size_t bytes, int from, int tag, void **request);
  int (*test)(void **request);

  // Collectives that return when they are done: to be called when all ranks are known to come. Counts are in elements of an
  // FyDType, sizes in bytes; all_reduce and broadcast are in place.
  int (*all_reduce)(void *comm, void *data, size_t count, int dtype, FyReduceOp op);
  int (*broadcast)(void *comm, void *data, size_t bytes, int root);
  int (*all_gather)(void *comm, const void *in, void *out, size_t bytes);
  int (*reduce_scatter)(void *comm, const void *in, void *out, size_t count, int dtype, FyReduceOp op, int ranks);
} FyMpi;

// The one symbol of libferry-mpi.so.
const FyMpi *fy_mpi_table(void);

// Opens it. NULL, with the reason and the remedy in `why`, where that is not possible. Never raises (mpi.c).
const FyMpi *fy_mpi_open(char *why, size_t size);

#endif
