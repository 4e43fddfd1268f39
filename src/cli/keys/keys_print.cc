#include "cli/keys/keys_print.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <string>

#include "cli/admin/command.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kIdDigitsShown = 16;
constexpr std::size_t kTextShown = 40;
constexpr std::size_t kRequestShown = 30;

std::string age_of(const json::value& record) {
  const auto* value = record.get_object().if_contains("age_seconds");
  return age_text(value && value->is_int64() ? value->get_int64() : 0);
}

void print_member(const json::value& record, const char* label, const char* name) {
  const std::string text = text_of(record, name);
  if (!text.empty()) std::fputs(fmt::format("{:<14}{}\n", label, text).c_str(), stdout);
}

void print_request(const json::value& request) {
  print_member(request, "method", "method");
  print_member(request, "path", "path");
  const auto* described = request.as_object().if_contains("described");
  if (!described || !described->is_object()) return;
  for (const auto& member : described->get_object()) {
    const json::object shown{{"pointer", member.key()}, {"value", member.value()}};
    const std::string line = fmt::format("{:<14}{} {}\n", "described", text_of(shown, "pointer"),
                                         text_of(shown, "value"));
    std::fputs(line.c_str(), stdout);
  }
}

void print_owner(const json::value& owner) {
  const std::string node = text_of(owner, "node");
  if (node.empty()) return;
  std::string line = fmt::format("{:<14}{}, run {}", "owner", node, text_of(owner, "run"));
  line += text_of(owner, "is_this_process") == "true" ? ", the process that was asked"
                                                      : ", another process";
  const std::string alive = text_of(owner, "alive");
  if (alive == "true") line += ", alive as far as its lease says";
  if (alive == "false") line += ", gone: its lease has run out";
  std::puts(line.c_str());
}

void print_resource(const json::value& resource) {
  if (text_of(resource, "id").empty()) return;
  std::puts(
      fmt::format("{:<14}{} {}", "resource", text_of(resource, "type"), text_of(resource, "id"))
          .c_str());
}

void print_answer(const json::value& answer) {
  std::fputs(fmt::format("{:<14}{}, {} bytes of body ({})\n", "answer", text_of(answer, "status"),
                         text_of(answer, "body_bytes"), text_of(answer, "body"))
                 .c_str(),
             stdout);
  for (const json::value& pair : answer.at("headers").as_array()) {
    const json::object header{{"name", pair.at(0)}, {"value", pair.at(1)}};
    std::fputs(fmt::format("{:<14}{}: {}\n", "", text_of(header, "name"), text_of(header, "value"))
                   .c_str(),
               stdout);
  }
}

}  // namespace

void print_list_head() {
  std::puts(
      "RECORD            STATE        TRY   AGE  STATUS  OPERATION             "
      "REQUEST                         KEY");
}

void print_list_line(const json::value& record) {
  const std::string method = text_of(record, "method");
  const std::string request = method.empty() ? "-" : method + ' ' + text_of(record, "path");
  std::puts(fmt::format("{:<17} {:<11} {:>4} {:>5}  {:<6}  {:<20}  {:<30}  {}",
                        text_of(record, "id").substr(0, kIdDigitsShown), text_of(record, "state"),
                        text_of(record, "attempt"), age_of(record), text_of(record, "status"),
                        cut(text_of(record, "operation"), 20), cut(request, kRequestShown),
                        cut(text_of(record, "key"), kTextShown))
                .c_str());
}

void print_record(const json::value& record) {
  for (const auto& [label, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"record", "id"},
           {"state", "state"},
           {"attempt", "attempt"},
           {"reason", "reason"},
           {"operation", "operation"},
           {"scope path", "scope_path"},
           {"tenant", "tenant"},
           {"key", "key"},
           {"created", "created_at"},
           {"changed", "updated_at"},
           {"unknown since", "unknown_since"},
           {"lease until", "lease_until"},
           {"expires", "expires_at"},
           {"held until", "hold_until"},
           {"trace", "trace"}}) {
    print_member(record, label, name);
  }
  print_request(record.at("request"));
  print_resource(record.at("resource"));
  print_owner(record.at("owner"));
  if (record.at("answer").is_object()) print_answer(record.at("answer"));
  std::puts("history");
  for (const json::value& entry : record.at("history").as_array()) {
    std::puts(fmt::format("  {}  {:<11} try {:<3} {}", text_of(entry, "at"),
                          text_of(entry, "state"), text_of(entry, "attempt"),
                          text_of(entry, "note"))
                  .c_str());
  }
}

}  // namespace semel::cli
