#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "stores/embedded/store.h"
#include "stores/suite.h"

namespace semel::stores {

// A directory that is there as long as this is.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::unique_ptr<Store> open_or_throw(const EmbeddedOptions& options) {
  auto store = open_embedded_store(options);
  if (!store) throw std::runtime_error(store.error());
  return *std::move(store);
}

// An embedded store in a directory of its own.
class EmbeddedHarness final : public StoreHarness {
 public:
  explicit EmbeddedHarness(bool sync)
      : options_{.path = directory_.path() / "store", .sync = sync},
        store_(open_or_throw(options_)) {}

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    store_ = open_or_throw(options_);
  }

 private:
  ScratchDirectory directory_;
  EmbeddedOptions options_;
  std::unique_ptr<Store> store_;
};

}  // namespace semel::stores
