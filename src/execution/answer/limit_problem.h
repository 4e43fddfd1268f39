#pragma once

#include "core/problem.h"
#include "runtime/tenant_limits.h"

namespace semel {

// Returns the problem for a client whose tenant has used up a limit of the route.
Problem limit_problem(TenantLimits::Limit exceeded);

}  // namespace semel
