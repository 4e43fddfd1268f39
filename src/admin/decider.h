#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "admin/decision_body.h"
#include "admin/key_search.h"
#include "server/process.h"

namespace semel::admin {

// Applies operators' decisions to records, and logs each with the name of who made it.
class Decider {
 public:
  Decider(server::Process& process, KeySearch& search)
      : process_(process), services_(process.services()), search_(search) {}

  // Decides about the record with this id. `body` as in decision_body.h.
  boost::asio::awaitable<Answer> decide(Decided decided, std::string id, std::string who,
                                        std::string body);
  // Decides about all records that match `where`, up to `limit`.
  boost::asio::awaitable<Answer> decide_many(Decided decided, std::string who, std::string body);

 private:
  boost::asio::awaitable<Resolved> resolve(Decided decided, RecordId id, Resolution resolution);

  server::Process& process_;
  runtime::Services& services_;
  KeySearch& search_;
};

}  // namespace semel::admin
