// All in cudasim_abi.h.
#include "cudasim_abi.h"
