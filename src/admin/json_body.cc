#include "admin/json_body.h"

#include <utility>

#include "admin/admin_answer.h"
#include "http/message.h"

namespace semel::admin {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

bool is_json(const http::Request& request) {
  const std::string_view type = request.field("Content-Type").value_or("");
  return http::iequals(type.substr(0, type.find(';')), "application/json");
}

std::string size_text(std::size_t bytes) {
  return bytes >= kMiB ? std::to_string(bytes / kMiB) + " MiB"
                       : std::to_string(bytes / kKiB) + " KiB";
}

}  // namespace

boost::asio::awaitable<std::expected<std::string, Answer>> read_json(server::ApiRequest& asked,
                                                                     std::size_t bytes_max) {
  if (!is_json(asked.message())) {
    co_return std::unexpected(
        problem_answer(415, "not-json", "Send the body as application/json."));
  }
  auto body = co_await asked.read_body(bytes_max);
  if (!body) {
    co_return std::unexpected(
        problem_answer(413, "body-too-large",
                       "The body is incomplete or larger than " + size_text(bytes_max) + "."));
  }
  co_return *std::move(body);
}

}  // namespace semel::admin
