#include "admin/backup_api.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <expected>
#include <string>
#include <utility>

#include "admin/admin_answer.h"
#include "admin/json_body.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kBackupBodyBytesMax = 16 * 1024;
constexpr std::size_t kFolderLengthMax = 4096;

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
  auto body = co_await read_json(asked, kBackupBodyBytesMax);
  if (!body) co_return std::move(body.error());
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
