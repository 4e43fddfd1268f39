#include "execution/answer/limit_problem.h"

namespace semel {

Problem limit_problem(TenantLimits::Limit exceeded) {
  switch (exceeded) {
    case TenantLimits::Limit::new_keys:
      return {.code = Code::too_many_keys,
              .detail =
                  "You use new keys faster than this operation allows. Nothing was executed; "
                  "retry with the same key.",
              .new_key_safe = true};
    case TenantLimits::Limit::live_keys:
      return {.code = Code::too_many_keys,
              .detail =
                  "You have as many keys as this operation allows; old ones expire. Nothing was "
                  "executed; retry with the same key.",
              .new_key_safe = true};
    case TenantLimits::Limit::all_new_keys:
    case TenantLimits::Limit::all_live_keys:
      return {.code = Code::overloaded,
              .detail =
                  "All callers together use more keys than this gateway takes. Nothing was "
                  "executed; retry with the same key.",
              .new_key_safe = true};
    case TenantLimits::Limit::in_flight:
    case TenantLimits::Limit::none:
      break;
  }
  return {.code = Code::overloaded,
          .detail =
              "Too many of your requests are being executed here. Nothing was executed; "
              "retry with the same key.",
          .new_key_safe = false};
}

}  // namespace semel
