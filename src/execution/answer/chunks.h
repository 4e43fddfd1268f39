#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "execution/answer/reply.h"
#include "semel/driver/store.h"

// Stores a body that is too large for its record in chunks beside the record, and sends it back.
namespace semel::execution {

// Keeps an answer's body while it streams: in memory up to max_stored_body, beyond that in chunks
// of the store up to max_spilled_body. If the body is longer still, or the store cannot keep it,
// nothing is kept: the body is omitted, never cut. Uses no more memory than max_stored_body and one
// chunk.
class AnswerKeeper {
 public:
  // Writes no chunk if `may_spill` is false (the answer is not going to be stored) or if the
  // announced length exceeds max_spilled_body.
  AnswerKeeper(Store& store, Clock& clock, const config::RouteConfig& route, const Record& claim,
               bool may_spill, std::optional<std::uint64_t> announced_bytes);

  boost::asio::awaitable<void> keep(std::string_view piece);
  // Call it when the body is whole. Afterwards everything that `answer` refers to is durable.
  boost::asio::awaitable<void> finish(Answer& answer);
  // Call it when no record is going to refer to what was kept: drops the chunks.
  boost::asio::awaitable<void> discard();

 private:
  boost::asio::awaitable<StoreResult<void>> put_chunk(std::uint32_t index, std::string bytes);
  boost::asio::awaitable<void> spill(bool all);
  boost::asio::awaitable<void> give_up();

  Store& store_;
  Clock& clock_;
  const std::uint64_t stored_bytes_max_;
  const std::uint64_t spilled_bytes_max_;
  const RecordId id_;
  const Token token_;
  BodyNote note_ = BodyNote::kept;
  std::string held_;  // the body, or the part of it that is not in a chunk yet
  std::uint64_t bytes_ = 0;
  std::uint32_t chunks_ = 0;
};

// Answers with the spilled body of `record`. If the first chunk cannot be read, sends nothing and
// returns an error for the log; if a later one cannot, cuts the connection.
boost::asio::awaitable<StoreResult<void>> send_spilled(ClientRequest& request, const Record& record,
                                                       const std::vector<Header>& extra);

}  // namespace semel::execution
