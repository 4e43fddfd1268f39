#include "cli/reconcile/effect_source.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "client/wire/stream.h"

namespace semel::cli {
namespace {

namespace beast_http = boost::beast::http;

constexpr std::size_t kLineBytesMax = 1 << 20;
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr auto kAnswerTimeout = std::chrono::seconds(60);  // for each piece

// Makes lines of pieces of any size.
class LineSplitter {
 public:
  explicit LineSplitter(const UseLine& use) : use_(use) {}

  // False: nobody wants more, or a line is too long.
  bool put(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) {
        line_ += bytes;
        is_too_long_ = line_.size() > kLineBytesMax;
        return !is_too_long_;
      }
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!use_(std::exchange(line_, {}))) return false;
    }
    return true;
  }
  void finish() {
    if (!line_.empty()) use_(line_);
  }
  bool is_too_long() const { return is_too_long_; }

 private:
  const UseLine& use_;
  std::string line_;
  bool is_too_long_ = false;
};

std::unexpected<std::string> line_too_long(const std::string& from) {
  return std::unexpected(fmt::format("{} has a line longer than 1 MiB", from));
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

std::expected<void, std::string> read_file_lines(const std::string& path, const UseLine& use) {
  const std::unique_ptr<std::FILE, CloseFile> file(path == "-" ? stdin
                                                               : std::fopen(path.c_str(), "rb"));
  if (!file) {
    return std::unexpected(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  }
  LineSplitter lines(use);
  std::array<char, kPieceBytes> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), file.get())) {
    if (lines.put({piece.data(), size})) continue;
    if (lines.is_too_long()) return line_too_long(path);
    return {};
  }
  if (std::ferror(file.get()) != 0) {
    return std::unexpected(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  }
  lines.finish();
  return {};
}

client::Limits limits_from_now() {
  return {std::chrono::steady_clock::now() + kAnswerTimeout};
}

std::expected<void, std::string> send_request(client::Stream& stream, const client::Url& url) {
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/x-ndjson, application/jsonl, "
      "text/csv\r\nConnection: close\r\n\r\n",
      url.target, url.origin.host_field());
  for (std::size_t sent = 0; sent < request.size();) {
    const auto wrote = stream.write(std::string_view(request).substr(sent), limits_from_now());
    if (!wrote) return std::unexpected(wrote.error().text);
    sent += *wrote;
  }
  return {};
}

// Reads the answer and passes its body on as it comes.
std::expected<void, std::string> read_answer(client::Stream& stream, LineSplitter& lines) {
  beast_http::response_parser<beast_http::string_body> parser;
  parser.eager(true);
  parser.body_limit(boost::none);
  std::string unparsed;
  std::array<char, kPieceBytes> piece;
  while (!parser.is_done()) {
    const auto size = stream.read(piece.data(), piece.size(), limits_from_now());
    if (!size) return std::unexpected(size.error().text);
    boost::system::error_code failed;
    if (*size == 0) {
      parser.put_eof(failed);
      if (failed) return std::unexpected("the answer was cut off");
      break;
    }
    unparsed.append(piece.data(), *size);
    const std::size_t used = parser.put(boost::asio::buffer(unparsed), failed);
    unparsed.erase(0, used);
    if (failed && failed != beast_http::error::need_more) {
      return std::unexpected("the answer is not HTTP: " + failed.message());
    }
    if (!parser.is_header_done()) continue;
    if (parser.get().result_int() != 200) {
      return std::unexpected(fmt::format("the answer was {}", parser.get().result_int()));
    }
    std::string& body = parser.get().body();
    if (!lines.put(body)) return {};
    body.clear();
  }
  return {};
}

std::expected<void, std::string> read_url_lines(const std::string& from, const UseLine& use) {
  const auto url = client::parse_url(from);
  if (!url) return std::unexpected(fmt::format("{}: {}", from, url.error()));
  const client::TlsContext tls =
      url->origin.tls ? client::make_tls_context(ClientTls{}) : client::TlsContext();
  auto stream = client::Stream::connect(url->origin, tls.get(), limits_from_now());
  if (!stream) return std::unexpected(fmt::format("{}: {}", from, stream.error().text));
  if (auto sent = send_request(**stream, *url); !sent) {
    return std::unexpected(fmt::format("{}: {}", from, sent.error()));
  }
  LineSplitter lines(use);
  if (auto read = read_answer(**stream, lines); !read) {
    return std::unexpected(fmt::format("{}: {}", from, read.error()));
  }
  if (lines.is_too_long()) return line_too_long(from);
  lines.finish();
  return {};
}

}  // namespace

std::expected<void, std::string> read_lines(const std::string& from, const UseLine& use) {
  const bool is_url = from.starts_with("http://") || from.starts_with("https://");
  return is_url ? read_url_lines(from, use) : read_file_lines(from, use);
}

}  // namespace semel::cli
