// SPDX-License-Identifier: MIT
#pragma once
#include "cusolverDn.h"
