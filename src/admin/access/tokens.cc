#include "admin/access/tokens.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hex.h"
#include "base/private_file.h"
#include "base/text.h"

namespace semel::admin {
namespace {

constexpr std::size_t kNameLengthMax = 64;
constexpr std::size_t kTokenLengthMin = 16;
constexpr std::size_t kTokenLengthMax = 256;
constexpr std::string_view kDigestMark = "sha256:";

struct Line {
  std::size_t number = 0;
  std::string_view name;
  std::string_view secret;
};

std::string errno_text() {
  return std::strerror(errno);
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameLengthMax && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-';
  });
}

bool is_token(std::string_view text) {
  return text.size() >= kTokenLengthMin && text.size() <= kTokenLengthMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::optional<base::Sha256Digest> parse_digest(std::string_view hex) {
  base::Sha256Digest out{};
  const auto bytes = base::decode_hex(hex);
  if (!bytes || bytes->size() != out.size()) return std::nullopt;
  std::ranges::copy(*bytes, out.begin());
  return out;
}

// Returns the lines that say something, each cut at its first space.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = base::trim_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
    out.push_back({number, line.substr(0, space), base::trim_line(line.substr(space))});
  }
  return out;
}

// Writes the whole file or nothing: a file cut short by a crash would keep the gateway from
// starting.
std::expected<void, std::string> write_private(const std::string& file, std::string_view text) {
  const std::string unfinished = file + ".new";
  const int descriptor = open(
      unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  bool done = descriptor >= 0;
  done = done && write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  done = done && fsync(descriptor) == 0;
  std::string why = done ? "" : errno_text();
  if (descriptor >= 0) close(descriptor);
  if (done && rename(unfinished.c_str(), file.c_str()) != 0) why = errno_text();
  if (!why.empty()) return std::unexpected(file + ": cannot be written: " + why);
  return {};
}

}  // namespace

std::expected<AdminTokens, std::string> AdminTokens::parse(std::string_view text) {
  AdminTokens tokens;
  for (const Line& line : lines_of(text)) {
    const auto wrong = [&](std::string_view what) {
      return std::unexpected("line " + std::to_string(line.number) + ": " + std::string(what));
    };
    if (!is_name(line.name)) {
      return wrong("write a name of letters, digits, '_', '.' and '-', then the token");
    }
    if (std::ranges::count(tokens.entries_, line.name, &Entry::name) > 0) {
      return wrong("the name is listed twice");
    }
    if (line.secret.starts_with(kDigestMark)) {
      const auto digest = parse_digest(line.secret.substr(kDigestMark.size()));
      if (!digest) return wrong("write 64 hexadecimal digits after sha256:");
      tokens.entries_.push_back({std::string(line.name), *digest});
    } else if (is_token(line.secret)) {
      tokens.entries_.push_back({std::string(line.name), base::sha256(line.secret)});
    } else {
      return wrong("a token must have 16 to 256 printable characters and no spaces");
    }
  }
  if (tokens.empty()) return std::unexpected("it has no token");
  return tokens;
}

std::expected<AdminTokens, std::string> AdminTokens::load(const std::string& file) {
  const auto text = base::read_private_file(file);
  if (!text) return std::unexpected(text.error());
  auto tokens = parse(*text);
  if (!tokens) return std::unexpected(file + ": " + tokens.error());
  return tokens;
}

std::expected<AdminTokens, std::string> AdminTokens::load_or_make(const std::string& file,
                                                                  TokenSource& random) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed) && !failed) {
    const std::string text = "admin " + random.next().hex() + random.next().hex() + "\n";
    if (auto written = write_private(file, text); !written) {
      return std::unexpected(written.error());
    }
  }
  return load(file);
}

std::optional<std::string> AdminTokens::name_of(std::string_view token) const {
  const base::Sha256Digest digest = base::sha256(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    const bool same = CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0;
    if (same) found = &entry;
  }
  if (!found) return std::nullopt;
  return found->name;
}

std::string generated_tokens_file(const std::string& store_path) {
  return (std::filesystem::path(store_path) / "admin-token").string();
}

std::expected<std::string, std::string> token_to_send(const std::string& file) {
  const auto text =
      base::read_private_file(file, base::kPrivateFileBytesMax, base::PrivateUse::sent);
  if (!text) return std::unexpected(text.error());
  const std::vector<Line> lines = lines_of(*text);
  if (lines.size() == 1 && lines[0].secret.empty()) return std::string(lines[0].name);
  for (const Line& line : lines) {
    if (!line.secret.empty() && !line.secret.starts_with(kDigestMark)) {
      return std::string(line.secret);
    }
  }
  return std::unexpected(file + ": has no token to send");
}

}  // namespace semel::admin
