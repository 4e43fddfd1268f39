#include "execution/answer/limit_problem.h"

namespace semel::execution {

core::Problem limit_problem(runtime::TenantLimits::Limit exceeded) {
  switch (exceeded) {
    case runtime::TenantLimits::Limit::new_keys:
      return {.code = core::Code::too_many_keys,
              .detail =
                  "You use new keys faster than this operation allows. Nothing was executed; "
                  "retry with the same key.",
              .new_key_safe = true};
    case runtime::TenantLimits::Limit::live_keys:
      return {.code = core::Code::too_many_keys,
              .detail =
                  "You have as many keys as this operation allows; old ones expire. Nothing was "
                  "executed; retry with the same key.",
              .new_key_safe = true};
    case runtime::TenantLimits::Limit::all_new_keys:
    case runtime::TenantLimits::Limit::all_live_keys:
      return {.code = core::Code::overloaded,
              .detail =
                  "All callers together use more keys than this gateway accepts. Nothing was "
                  "executed; retry with the same key.",
              .new_key_safe = true};
    case runtime::TenantLimits::Limit::in_flight:
    case runtime::TenantLimits::Limit::none:
      break;
  }
  return {.code = core::Code::overloaded,
          .detail =
              "Too many of your requests are being executed here. Nothing was executed; "
              "retry with the same key.",
          .new_key_safe = false};
}

}  // namespace semel::execution
