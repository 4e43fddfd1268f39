#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "core/record_bytes.h"
#include "postgres/values.h"
#include "semel/driver/record.h"
#include "semel/driver/store.h"

// Records as rows of semel.records and semel.answers (docs/formats.md). Values that SQL decides by
// are in columns; `rest` is the record's encoding without them.
namespace semel::stores {

// The type ids of semel.swap_item and semel.answer_item in a database.
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
  std::string answer;                      // as a semel.answer_item, if it has a day
  std::size_t bytes() const { return item.size() + answer.size(); }
};
// `next` null: a removal.
PgSwap to_swap(const RecordId& id, Version expected, const Record* next);

// Returns the parameters of semel.swap_batch(). The items are numbered by their order.
std::vector<postgres::PgValue> swap_parameters(const std::vector<PgSwap*>& swaps,
                                               const PgItemTypes& types, std::int64_t bytes_max);

postgres::PgValue ids_parameter(const std::vector<RecordId>& ids);

// Reads a semel.whole_record, whose columns begin at `column`. `now` is the server's time: an
// answer whose day was dropped is an error only if the record has not expired. The record belongs
// to the caller.
StoreResult<std::shared_ptr<Record>> to_record(const postgres::PgRows& rows, int row, int column,
                                               Time now);

// Returns the size of a row's record as semel.read_page() counts it.
std::int64_t content_bytes(const postgres::PgRows& rows, int row, int column);

RecordId to_id(std::string_view bytes);
Token to_token(std::string_view bytes);

}  // namespace semel::stores
