#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace semel::stores {

// Files whose write-ahead logs can be made to fail or to be slow, and that counts their syncs.
class FaultyFiles {
 public:
  FaultyFiles() : env_(rocksdb::NewCompositeEnv(std::make_shared<Files>(*this))) {}

  rocksdb::Env* env() { return env_.get(); }

  std::atomic<bool> fail_sync = false;
  std::atomic<bool> fail_append = false;
  std::atomic<std::chrono::milliseconds> sync_takes = std::chrono::milliseconds(0);
  std::atomic<int> syncs = 0;

 private:
  class Log final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    Log(std::unique_ptr<rocksdb::FSWritableFile> file, FaultyFiles& faults)
        : FSWritableFileOwnerWrapper(std::move(file)), faults_(faults) {}

    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (faults_.fail_append) return rocksdb::IOStatus::NoSpace("no space left, says the test");
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
      ++faults_.syncs;
      std::this_thread::sleep_for(faults_.sync_takes.load());
      if (faults_.fail_sync) return rocksdb::IOStatus::IOError("the disk is gone, says the test");
      return FSWritableFileOwnerWrapper::Sync(options, debug);
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* debug) override {
      return Sync(options, debug);
    }

   private:
    FaultyFiles& faults_;
  };

  class Files final : public rocksdb::FileSystemWrapper {
   public:
    explicit Files(FaultyFiles& faults)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), faults_(faults) {}

    const char* Name() const override { return "FaultyFiles"; }
    rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
      auto status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
      if (status.ok() && name.ends_with(".log")) {
        *file = std::make_unique<Log>(std::move(*file), faults_);
      }
      return status;
    }

   private:
    FaultyFiles& faults_;
  };

  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace semel::stores
