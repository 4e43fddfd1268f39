#include "consume/request_fields.h"

#include <algorithm>

#include "base/text.h"
#include "http/fields/traceparent.h"

namespace semel::consume {
namespace {

// Headers of the message that a handler gets without being asked for.
bool passes_by_itself(std::string_view lower_case_name) {
  return lower_case_name == "traceparent" || lower_case_name == "tracestate" ||
         lower_case_name.starts_with("ce-");
}

bool is_field_name(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.contains(c);
  });
}

// Publishers may put anything into a header, but a request cannot hold all of it.
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) || c == '\t';
  });
}

}  // namespace

std::vector<http::Field> handler_fields(const config::ConsumeConfig& config,
                                        const BrokerMessage& message, const std::string& host) {
  std::vector<http::Field> fields = {{"Host", host}};
  if (!message.content_type.empty() && is_field_value(message.content_type)) {
    fields.push_back({"Content-Type", message.content_type});
  }
  for (const Header& header : message.headers) {
    const std::string name = base::lower_case(header.name);
    const bool passes =
        passes_by_itself(name) || std::ranges::find(config.headers, name) != config.headers.end();
    const bool is_ours = name == "content-type" || name == "host" || name == "idempotency-key";
    if (passes && !is_ours && is_field_name(name) && is_field_value(header.value)) {
      fields.push_back({header.name, header.value});
    }
  }
  return fields;
}

std::string trace_of(const BrokerMessage& message) {
  for (const Header& header : message.headers) {
    if (base::lower_case(header.name) == "traceparent" && http::is_traceparent(header.value)) {
      return header.value;
    }
  }
  return "";
}

}  // namespace semel::consume
