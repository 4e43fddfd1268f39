#include "relay/envelope.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include "base/text.h"
#include "config/reading/relay.h"
#include "http/message.h"

namespace semel::relay {
namespace {

constexpr std::string_view kPayloadType = "application/json";

bool is_text_for_a_header(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; });
}

// Returns the attribute that a header stands for. Also takes Kafka's way to write it, so that there
// cannot be two of them.
std::optional<std::string> attribute_of(std::string_view header_name) {
  std::string name = base::lower_case(header_name);
  if (!name.starts_with("ce-") && !name.starts_with("ce_")) return std::nullopt;
  return name.substr(3);
}

bool has(const std::vector<Header>& headers, std::string_view name) {
  return std::ranges::any_of(
      headers, [&](const Header& header) { return http::iequals(header.name, name); });
}

std::string timestamp_of(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
  const auto rest = time.time_since_epoch() - seconds;
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     rest.count());
}

void add_attributes(const Message& message, const config::CloudEventsConfig& config,
                    Envelope& out) {
  std::vector<Header> said = std::exchange(out.attributes, {});
  std::vector<Header>& all = out.attributes;
  all = {{"specversion", "1.0"}, {"id", message.key}};
  for (Header& attribute : said) {
    if (!has(all, attribute.name)) all.push_back(std::move(attribute));
  }
  const auto add = [&](std::string name, std::string value) {
    if (!has(all, name)) all.push_back({std::move(name), std::move(value)});
  };
  add("source", config.source);
  add("type", config.type);
  add("time", timestamp_of(message.enqueued_at));
  if (message.ordering_key && !message.ordering_key->empty()) {
    add("partitionkey", *message.ordering_key);
  }
}

}  // namespace

std::expected<Envelope, std::string> envelope_of(const Message& message,
                                                 const config::RelayDestination& config) {
  if (!message.headers) return std::unexpected(message.headers.error());
  Envelope out;
  const auto put = [&](const Header& header) {
    if (http::iequals(header.name, "content-type")) {
      if (out.content_type.empty()) out.content_type = header.value;
      return;
    }
    const auto attribute = config.cloudevents ? attribute_of(header.name) : std::nullopt;
    // The content type and each attribute of the event are said in one place only.
    if (attribute && *attribute != "datacontenttype") {
      if (!has(out.attributes, *attribute)) out.attributes.push_back({*attribute, header.value});
    } else if (!attribute) {
      out.headers.push_back(header);
    }
  };
  for (const Header& header : *message.headers) {
    const bool is_the_brokers = config.broker && base::lower_case(header.name).starts_with("nats-");
    if (!config::reading::may_be_given(header.name) || !is_text_for_a_header(header.value) ||
        is_the_brokers) {
      return std::unexpected("its header " + header.name + " cannot be sent");
    }
    put(header);
  }
  // If a message has the same header itself, the message's counts.
  for (const Header& header : config.headers) {
    if (!has(*message.headers, header.name)) put(header);
  }
  if (out.content_type.empty()) out.content_type = kPayloadType;
  if (config.cloudevents) add_attributes(message, *config.cloudevents, out);
  return out;
}

std::string header_value_of(std::string_view attribute_value) {
  std::string out;
  for (const char c : attribute_value) {
    if (c > ' ' && c <= '~' && c != '%' && c != '"') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace semel::relay
