#include "telemetry/tracing/otlp.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "base/overloaded.h"
#include "base/utf8.h"

namespace semel::telemetry {
namespace {

namespace json = boost::json;

constexpr int kStatusError = 2;

json::object attribute(std::string_view name, json::object value) {
  return {{"key", name}, {"value", std::move(value)}};
}

json::object text_attribute(std::string_view name, std::string_view value) {
  return attribute(name, {{"stringValue", base::printable_utf8(value)}});
}

json::object attribute_of(const SpanAttribute& from) {
  return std::visit(base::Overloaded{
                        [&](const std::string& text) { return text_attribute(from.name, text); },
                        // Numbers of 64 bits are written as text.
                        [&](std::int64_t number) {
                          return attribute(from.name, {{"intValue", std::to_string(number)}});
                        },
                    },
                    from.value);
}

json::object span_json(const Span& span) {
  json::object out = {{"traceId", to_hex(span.self.trace)},
                      {"spanId", to_hex(span.self.span)},
                      {"flags", span.self.flags},
                      {"name", base::printable_utf8(span.name)},
                      {"kind", static_cast<int>(span.kind)},
                      {"startTimeUnixNano", std::to_string(span.begun_at)},
                      {"endTimeUnixNano", std::to_string(span.ended_at)}};
  if (span.parent != SpanId{}) out["parentSpanId"] = to_hex(span.parent);
  json::array& attributes = (out["attributes"] = json::array()).as_array();
  for (const SpanAttribute& each : span.attributes) attributes.push_back(attribute_of(each));
  if (span.link) {
    out["links"] = json::array{json::object{{"traceId", to_hex(span.link->trace)},
                                            {"spanId", to_hex(span.link->span)},
                                            {"flags", span.link->flags}}};
  }
  if (span.has_failed) out["status"] = json::object{{"code", kStatusError}};
  return out;
}

}  // namespace

std::string encode_spans(std::span<const Span> spans, std::string_view instance) {
  json::array encoded;
  encoded.reserve(spans.size());
  for (const Span& span : spans) encoded.push_back(span_json(span));
  json::object scope = {{"scope", json::object{{"name", "semel"}, {"version", SEMEL_VERSION}}},
                        {"spans", std::move(encoded)}};
  json::object resource = {
      {"attributes", json::array{text_attribute("service.name", "semel"),
                                 text_attribute("service.version", SEMEL_VERSION),
                                 text_attribute("service.instance.id", instance)}}};
  return json::serialize(json::object{
      {"resourceSpans", json::array{json::object{{"resource", std::move(resource)},
                                                 {"scopeSpans", json::array{std::move(scope)}}}}}});
}

std::uint64_t rejected_spans(std::string_view answer) {
  boost::system::error_code wrong;
  const json::value parsed = json::parse(answer, wrong);
  const json::object* root = wrong ? nullptr : parsed.if_object();
  const json::value* partial = root ? root->if_contains("partialSuccess") : nullptr;
  const json::object* success = partial ? partial->if_object() : nullptr;
  const json::value* rejected = success ? success->if_contains("rejectedSpans") : nullptr;
  if (!rejected) return 0;
  std::uint64_t number = 0;
  if (const json::string* text = rejected->if_string()) {
    std::from_chars(text->data(), text->data() + text->size(), number);
  } else if (const std::int64_t* plain = rejected->if_int64(); plain && *plain > 0) {
    number = static_cast<std::uint64_t>(*plain);
  }
  return number;
}

}  // namespace semel::telemetry
