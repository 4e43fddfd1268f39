#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "admin/key_search.h"
#include "server/process.h"

namespace semel::admin {

// Shows the records of the store to operators: /api/keys.
class KeysApi {
 public:
  KeysApi(server::Process& process, KeySearch& search)
      : process_(process), services_(process.services()), search_(search) {}

  // GET /api/keys?q=…, or with the fields of KeyFilter; and limit=…&cursor=…
  boost::asio::awaitable<Answer> list(std::string query);
  // GET /api/keys/{id}; the beginning of an id is enough if no other id begins so.
  boost::asio::awaitable<Answer> show(std::string id);
  // GET /api/keys/{id}/answer: what the client got, for those who may change things. Logs who
  // asked.
  boost::asio::awaitable<Answer> show_answer(std::string id, std::string who);
  // POST /api/keys/{id}/probe: asks the executor now what became of an unknown record.
  boost::asio::awaitable<Answer> probe(std::string id, std::string who, std::string body);
  // GET /api/queue
  boost::asio::awaitable<Answer> list_work(std::string query);

 private:
  // Reads the body of an answer that is kept in chunks.
  boost::asio::awaitable<StoreResult<std::string>> read_spilled(RecordPtr record);
  // Returns the key as its client sent it; nullopt: only a digest of it is kept.
  std::optional<std::string> plain_key_of(const Record& record) const;

  server::Process& process_;
  runtime::Services& services_;
  KeySearch& search_;
};

}  // namespace semel::admin
