#pragma once

#include <expected>
#include <memory>
#include <string>

#include "config/consume.h"
#include "consume/sources/source.h"

namespace semel::consume {

// Makes the source of an entry; connects nothing yet. The error is a sentence for the operator: the
// configuration cannot be used.
std::expected<std::unique_ptr<Source>, std::string> make_source(
    const config::ConsumeConfig& config);

}  // namespace semel::consume
