#include "execution/forward_key.h"

#include "execution/headers.h"
#include "semel/derive.h"

namespace semel::execution {

KeyForwarding forward_key(const config::RouteConfig& route, const RecordId& record,
                          std::string_view key, bool key_in_header) {
  KeyForwarding forwarding;
  // A provider sends no key: a field of that name is not covered by the signature.
  if (route.forward_key != config::ForwardKey::as_is || route.webhook) {
    forwarding.drop = route.key.aliases;
    forwarding.drop.push_back(route.key.header);
  }
  switch (route.forward_key) {
    case config::ForwardKey::as_is:
      if (!key_in_header) forwarding.add.push_back({"Idempotency-Key", quoted_key(key)});
      break;
    case config::ForwardKey::derived:
      forwarding.add.push_back({route.key.header, quoted_key(derive(record, kForwardLabel))});
      break;
    case config::ForwardKey::none:
      break;
  }
  return forwarding;
}

}  // namespace semel::execution
