#pragma once

#include <string_view>

namespace semel::service {

// The OpenAPI 3.1 document of the service API, as JSON.
std::string_view openapi_document();

}  // namespace semel::service
