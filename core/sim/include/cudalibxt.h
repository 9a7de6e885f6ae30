#pragma once
#include "cufftXt.h"
