#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::cli {

// One effect, as the system that made it lists it. What it does not say is empty.
struct Effect {
  std::string record;  // its record's id, or
  std::string key;
  std::string tenant;
  std::string operation;
  std::string resource;
  std::string time;
  std::uint64_t line = 0;
};

// Reads effects from lines, without I/O: each line an object of JSON, or CSV whose first line names
// the columns. Names: key, record, tenant, operation, resource_id (or resource, id), time. Others
// are ignored.
class EffectParser {
 public:
  // nullopt: the line says nothing (it is empty, or the header). The error is a sentence.
  std::expected<std::optional<Effect>, std::string> take(std::string_view line);

  std::uint64_t lines() const { return lines_; }
  // Valid once there was an effect: whether the effects name these.
  bool has(std::string_view name) const;

 private:
  enum class Format { unset, json, csv };
  std::expected<std::optional<Effect>, std::string> read_header(std::string_view line);
  std::expected<Effect, std::string> read_json(std::string_view line);
  std::expected<Effect, std::string> read_csv(std::string_view line);
  std::expected<std::optional<Effect>, std::string> checked(Effect effect);

  Format format_ = Format::unset;
  std::vector<std::string> columns_;  // of CSV
  std::vector<std::string> named_;    // by the first effect
  std::uint64_t lines_ = 0;
};

}  // namespace semel::cli
