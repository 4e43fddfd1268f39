#include "admin/key_search.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "admin/admin_answer.h"
#include "semel/driver/scope.h"

namespace semel::admin {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kExaminedMax = 10'000;       // per walk
constexpr std::size_t kPageRecords = 200;          // per call to the store
constexpr std::size_t kIdDigitsOfOneMin = 8;       // to name one record
constexpr std::string_view kAmongIdsMark = "id.";  // before the id in a cursor

// Returns the id before the first one that begins with these digits: where a scan for them begins.
std::optional<RecordId> just_before(std::string_view digits) {
  std::string padded(digits);
  padded.resize(kIdDigits, '0');
  std::optional<RecordId> id = parse_hex_id(padded);
  if (!id) return std::nullopt;
  for (std::size_t i = id->bytes.size(); i-- > 0;) {
    if (id->bytes[i]-- > 0) return id;
  }
  return std::nullopt;  // all zero: scan from the beginning
}

bool begins_with(const RecordId& id, std::string_view digits) {
  return digits.empty() || id.hex().starts_with(digits);
}

// Frees the memory as well: a page of records may be kept while its client takes it.
RecordPtr without_bodies(const Record& record, const Search& wanted) {
  auto shown = std::make_shared<Record>(record);
  std::string().swap(shown->answer.body);
  if (wanted.trim_request) {
    wanted.trim_request(shown->request);
  } else {
    std::string().swap(shown->request);
  }
  return shown;
}

}  // namespace

std::string Cursor::text() const {
  return (among_ids ? std::string(kAmongIdsMark) : std::string()) + after.hex();
}

boost::json::value next_json(const std::optional<Cursor>& next) {
  if (!next) return nullptr;
  return boost::json::value(next->text());
}

std::optional<Cursor> parse_cursor(std::string_view text) {
  Cursor cursor;
  cursor.among_ids = text.starts_with(kAmongIdsMark);
  if (cursor.among_ids) text.remove_prefix(kAmongIdsMark.size());
  const auto after = parse_hex_id(text);
  if (!after) return std::nullopt;
  cursor.after = *after;
  return cursor;
}

awaitable<StoreResult<Found>> KeySearch::search(Search wanted) {
  Found found;
  wanted.filter.expect_digests(process_.settings().key_material.hash_keys);
  const KeyFilter& filter = wanted.filter;
  if (!wanted.from && !wanted.text && filter.tenant && filter.operation && filter.key) {
    auto record = co_await by_key(filter);
    if (!record) co_return std::unexpected(record.error());
    if (*record && (!wanted.only || wanted.only(**record))) {
      found.examined = 1;
      found.records.push_back(without_bodies(**record, wanted));
      co_return found;
    }
  }
  const bool has_ids = wanted.text && is_id_prefix(*wanted.text);
  if (has_ids && (!wanted.from || wanted.from->among_ids)) {
    auto walked = co_await walk(among_ids(wanted), wanted, found);
    if (!walked) co_return std::unexpected(walked.error());
    if (found.next) co_return found;
  }
  auto walked = co_await walk(among_all(wanted), wanted, found);
  if (!walked) co_return std::unexpected(walked.error());
  co_return found;
}

KeySearch::Walk KeySearch::among_ids(const Search& wanted) const {
  Walk way;
  way.prefix = *wanted.text;
  way.after = wanted.from ? wanted.from->after : just_before(way.prefix);
  way.matches = [filter = wanted.filter](const Record& record, Time now) {
    return filter.matches(record, now);
  };
  way.among_ids = true;
  return way;
}

// Leaves out what among_ids() lists.
KeySearch::Walk KeySearch::among_all(const Search& wanted) const {
  Walk way;
  way.prefix = wanted.filter.record.value_or("");
  if (!way.prefix.empty()) way.after = just_before(way.prefix);
  if (wanted.from && !wanted.from->among_ids) way.after = wanted.from->after;
  if (!wanted.text) {
    way.matches = [filter = wanted.filter](const Record& record, Time now) {
      return filter.matches(record, now);
    };
    return way;
  }
  way.matches = [filter = wanted.filter, text = *wanted.text,
                 digests = digests_of(*wanted.text, process_.settings().key_material.hash_keys)](
                    const Record& record, Time now) {
    const bool is_meant =
        record.tenant == text || record.resource_id == text || has_key(record, text, digests);
    const bool is_listed = is_id_prefix(text) && begins_with(record.id, text);
    return is_meant && !is_listed && filter.matches(record, now);
  };
  return way;
}

awaitable<StoreResult<void>> KeySearch::walk(Walk way, const Search& wanted, Found& found) {
  auto executor = co_await asio::this_coro::executor;
  std::optional<RecordId> after = way.after;
  std::size_t examined = 0;
  while (examined < kExaminedMax) {
    auto page = co_await services_.store.scan(after, kPageRecords);
    if (!page) co_return std::unexpected(page.error());
    const Time now = services_.clock.now();
    for (const RecordPtr& record : page->records) {
      if (!begins_with(record->id, way.prefix)) co_return StoreResult<void>{};
      ++examined;
      ++found.examined;
      after = record->id;
      if (wanted.only && !wanted.only(*record)) continue;
      if (!way.matches(*record, now)) continue;
      found.records.push_back(without_bodies(*record, wanted));
      if (found.records.size() < wanted.limit) continue;
      found.next = Cursor{*after, way.among_ids};
      co_return StoreResult<void>{};
    }
    if (!page->next) co_return StoreResult<void>{};
    after = page->next;
    co_await asio::post(executor, asio::use_awaitable);  // give others a turn
  }
  found.next = Cursor{*after, way.among_ids};
  co_return StoreResult<void>{};
}

// Reads the record directly, since its id is made of these. Null: it is not there under exactly
// this operation, which includes the path if the path is the scope.
awaitable<StoreResult<RecordPtr>> KeySearch::by_key(KeyFilter filter) {
  const Scope scope{process_.config().name_space, *filter.tenant, *filter.operation};
  auto record = co_await services_.store.read(make_id(scope, *filter.key));
  if (record && *record && !filter.matches(**record, services_.clock.now())) record->reset();
  co_return record;
}

awaitable<std::expected<RecordPtr, Answer>> KeySearch::find(std::string id) {
  if (id.size() < kIdDigitsOfOneMin || !is_id_prefix(id)) {
    co_return std::unexpected(problem_answer(
        400, "bad-id",
        "Send a record's id: 64 lower-case hexadecimal digits, or its first 8 or more."));
  }
  auto page = co_await services_.store.scan(just_before(id), 2);
  if (!page) co_return std::unexpected(store_unavailable(page.error()));
  std::erase_if(page->records,
                [&](const RecordPtr& record) { return !begins_with(record->id, id); });
  if (page->records.empty()) {
    co_return std::unexpected(problem_answer(404, "no-such-key", "There is no such record."));
  }
  if (page->records.size() > 1) {
    co_return std::unexpected(problem_answer(
        409, "ambiguous-id", "Several records begin with these digits. Send more of the id."));
  }
  co_return std::move(page->records.front());
}

}  // namespace semel::admin
