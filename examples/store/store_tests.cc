// Holds FileStore to the promises of semel::Store.
#include <semel/conformance/stores.h>

#include <cstdlib>
#include <stdexcept>

#include "file_store.h"

namespace {

class FileHarness final : public semel::conformance::StoreHarness {
 public:
  FileHarness() {
    std::string pattern = (std::filesystem::temp_directory_path() / "file-store-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
    folder_ = pattern;
    file_ = folder_ / "records";
    reopen();
  }
  ~FileHarness() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  semel::Store& store() override { return *store_; }

  void reopen() override {  // a restart
    store_.reset();
    auto opened = example::FileStore::open(file_);
    if (!opened) throw std::runtime_error(opened.error());
    store_ = *std::move(opened);
  }

  void kill() override {  // what is in the file now, without the help of the destructor
    const std::filesystem::path as_it_is = file_.string() + "_";
    std::filesystem::copy_file(file_, as_it_is);
    file_ = as_it_is;
    reopen();
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::unique_ptr<example::FileStore> store_;
};

}  // namespace

int main(int argc, char** argv) {
  return semel::conformance::run_store_suite(
      argc, argv, {{"file", [] { return std::make_unique<FileHarness>(); }}});
}
