#include "cli/reconcile/ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "base/sha256.h"

namespace semel::cli {
namespace {

// Opens a file that has no name, so that nothing is left behind however this ends.
std::FILE* open_nameless(const std::string& folder) {
  std::string name = folder + "/semel-reconcile-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  unlink(name.c_str());
  return fdopen(descriptor, "w+b");
}

std::unexpected<std::string> disk_failed() {
  return std::unexpected(
      fmt::format("a temporary file cannot be used: {}; set TMPDIR to a folder with room",
                  std::strerror(errno)));
}

bool write_text(std::FILE* file, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  return std::fwrite(&size, sizeof(size), 1, file) == 1 &&
         std::fwrite(text.data(), 1, text.size(), file) == text.size();
}

std::optional<std::string> read_text(std::FILE* file) {
  std::uint32_t size = 0;
  if (std::fread(&size, sizeof(size), 1, file) != 1) return std::nullopt;
  std::string text(size, '\0');
  if (std::fread(text.data(), 1, size, file) != size) return std::nullopt;
  return text;
}

// nullopt: there is no more.
std::optional<Entry> read_entry(std::FILE* file) {
  const int side = std::fgetc(file);
  if (side == EOF) return std::nullopt;
  auto identity = read_text(file);
  auto text = read_text(file);
  if (!identity || !text) return std::nullopt;
  return Entry{static_cast<Entry::Side>(side), *std::move(identity), *std::move(text)};
}

}  // namespace

std::expected<Ledger, std::string> Ledger::open() {
  const char* folder = std::getenv("TMPDIR");
  Ledger ledger;
  for (File& file : ledger.files_) {
    file.reset(open_nameless(folder && *folder ? folder : "/tmp"));
    if (!file) return disk_failed();
  }
  return ledger;
}

std::expected<void, std::string> Ledger::add(const Entry& entry) {
  std::FILE* file = files_[base::sha256(entry.identity)[0] % kFiles].get();
  const bool is_written = std::fputc(static_cast<int>(entry.side), file) != EOF &&
                          write_text(file, entry.identity) && write_text(file, entry.text);
  if (!is_written) return disk_failed();
  return {};
}

std::expected<void, std::string> Ledger::for_each_group(const UseGroup& use) {
  for (File& file : files_) {
    if (std::fflush(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) {
      return disk_failed();
    }
    std::map<std::string, std::vector<Entry>> groups;
    while (auto entry = read_entry(file.get())) {
      std::vector<Entry>& group = groups[entry->identity];
      group.push_back(*std::move(entry));
    }
    if (std::ferror(file.get()) != 0) return disk_failed();
    for (const auto& [identity, group] : groups) use(group);
    file.reset();  // gives the room on disk back
  }
  return {};
}

}  // namespace semel::cli
