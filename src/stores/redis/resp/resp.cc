#include "stores/redis/resp/resp.h"

#include <hiredis/hiredis.h>

#include <charconv>
#include <new>
#include <utility>
#include <vector>

namespace semel::stores::resp {

std::string resp_command(std::span<const std::string_view> arguments) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const std::string_view argument : arguments) {
    starts.push_back(argument.data());
    sizes.push_back(argument.size());
  }
  char* formatted = nullptr;
  const int size = redisFormatCommandArgv(&formatted, static_cast<int>(arguments.size()),
                                          starts.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  std::string wire(formatted, static_cast<std::size_t>(size));
  redisFreeCommand(formatted);
  return wire;
}

std::string resp_command(std::initializer_list<std::string_view> arguments) {
  return resp_command(std::span(arguments.begin(), arguments.size()));
}

RespReply::RespReply(redisReply* owned) : whole_(owned, freeReplyObject), part_(owned) {}

RespReply::RespReply(std::shared_ptr<redisReply> whole, const redisReply* part)
    : whole_(std::move(whole)), part_(part) {}

bool RespReply::is_error() const {
  return part_ && part_->type == REDIS_REPLY_ERROR;
}

bool RespReply::is_nil() const {
  return !part_ || part_->type == REDIS_REPLY_NIL;
}

std::string_view RespReply::text() const {
  if (!part_) return {};
  switch (part_->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      return {part_->str, part_->len};
    default:
      return {};
  }
}

std::optional<long long> RespReply::number() const {
  if (!part_) return std::nullopt;
  if (part_->type == REDIS_REPLY_INTEGER) return part_->integer;
  const std::string_view digits = text();
  long long value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || digits.empty() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

std::size_t RespReply::size() const {
  return part_ && part_->type == REDIS_REPLY_ARRAY ? part_->elements : 0;
}

RespReply RespReply::at(std::size_t index) const {
  return {whole_, index < size() ? part_->element[index] : nullptr};
}

void RespReader::Free::operator()(redisReader* reader) const {
  redisReaderFree(reader);
}

RespReader::RespReader() : reader_(redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
}

void RespReader::feed(std::string_view bytes) {
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

std::expected<std::optional<RespReply>, std::string> RespReader::next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
    return std::unexpected(std::string(reader_->errstr));
  }
  if (!reply) return std::nullopt;
  return RespReply(static_cast<redisReply*>(reply));
}

}  // namespace semel::stores::resp
