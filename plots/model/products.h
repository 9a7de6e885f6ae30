// SPDX-License-Identifier: MIT
// The products among the kernels of published tables, by the names that they have there. No thread or error concerns them.
#ifndef PLOTS_MODEL_PRODUCTS_H
#define PLOTS_MODEL_PRODUCTS_H

#include "kernels.h"

// Of n * n floats. `kind` is what stands behind "sgemm_".
Modeled sgemm_modeled(const struct model_gpu *gpu, const char *kind, double n);

// Of n * n integers, in blocks of block * block threads. `kind` is what stands behind "product_".
Modeled integer_product_modeled(const struct model_gpu *gpu, const char *kind, double n, double block);

// Of n * n floats and n floats, with a thread for each row.
Modeled matrix_vector_modeled(const struct model_gpu *gpu, double n, double threads);

#endif
