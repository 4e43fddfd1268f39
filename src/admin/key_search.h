#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/key_filter.h"
#include "server/process.h"

namespace semel::admin {

// Says where a search goes on. A search for a text first lists the records whose id begins with it.
struct Cursor {
  RecordId after;
  bool among_ids = false;

  std::string text() const;
};
// For the member `next` of an answer: null says that there is nothing more.
boost::json::value next_json(const std::optional<Cursor>& next);
// nullopt: it is none that text() made.
std::optional<Cursor> parse_cursor(std::string_view text);

struct Search {
  KeyFilter filter;
  std::size_t limit = 100;
  std::optional<Cursor> from = std::nullopt;
  // If set: the key, the tenant, the resource or the beginning of the id.
  std::optional<std::string> text = std::nullopt;
  // If set, only these.
  std::function<bool(const Record&)> only = {};
  // Changes what is kept of a queued request in what was found; otherwise all of it is dropped,
  // like every answer's body.
  std::function<void(std::string& request)> trim_request = {};
};

struct Found {
  std::vector<RecordPtr> records;  // without the bodies of their answers
  std::optional<Cursor> next;      // nullopt: there is nothing more
  std::size_t examined = 0;
};

// Finds records for operators. Every call looks at a bounded number of records and says where to go
// on. Scans give way to requests between pages. Chunks of large bodies are never read.
class KeySearch {
 public:
  static constexpr std::size_t kListedMax = 1000;  // per call

  explicit KeySearch(server::Process& process) : process_(process), services_(process.services()) {}

  boost::asio::awaitable<StoreResult<Found>> search(Search wanted);
  // Finds one record by its id, or by the first 8 or more digits if no other id begins so.
  boost::asio::awaitable<std::expected<RecordPtr, Answer>> find(std::string id);

 private:
  // One way through the store: the records after `after` whose ids begin with `prefix`.
  struct Walk {
    std::optional<RecordId> after;
    std::string prefix;
    std::function<bool(const Record&, Time)> matches;
    bool among_ids = false;
  };

  boost::asio::awaitable<StoreResult<RecordPtr>> by_key(KeyFilter filter);
  // Walks until the end, or until the search has found or examined enough, which sets found.next.
  boost::asio::awaitable<StoreResult<void>> walk(Walk way, const Search& wanted, Found& found);
  Walk among_ids(const Search& wanted) const;
  Walk among_all(const Search& wanted) const;

  server::Process& process_;
  runtime::Services& services_;
};

}  // namespace semel::admin
