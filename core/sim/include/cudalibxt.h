// SPDX-License-Identifier: MIT
#pragma once
#include "cufftXt.h"
