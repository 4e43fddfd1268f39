#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "semel/record.h"

namespace semel {

// Completed records, kept where they are reached faster than in the store that decides. What it
// gives may be out of date by as long as it keeps things; it may lose anything at any time. Any
// thread may call; calls resume on the caller's executor.
class AnswerCache {
 public:
  virtual ~AnswerCache() = default;

  // nullopt: not there, or in doubt.
  virtual boost::asio::awaitable<std::optional<Record>> find(RecordId id) = 0;
  // The same where nothing need be waited for. Null: not there, in doubt, or not at hand.
  virtual std::shared_ptr<const Record> at_hand(const RecordId&) { return nullptr; }
  // Never replaces a record that was written later.
  virtual boost::asio::awaitable<void> keep(Record record) = 0;
  virtual boost::asio::awaitable<void> drop(RecordId id) = 0;
};

}  // namespace semel
