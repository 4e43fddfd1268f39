#pragma once

#include "conformance/records.h"

namespace semel {

using conformance::shared;
using conformance::value_of;

}  // namespace semel
