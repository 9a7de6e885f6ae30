// SPDX-License-Identifier: MIT
// What the files of the simulated cuBLAS share.
#ifndef SIM_CUBLAS_IMPL_H
#define SIM_CUBLAS_IMPL_H

#include "cublas_v2.h"
#include "sim/blas/gemm.h"
#include "sim/runtime/node.h"
#include "sim/runtime/stream.h"

struct cublasContext {
  cudaStream_t stream;
  int device;
  cublasMath_t math;
  cublasPointerMode_t pointer_mode;
};

cublasStatus_t sim_cublas_stream(cublasHandle_t handle, struct CUstream_st **stream);

// Whether a kernel on that device can use these bytes; otherwise says so, and fails the device as the access would.
bool sim_cublas_check(const char *function, const char *name, const void *data, size_t bytes, int device);

cublasStatus_t sim_cublas_submit(struct CUstream_st *stream, struct sim_work *work);
void sim_cublas_count(const struct sim_work *work);

// Queues a product whose alpha and beta are of that type, on the host or (in the device pointer mode) on the device.
cublasStatus_t sim_cublas_multiply(const char *function, cublasHandle_t handle, struct sim_gemm gemm, const void *alpha,
                                   const void *beta, cudaDataType scalar_type);

// A vector's elements as those of a matrix of one row.
struct sim_matrix sim_cublas_vector(const void *data, cudaDataType type, int increment);

// A product, of which an inspector is told.
bool sim_cublas_run_gemm(const struct sim_gemm *gemm);

// The bytes from a matrix's (or batch's) first element to its last.
size_t sim_cublas_reach(const struct sim_matrix *matrix, int rows, int columns, int count);

// An inspector is told what a function reads, before it does, and what it has written: of each column of a matrix its
// rows, and of a vector its elements, whatever lies between.
void sim_cublas_reads(const struct sim_matrix *matrix, int rows, int columns, int count);
void sim_cublas_wrote(const struct sim_matrix *matrix, int rows, int columns, int count);

// alpha or beta as a number.
double sim_cublas_scalar(const void *pointer, cudaDataType type);

#endif
