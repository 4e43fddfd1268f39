#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace semel::check {

// Makes bodies from templates: {{n}} becomes a new number and {{uuid}} a new UUID, both once per
// payload, so that a retry has the bytes of the first try; {{key}} becomes the key of the request.
//
//   Payloads payloads;
//   std::string body = payloads.render(R"({"amount": {{n}}})");
//   std::string sent = with_key(body, "k-1");
class Payloads {
 public:
  std::string render(std::string_view text);

 private:
  std::uint64_t last_ = 1000;
};

std::string with_key(std::string_view body, std::string_view key);

// Returns whether two renderings of the template differ.
bool has_variables(std::string_view text);

// Changes the first number of a JSON document by `nth`, or its first text if it has no number;
// nullopt: the body has neither.
std::optional<std::string> varied_json(std::string_view body, int nth);

// Writes the members of a JSON object in reverse order; nullopt: it has fewer than two.
std::optional<std::string> reordered_json(std::string_view body);

}  // namespace semel::check
