#pragma once

#include <gtest/gtest.h>
#include <semel/semel.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "postgres/schema.h"

// The stores that the tests of semel/semel.h run on. SEMEL_TEST_POSTGRES and SEMEL_TEST_REDIS are
// set by tests/harness/servers/with_*.py.
namespace semel {

inline std::string server(const char* variable) {
  const char* url = std::getenv(variable);
  if (url == nullptr) throw std::runtime_error(std::string(variable) + " is not set");
  return url;
}

// The URL of a database with the schema in it.
inline std::string database() {
  static const std::string url = [] {
    const auto applied = postgres::apply_schema(server("SEMEL_TEST_POSTGRES"), "semel");
    if (!applied) throw std::runtime_error(applied.error());
    return server("SEMEL_TEST_POSTGRES");
  }();
  return url;
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "semel-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string url() const {
    return "embedded:" + path_ + "/data?durability=crash&free_bytes_min=0";
  }

 private:
  std::string path_;
};

// Returns a key that no other test has used.
inline std::string new_key() {
  static std::atomic<int> last = 0;
  return "key-" + std::to_string(getpid()) + "-" + std::to_string(++last);
}

}  // namespace semel
