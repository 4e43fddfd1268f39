#include "client/request.h"

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/text.h"
#include "semel/key.h"

namespace semel::client {
namespace {

// Written by the client itself, or of no use with one request per exchange.
constexpr std::array kOwnFields = {"host",       "content-length", "transfer-encoding",
                                   "connection", "upgrade",        "expect",
                                   "te",         "trailer",        "keep-alive"};

bool is_word(std::string_view text) {
  const auto fits = [](char c) {
    return c > ' ' && c <= '~' && !std::string_view("\"(),/:;<=>?@[\\]{}").contains(c);
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

void check_header(const Header& header, const std::string& key_header) {
  if (!is_word(header.name)) throw Client::Error("'" + header.name + "' is no name of a header");
  const auto is_control = [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; };
  if (std::ranges::any_of(header.value, is_control)) {
    throw Client::Error("the header " + header.name + " has a control character or a line end");
  }
  const std::string name = base::lower_case(header.name);
  if (std::ranges::find(kOwnFields, name) != kOwnFields.end()) {
    throw Client::Error("the header " + header.name + " is the client's own; leave it out");
  }
  if (name == base::lower_case(key_header)) {
    throw Client::Error("give the key as a key, not as a header: it must not change between tries");
  }
}

bool has(const std::vector<Header>& headers, std::string_view name) {
  return std::ranges::any_of(headers, [&](const Header& header) {
    return base::lower_case(header.name) == base::lower_case(name);
  });
}

std::string target_of(const Url& base, const std::string& path) {
  if (path.empty()) return base.target;
  if (!path.starts_with('/') || !is_sendable_target(path) || path.contains('#')) {
    throw Client::Error("the path must begin with / and be percent-encoded");
  }
  if (base.target.contains('?')) throw Client::Error("the base URL must not have a query");
  std::string target = base.target;
  if (target.ends_with('/')) target.pop_back();
  return target + path;
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

Prepared prepare(const ClientOptions& options, const Url& base, const ClientRequest& request) {
  if (!is_word(request.method) || request.method == "CONNECT") {
    throw Client::Error("'" + request.method + "' is no method that can be sent");
  }
  Prepared out{
      .method = request.method, .url = base, .headers = request.headers, .body = request.body};
  out.url.target = target_of(base, request.path);
  for (const Header& header : options.headers) {
    if (!has(request.headers, header.name)) out.headers.push_back(header);
  }
  for (const Header& header : out.headers) check_header(header, options.key_header);
  if (!out.body.empty() && !has(out.headers, "Content-Type")) {
    out.headers.push_back({"Content-Type", "application/json"});
  }
  if (!has(out.headers, "User-Agent"))
    out.headers.push_back({"User-Agent", "semel/" SEMEL_VERSION});
  if (!has(out.headers, "Accept")) out.headers.push_back({"Accept", "*/*"});
  return out;
}

std::string key_field(const std::string& key, bool bare) {
  if (const auto checked = check_key(key, {}); !checked) throw Client::Error(checked.error());
  if (bare) {
    if (const auto read = parse_key(key, {}); !read || *read != key) {
      throw Client::Error("this key cannot be sent without quotes");
    }
    return key;
  }
  std::string out = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

std::string head_of(const Prepared& request, std::string_view target, std::string_view key_header,
                    std::string_view key) {
  std::string head = request.method;
  head.append(" ").append(target).append(" HTTP/1.1\r\n");
  append_field(head, "Host", request.url.origin.host_field());
  for (const Header& header : request.headers) append_field(head, header.name, header.value);
  if (!key.empty()) append_field(head, key_header, key);
  const bool may_have_body = request.method != "GET" && request.method != "HEAD";
  if (may_have_body || !request.body.empty()) {
    append_field(head, "Content-Length", std::to_string(request.body.size()));
  }
  return head + "\r\n";
}

std::string digest_of(const Prepared& request) {
  base::Sha256 hash;
  hash.update_sized(request.method).update_sized(request.url.target).update_sized(request.body);
  const base::Sha256Digest digest = hash.finish();
  return base::encode_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace semel::client
