#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/record_bytes.h"
#include "postgres/values.h"
#include "semel/record.h"
#include "semel/store.h"

// Records as rows of semel.records and semel.answers (docs/formats.md). What SQL decides by is in
// columns; the rest is the record's encoding without them.
namespace semel {

// What semel.swap_item and semel.answer_item are in a database.
struct PgItemTypes {
  Oid swap_item = 0;
  Oid answer_item = 0;
};

// A swap, ready to be sent.
struct PgSwap {
  RecordId id;
  Version expected = 0;
  bool removes = false;
  std::optional<std::int32_t> answer_day;  // its answer goes into this day of semel.answers
  std::string item;                        // as a semel.swap_item
  std::string answer;                      // as a semel.answer_item, where it has a day
  std::size_t bytes() const { return item.size() + answer.size(); }
};
// `next` null: a removal.
PgSwap to_swap(const RecordId& id, Version expected, const Record* next);

// The parameters of semel.swap_batch(). The items are numbered by their order.
std::vector<PgValue> swap_parameters(const std::vector<PgSwap*>& swaps, const PgItemTypes& types,
                                     std::int64_t bytes_max);

PgValue ids_parameter(const std::vector<RecordId>& ids);

// Reads a semel.whole_record, whose columns begin at `column`. `now` is the server's time: an
// answer whose day was dropped is only missed by a record that has not expired. The record is the
// caller's own.
StoreResult<std::shared_ptr<Record>> to_record(const PgRows& rows, int row, int column, Time now);

// What semel.read_page() counts of it.
std::int64_t content_bytes(const PgRows& rows, int row, int column);

RecordId to_id(std::string_view bytes);
Token to_token(std::string_view bytes);

}  // namespace semel
