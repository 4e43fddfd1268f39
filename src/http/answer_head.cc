#include "http/answer_head.h"

namespace semel::http {
namespace {

constexpr std::size_t kHeadBytesMax = 64 * 1024;

}  // namespace

boost::asio::awaitable<IoResult<void>> read_answer_head(Connection& connection,
                                                        std::optional<Response>& response,
                                                        AnswersBody body) {
  for (;;) {
    response.emplace();
    if (body == AnswersBody::no) response->skip(true);
    std::string why;
    auto head = co_await connection.read_head(*response, kHeadBytesMax, why);
    if (!head || response->status() >= 200) co_return head;
    if (response->status() == 101) co_return std::unexpected(IoError::malformed);
  }
}

std::string describe_missing_answer(IoError error) {
  switch (error) {
    case IoError::closed:
    case IoError::truncated:
      return "the connection ended before the whole answer";
    case IoError::timeout:
      return "no answer in time";
    case IoError::malformed:
      return "the answer is not HTTP";
    case IoError::too_large:
      return "the answer's head is too large";
  }
  return "no answer";
}

}  // namespace semel::http
