#include "admin/backup_api.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <expected>
#include <string>
#include <utility>

#include "admin/admin_answer.h"
#include "http/message.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kBackupBodyBytesMax = 16 * 1024;
constexpr std::size_t kFolderLengthMax = 4096;

bool is_json_body(const http::Request& request) {
  const std::string_view type = request.field("Content-Type").value_or("");
  return http::iequals(type.substr(0, type.find(';')), "application/json");
}

// Returns the folder that the body names. The error is a sentence.
std::expected<std::string, std::string> parse_folder(const std::string& body) {
  boost::system::error_code error;
  const json::value parsed = json::parse(body, error);
  const json::object* members = error ? nullptr : parsed.if_object();
  const json::value* to = members ? members->if_contains("to") : nullptr;
  if (!to || !to->is_string() || members->size() != 1) {
    return std::unexpected("Send {\"to\": \"/a/new/folder\"}, and nothing else.");
  }
  std::string path(to->get_string());
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!path.starts_with('/') || path.size() > kFolderLengthMax ||
      std::ranges::any_of(path, is_control)) {
    return std::unexpected(
        "to: must be the absolute path of a folder that does not exist, on the gateway's machine.");
  }
  return path;
}

}  // namespace

boost::asio::awaitable<Answer> back_up(server::Process& process, const AdminAccess& access,
                                       server::ApiRequest& asked) {
  auto who = access.operator_of(asked.message());
  if (!who) co_return std::move(who.error());
  if (!is_json_body(asked.message())) {
    co_return problem_answer(415, "not-json", "Send the request as application/json.");
  }
  const auto body = co_await asked.read_body(kBackupBodyBytesMax);
  if (!body) {
    co_return problem_answer(413, "body-too-large",
                             "The body is incomplete or larger than 16 KiB.");
  }
  const auto to = parse_folder(*body);
  if (!to) co_return problem_answer(400, "bad-backup", to.error());
  asked.take_time();
  const auto made = co_await process.services().store.backup(*to);
  telemetry::log_event(config::LogLevel::warn, "operator",
                       {{"did", "backup"},
                        {"to", *to},
                        {"who", *who},
                        {"result", made ? "done" : "failed"},
                        {"why", made ? std::string_view() : std::string_view(made.error())}});
  if (!made) co_return problem_answer(409, "no-backup", made.error());
  co_return json_answer(200, {{"to", *to}, {"files", made->files}, {"bytes", made->bytes}});
}

}  // namespace semel::admin
