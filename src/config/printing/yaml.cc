#include "config/printing/yaml.h"

#include <yaml-cpp/emittermanip.h>

#include "config/printing/secrets.h"
#include "config/reading/values.h"

namespace semel::config::printing {

Yaml::Yaml() {
  out_.SetIndent(2);
  out_ << YAML::BeginMap;
}

void Yaml::write_key(std::string_view key) {
  out_ << YAML::Key;
  write_value(key);
  out_ << YAML::Value;
}

void Yaml::write_value(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '$') escaped += '$';
    escaped += c;
  }
  out_ << escaped;
}

void Yaml::text(std::string_view key, std::string_view value) {
  write_key(key);
  write_value(value);
}

void Yaml::text_if_any(std::string_view key, std::string_view value) {
  if (!value.empty()) text(key, value);
}

void Yaml::flag(std::string_view key, bool value) {
  text(key, value ? "true" : "false");
}

void Yaml::count(std::string_view key, std::uint64_t value) {
  text(key, std::to_string(value));
}

void Yaml::size(std::string_view key, std::uint64_t bytes) {
  text(key, reading::format_size(bytes));
}

void Yaml::duration(std::string_view key, Duration value) {
  text(key, reading::format_duration(value));
}

void Yaml::duration_or_never(std::string_view key, Duration value) {
  text(key, value == Duration::max() ? "never" : reading::format_duration(value));
}

void Yaml::texts(std::string_view key, const std::vector<std::string>& values) {
  write_key(key);
  out_ << YAML::Flow << YAML::BeginSeq;
  for (const std::string& value : values) write_value(value);
  out_ << YAML::EndSeq;
}

void Yaml::url(std::string_view key, std::string_view value) {
  text(key, without_secrets(value));
}

void Yaml::mapping(std::string_view key, const std::function<void()>& write_members) {
  write_key(key);
  item(write_members);
}

void Yaml::sequence(std::string_view key, const std::function<void()>& write_items) {
  write_key(key);
  out_ << YAML::BeginSeq;
  write_items();
  out_ << YAML::EndSeq;
}

void Yaml::item(const std::function<void()>& write_members) {
  out_ << YAML::BeginMap;
  write_members();
  out_ << YAML::EndMap;
}

std::string Yaml::finish() {
  out_ << YAML::EndMap;
  return std::string(out_.c_str(), out_.size()) + "\n";
}

}  // namespace semel::config::printing
