#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "execution/answer/reply.h"
#include "semel/store.h"

// How a body that is too large for its record goes into chunks beside it, and comes back.
namespace semel {

// Keeps an answer's body while it streams: in memory up to max_stored_body, from then on in chunks
// of the store up to max_spilled_body. Beyond that, or where the store cannot, nothing is kept: it
// is omitted, never cut. Memory is bounded by max_stored_body and one chunk.
class AnswerKeeper {
 public:
  // With `may_spill` false (the answer is not going to be stored) no chunk is written, nor where
  // its announced length is beyond max_spilled_body.
  AnswerKeeper(Store& store, Clock& clock, const RouteConfig& route, const Record& claim,
               bool may_spill, std::optional<std::uint64_t> announced_bytes);

  boost::asio::awaitable<void> keep(std::string_view piece);
  // The body is whole. Afterwards what `answer` refers to is durable.
  boost::asio::awaitable<void> finish(Answer& answer);
  // No record is going to refer to what was kept.
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
  std::string held_;  // the body, or what of it is not in a chunk yet
  std::uint64_t bytes_ = 0;
  std::uint32_t chunks_ = 0;
};

// Answers with the spilled body of `record`. If the first chunk cannot be read nothing is sent and
// the error is for the log; if a later one cannot, the connection is cut.
boost::asio::awaitable<StoreResult<void>> send_spilled(ClientRequest& request, const Record& record,
                                                       const std::vector<Header>& extra);

}  // namespace semel
