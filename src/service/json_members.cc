#include "service/json_members.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/fingerprint/json_find.h"

namespace semel::service {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

struct Member {
  std::string name;
  std::string_view value;
};

// Walks over a text that is known to be a valid JSON object.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::vector<Member> members() {
    std::vector<Member> out;
    skip_space();
    ++at_;  // {
    for (skip_space(); peek() != '}' && at_ < text_.size(); skip_space()) {
      const std::string_view quoted = value();
      const std::string_view name = quoted.substr(1, quoted.size() - 2);
      skip_space();
      ++at_;  // :
      skip_space();
      out.push_back({core::unescape_json(name).value_or(std::string(name)), value()});
      skip_space();
      if (peek() == ',') ++at_;
    }
    return out;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  // Skips one value, and returns it.
  std::string_view value() {
    const std::size_t from = at_;
    if (peek() == '"') {
      skip_string();
    } else if (peek() == '{' || peek() == '[') {
      skip_brackets();
    } else {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
    return text_.substr(from, at_ - from);
  }

  void skip_brackets() {
    std::size_t open = 0;
    do {
      if (peek() == '"') {
        skip_string();
        continue;
      }
      if (peek() == '{' || peek() == '[') ++open;
      if (peek() == '}' || peek() == ']') --open;
      ++at_;
    } while (open > 0 && at_ < text_.size());
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string_view> raw_member(std::string_view text, std::string_view name) {
  const std::vector<Member> members = Walk(text).members();
  for (const Member& member : members) {
    if (member.name == name) return member.value;
  }
  return std::nullopt;
}

bool has_repeated_member(std::string_view text) {
  std::vector<Member> members = Walk(text).members();
  std::ranges::sort(members, {}, &Member::name);
  return std::ranges::adjacent_find(members, {}, &Member::name) != members.end();
}

}  // namespace semel::service
