#include <fmt/format.h>

#include "check/lab.h"

// How a key is written, and what bad ones do.
namespace semel::check {
namespace {

constexpr std::size_t kTooLong = 5000;

Finding key_quoted(Lab& lab) {
  Effects effects(lab);
  const Request request = lab.raw_request({'"' + lab.new_key() + '"'}, lab.payload());
  const Answer first = lab.send(request);
  if (!first.ok()) return failed("a key written as a String (\"…\") got " + first.shown());
  const Answer retry = lab.settle(request);
  if (!retry.ok()) return failed("the retry with a key in quotes got " + retry.shown());
  effects.saw(first);
  effects.saw(retry);
  return effects.expect(1, "a request and its retry with a key in quotes");
}

Finding key_escaped(Lab& lab) {
  if (!lab.calibration().quoted)
    return not_applicable("keys in quotes are refused: see key/quoted");
  const std::string key = lab.new_key();
  const std::string payload = lab.payload();
  const Answer quote = lab.send(lab.raw_request({fmt::format(R"("{}\"b")", key)}, payload));
  const Answer slash = lab.send(lab.raw_request({fmt::format(R"("{}\\b")", key)}, payload));
  for (const Answer* answer : {&quote, &slash}) {
    if (!answer->ok()) return failed("a key with an escaped character got " + answer->shown());
  }
  if (!lab.witness().known()) return unproven("nothing in the answers tells executions apart");
  return lab.same(quote, slash) ? failed(R"(\" and \\ are taken for one character)") : passed();
}

Finding key_parameters(Lab& lab) {
  if (!lab.calibration().quoted)
    return not_applicable("keys in quotes are refused: see key/quoted");
  const std::string key = '"' + lab.new_key() + '"';
  const std::string payload = lab.payload();
  const Answer plain = lab.send(lab.raw_request({key}, payload));
  const Answer with = lab.settle(lab.raw_request({key + ";a=1"}, payload));
  if (!with.ok()) return said("a key with a parameter got " + with.shown());
  return said(lab.same(plain, with) ? "parameters are ignored" : "a parameter makes another key");
}

Finding key_quoted_is_bare(Lab& lab) {
  const std::string key = lab.new_key();
  const std::string payload = lab.payload();
  const Answer quoted = lab.send(lab.raw_request({'"' + key + '"'}, payload));
  const Answer bare = lab.settle(lab.raw_request({key}, payload));
  if (!quoted.ok() || !bare.ok()) {
    return said(fmt::format("a key in quotes got {}, a bare one {}", quoted.shown(), bare.shown()));
  }
  const bool one = lab.same(quoted, bare);
  lab.behaves("a key in quotes and the bare one", one ? "are one key" : "are two keys");
  return said(one ? "they are one key" : "they are two keys");
}

// Bytes that have broken parsers, stores and logs before; nothing here attacks a payload.
Finding key_bad_bytes(Lab& lab) {
  if (lab.options().gentle) return not_applicable("left out by --gentle");
  const std::string key = lab.new_key();
  const std::string payload = lab.payload();
  const std::pair<const char*, std::string> bad[] = {
      {"a control byte", key + "\x01"},       {"a tab inside", key + "\tb"},
      {"raw UTF-8", key + "\xc3\xa4"},        {"a byte that is no UTF-8", key + "\xff"},
      {"a quote without its end", '"' + key}, {"SQL", key + "' OR 1=1 --"},
      {"a template", key + "${7*7}{{7*7}}"},  {"a path", key + "/../../etc/passwd"},
  };
  for (const auto& [what, value] : bad) {
    const Answer answer = lab.send(lab.raw_request({value}, payload));
    // Closing the connection is a refusal of bytes that HTTP does not have.
    if (answer.status == 0 && value.find_first_of("\x01\xff") != std::string::npos) continue;
    if (answer.status == 0 || answer.status >= 500) {
      return failed(fmt::format("a key with {} got {}", what, answer.shown()));
    }
  }
  return passed();
}

Finding key_too_long(Lab& lab) {
  if (lab.options().gentle) return not_applicable("left out by --gentle");
  const std::string key = lab.new_key() + std::string(kTooLong, 'k');
  const Answer answer = lab.send(lab.request(key, lab.payload()));
  if (answer.status == 0 || answer.status >= 500) {
    return failed(fmt::format("a key of {} characters got {}", key.size(), answer.shown()));
  }
  return passed(answer.ok() ? "accepted" : "refused with " + answer.shown());
}

constexpr Check kKeySyntax[] = {
    {"key/quoted", Level::draft, "2.1", "a key written as a String is accepted and replayed", "", 2,
     1, key_quoted},
    {"key/escaped", Level::draft, "2.1, RFC 9651 3.3.3", R"(\" and \\ are parts of a key)", "", 2,
     2, key_escaped},
    {"key/parameters", Level::info, "2.1", "what parameters of a key do", "", 2, 1, key_parameters},
    {"key/quoted-is-bare", Level::info, "2.1", "whether quotes make another key", "", 2, 1,
     key_quoted_is_bare},
    {"key/bad-bytes", Level::safety, "2.1, 5", "keys with odd bytes cause no 5xx", "", 8, 4,
     key_bad_bytes},
    {"key/too-long", Level::safety, "5", "a key of 5,000 characters causes no 5xx", "", 1, 0,
     key_too_long},
};

}  // namespace

std::span<const Check> key_syntax_checks() {
  return kKeySyntax;
}

}  // namespace semel::check
