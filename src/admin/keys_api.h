#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <expected>
#include <string>
#include <string_view>

#include "admin/decision_body.h"
#include "admin/key_filter.h"
#include "server/process.h"

namespace semel::admin {

// Serves the records of the store to operators: /api/keys. Every call looks at a bounded number of
// records and says where to go on. Scans give way to requests between pages.
class KeysApi {
 public:
  explicit KeysApi(server::Process& process) : process_(process), services_(process.services()) {}

  // GET /api/keys?state=…&operation=…&tenant=…&key=…&older=…&newer=…&limit=…&cursor=…
  boost::asio::awaitable<Answer> list(std::string query);
  // GET /api/keys/{id}; the beginning of an id is enough if no other id begins so.
  boost::asio::awaitable<Answer> show(std::string id);
  // POST /api/keys/{id}/resolve, /release and /forget
  boost::asio::awaitable<Answer> decide(Decided decided, std::string id, std::string who,
                                        std::string body);
  // POST /api/keys/resolve, /release and /forget: decides about all records that match `where`, up
  // to `limit`.
  boost::asio::awaitable<Answer> decide_many(Decided decided, std::string who, std::string body);

 private:
  struct Search {
    KeyFilter filter;
    std::size_t limit = 100;
    std::optional<RecordId> after;
  };
  struct Found {
    std::vector<RecordPtr> records;
    std::optional<RecordId> next;  // nullopt: there is nothing more
    std::size_t examined = 0;
  };

  boost::asio::awaitable<StoreResult<Found>> search(Search search);
  boost::asio::awaitable<StoreResult<RecordPtr>> by_key(KeyFilter filter);
  boost::asio::awaitable<std::expected<RecordPtr, Answer>> find(std::string id);
  boost::asio::awaitable<Resolved> resolve(Decided decided, RecordId id, Resolution resolution);

  server::Process& process_;
  runtime::Services& services_;
};

}  // namespace semel::admin
