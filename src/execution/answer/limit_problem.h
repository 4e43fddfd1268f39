#pragma once

#include "core/problem.h"
#include "runtime/limits/tenant_limits.h"

namespace semel::execution {

// Returns the problem for a client whose tenant has used up a limit of the route.
core::Problem limit_problem(runtime::TenantLimits::Limit exceeded);

}  // namespace semel::execution
