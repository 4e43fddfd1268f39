#pragma once

#include "conformance/store_suite.h"

namespace semel::stores {

// The tests of this folder write the same records as the suite.
using namespace conformance;

}  // namespace semel::stores
