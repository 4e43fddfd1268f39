#pragma once

// semel/semel.h for sources that see the driver's headers as well, which have types of the same
// names: here those of semel.h are v1::Engine, v1::Call, v1::Operation.
#define SEMEL_INLINE
#include "semel/semel.h"  // IWYU pragma: export
