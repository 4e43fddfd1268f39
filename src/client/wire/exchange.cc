#include "client/wire/exchange.h"

#include <array>

#include "client/wire/answer_reader.h"

namespace semel::client {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kJoinedBodyMax = 16 * 1024;  // sent in one piece with the head

// A server that never pauses must not outlast the limits.
std::optional<Failure> passed(const Limits& limits) {
  if (limits.stop && limits.stop->requested()) return Failure{Failure::Kind::stopped, "stopped"};
  if (std::chrono::steady_clock::now() < limits.until) return std::nullopt;
  return Failure{Failure::Kind::timeout, "the answer took too long"};
}

std::optional<Failure> send_all(Stream& stream, std::string_view bytes, const Limits& limits,
                                bool& sent) {
  while (!bytes.empty()) {
    if (auto failure = passed(limits)) return failure;
    const auto written = stream.write(bytes, limits);
    if (!written) return written.error();
    sent = true;
    bytes.remove_prefix(*written);
  }
  return std::nullopt;
}

std::optional<Failure> send_request(Stream& stream, const Exchange& request, const Limits& limits,
                                    bool& sent) {
  if (request.body.size() <= kJoinedBodyMax) {
    return send_all(stream, request.head + request.body, limits, sent);
  }
  if (auto failure = send_all(stream, request.head, limits, sent)) return failure;
  return send_all(stream, request.body, limits, sent);
}

std::optional<Failure> read_answer(Stream& stream, AnswerReader& reader, const Limits& limits) {
  std::array<char, kReadBytes> buffer;
  while (!reader.done()) {
    if (auto failure = passed(limits)) return failure;
    const auto got = stream.read(buffer.data(), buffer.size(), limits);
    if (!got) return got.error();
    if (*got == 0) return reader.end();
    if (auto failure = reader.put({buffer.data(), *got})) return failure;
  }
  return std::nullopt;
}

Tried attempt(Connections& connections, const Exchange& request, const Limits& limits) {
  Tried tried{.result = std::unexpected(Failure{})};
  auto taken = connections.take(request.fresh_connection, limits);
  if (!taken) {
    tried.result = std::unexpected(taken.error());
    return tried;
  }
  AnswerReader reader(request.is_head, request.answer_bytes_max);
  const auto unsent = send_request(*taken->stream, request, limits, tried.sent);
  std::optional<Failure> failure = unsent;
  // A server may answer, and close, before it has taken the whole body.
  if (!unsent || (unsent->kind == Failure::Kind::broken && tried.sent)) {
    failure = read_answer(*taken->stream, reader, limits);
  }
  tried.was_idle = taken->was_idle && !reader.begun();
  if (!reader.done()) {
    tried.result = std::unexpected(unsent ? *unsent : *failure);
    return tried;
  }
  if (reader.reusable() && !unsent) connections.give_back(std::move(taken->stream));
  tried.result = reader.take();
  return tried;
}

}  // namespace

Tried exchange(Connections& connections, const Exchange& request, const Limits& limits) {
  const auto begun = std::chrono::steady_clock::now();
  Tried tried = attempt(connections, request, limits);
  tried.took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
  return tried;
}

}  // namespace semel::client
