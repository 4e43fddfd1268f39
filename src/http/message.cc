#include "http/message.h"

#include <algorithm>
#include <boost/asio/ip/address_v6.hpp>
#include <charconv>
#include <limits>

namespace semel::http {
namespace {

// A length that every server can represent: nineteen digits may exceed 63 bits.
constexpr std::size_t kLengthDigitsMax = 18;

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// More than anybody sends, and few enough that comparing each with all others costs nothing.
constexpr std::size_t kFieldsMax = 256;
constexpr std::size_t kConnectionBytesMax = 512;
constexpr std::size_t kConnectionsMax = 8;

constexpr std::size_t kHostBytesMax = 255;
constexpr unsigned kPortMax = 65535;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return is_digits(text) && error == std::errc{} && end == text.data() + text.size() &&
         port <= kPortMax;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() <= kHostBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

bool is_v6_address(std::string_view text) {
  boost::system::error_code error;
  const std::string address(text.substr(0, kHostBytesMax));
  boost::asio::ip::make_address_v6(address, error);
  return !error && !text.contains('%');
}

// Accepts a name or an address, with an optional port. The other characters that URIs allow in a
// host (escapes, `!$&'()*+,;=`) occur in no real name, and parsers read them differently.
bool is_host(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', bracket);
  if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
  const std::string_view host = text.substr(0, colon);
  if (bracket == 0) return is_host_name(host);
  return host.size() == bracket + 1 && is_v6_address(host.substr(1, bracket - 1));
}

}  // namespace

bool same_letters(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

template <bool is_request>
Message<is_request>::Message() {
  this->eager(false);
  this->body_limit(boost::none);
  // The caller limits the head before it is parsed.
  this->header_limit(std::numeric_limits<std::uint32_t>::max());
}

template <bool is_request>
std::optional<std::string> Message<is_request>::parse_head(std::string_view bytes) {
  head_.assign(bytes);
  fields_.reserve(16);
  error_code error;
  this->put(boost::asio::buffer(head_), error);
  if (error) return error.message();
  if (!head_done_) return "incomplete head";
  return framing_error();
}

template <bool is_request>
std::optional<std::string_view> Message<is_request>::field(std::string_view name) const {
  for (const Field& f : fields_) {
    if (iequals(f.name, name)) return f.value;
  }
  return std::nullopt;
}

template <bool is_request>
std::size_t Message<is_request>::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields_, [&](const Field& f) { return iequals(f.name, name); }));
}

template <bool is_request>
std::optional<std::uint64_t> Message<is_request>::body_length() const {
  const auto length = this->content_length();
  if (!length) return std::nullopt;
  return *length;
}

// Beast is lenient if two lengths agree or a coding is unknown. Only one length in one form is
// allowed here, so that no other parser on the way can see a different end of the body.
template <bool is_request>
std::optional<std::string> Message<is_request>::framing_error() const {
  if (fields_.size() > kFieldsMax) return "more than " + std::to_string(kFieldsMax) + " fields";
  std::size_t connections = 0;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  std::size_t hosts = 0;
  std::string_view length;
  std::string_view coding;
  std::string_view host;
  bool is_endless = false;
  for (const Field& f : fields_) {
    if (iequals(f.name, "Connection")) {
      is_endless = is_endless || f.value.size() > kConnectionBytesMax;
      ++connections;
    } else if (iequals(f.name, "Content-Length")) {
      length = f.value;
      ++lengths;
    } else if (iequals(f.name, "Transfer-Encoding")) {
      coding = f.value;
      ++codings;
    } else if (iequals(f.name, "Host")) {
      host = f.value;
      ++hosts;
    }
  }
  if (is_endless || connections > kConnectionsMax) return "a Connection field that is too long";
  if (lengths > 1) return "more than one Content-Length";
  if (codings > 1) return "more than one Transfer-Encoding";
  if (lengths && codings) return "both Content-Length and Transfer-Encoding";
  if (lengths && !is_digits(length)) return "Content-Length is not a number";
  if (length.size() > kLengthDigitsMax) return "a Content-Length with too many digits";
  if (codings && !iequals(coding, "chunked")) {
    return "a Transfer-Encoding other than chunked";
  }
  if (codings && version_ < 11) return "Transfer-Encoding in HTTP/1.0";
  if constexpr (is_request) {
    if (hosts > 1) return "more than one Host";
    if (hosts == 0 && version_ >= 11) return "no Host";
    if (hosts == 1 && !is_host(host)) return "an invalid Host";
  }
  return std::nullopt;
}

template <bool is_request>
void Message<is_request>::on_request_impl(boost::beast::http::verb, sv method, sv target,
                                          int version, error_code&) {
  method_ = view(method);
  target_ = view(target);
  version_ = version;
}

template <bool is_request>
void Message<is_request>::on_response_impl(int code, sv, int version, error_code&) {
  status_ = code;
  version_ = version;
}

template <bool is_request>
void Message<is_request>::on_field_impl(boost::beast::http::field, sv name, sv value, error_code&) {
  if (head_done_) return;  // nothing acts on trailers
  fields_.push_back({view(name), view(value)});
}

template <bool is_request>
std::size_t Message<is_request>::on_body_impl(sv body, error_code&) {
  piece_ = view(body);
  return body.size();
}

template <bool is_request>
std::size_t Message<is_request>::on_chunk_body_impl(std::uint64_t, sv body, error_code&) {
  piece_ = view(body);
  return body.size();
}

template class Message<true>;
template class Message<false>;

}  // namespace semel::http
