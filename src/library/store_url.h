#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "stores/open.h"

namespace semel::library {

// A store that a URL names, and the settings that a configuration file brings along.
struct NamedStore {
  stores::StoreConfig store;
  std::string name_space;   // "": the file says nothing, or there is none
  bool hides_keys = false;  // store_keys: digest
};

// Reads memory:, embedded:PATH?…, postgres://…, redis://…, tiered:…,… and file:PATH. The error is a
// sentence and never holds a password.
std::expected<NamedStore, std::string> parse_store_url(std::string_view url);

}  // namespace semel::library
