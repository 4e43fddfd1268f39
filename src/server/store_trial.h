#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "semel/driver/clock.h"
#include "semel/driver/store.h"

namespace semel::server {

// Finds out at the start whether the store takes a new record, by writing one and removing it
// again: a store that can be read may still refuse every write (a standby, a user without rights, a
// server without memory or without its replicas). Until it takes one, tries again. For one thread.
class StoreTrial {
 public:
  StoreTrial(Store& store, Clock& clock, TokenSource& tokens);

  // Returns when the store has taken a record.
  boost::asio::awaitable<void> run();
  // Returns after the first try, or when that has taken too long to wait for.
  boost::asio::awaitable<void> wait_for_first();
  // Says why the store has not taken a record yet; nullopt: it has.
  const std::optional<std::string>& trouble() const { return trouble_; }

 private:
  // Returns why not; nullopt: the record was written.
  boost::asio::awaitable<std::optional<std::string>> try_once();

  Store& store_;
  Clock& clock_;
  RecordId id_;  // of the record that is tried
  bool has_tried_ = false;
  std::optional<std::string> trouble_ = "the store has not confirmed a first write yet";
};

}  // namespace semel::server
