#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "semel/driver/record.h"

// The tables of tests/vectors, which C++, SQL and Lua share.
namespace semel::support {

inline boost::json::value read_vectors(const std::string& name) {
  std::ifstream file(std::string(SEMEL_VECTORS "/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return boost::json::parse(text.str());
}

inline std::string text_of(const boost::json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
}

inline Duration duration_in(const boost::json::value& value) {
  return value == "never" ? Duration::max() : Duration(value.as_int64());
}
inline Time time_in(const boost::json::value& value, Time now) {
  return value == "never" ? kNever : now + duration_in(value);
}
// The way back: milliseconds from `now`, or "never".
inline std::string shown(Time at, Time now) {
  return at == kNever ? "never" : std::to_string((at - now).count());
}

inline RecordState state_in(const boost::json::value& value) {
  for (auto state : {RecordState::queued, RecordState::in_progress, RecordState::completed,
                     RecordState::released, RecordState::unknown, RecordState::tombstone}) {
    if (to_string(state) == value.as_string()) return state;
  }
  throw std::out_of_range("there is no such state");
}

// The record of a row of expiry.json. A field that the table's record does not have is a mistake.
inline Record expiring_record(const boost::json::object& table, const boost::json::object& row,
                              Time now) {
  boost::json::object fields = table.at("record").as_object();
  for (const auto& [name, value] : row.at("was").as_object()) fields.at(name) = value;
  Record record;
  record.state = state_in(fields.at("state"));
  record.attempt = static_cast<std::uint32_t>(fields.at("attempt").as_int64());
  record.token.bytes.fill('a');
  record.lease_until = time_in(fields.at("lease"), now);
  record.created_at = record.updated_at = time_in(fields.at("created"), now);
  record.expires_at = time_in(fields.at("expires"), now);
  record.tombstone_until = time_in(fields.at("tombstone_until"), now);
  record.hold_until = time_in(fields.at("hold_until"), now);
  record.ttl = duration_in(fields.at("ttl"));
  record.tombstone = duration_in(fields.at("tombstone"));
  record.hold_for = duration_in(fields.at("hold_for"));
  record.ttl_from_creation = fields.at("from_creation").as_bool();
  record.only_auth_failures = fields.at("only_auth").as_bool();
  return record;
}

}  // namespace semel::support
