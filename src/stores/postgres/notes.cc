#include "stores/postgres/notes.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace semel::stores {
namespace {

// Removes the number that `text` begins with and the space after it, and returns the number.
std::optional<std::int64_t> take_number(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + space, number);
  if (trouble != std::errc{} || end != text.data() + space) return std::nullopt;
  text.remove_prefix(space + 1);
  return number;
}

HistoryEntry read_line(const Record& record, std::string_view line) {
  std::string_view left = line;
  const auto at = take_number(left);
  const auto state = at ? take_number(left) : std::nullopt;
  const auto attempt = state ? take_number(left) : std::nullopt;
  if (!attempt || *state < static_cast<int>(RecordState::queued) ||
      *state > static_cast<int>(RecordState::tombstone)) {
    return {record.updated_at, record.state, record.attempt, std::string(line)};
  }
  return {Time(Duration(*at)), static_cast<RecordState>(*state),
          static_cast<std::uint32_t>(*attempt), std::string(left)};
}

}  // namespace

void take_notes(Record& record, std::string_view noted) {
  bool claimed_or_ended = false;
  while (!noted.empty()) {
    const std::size_t end = std::min(noted.find('\n'), noted.size());
    HistoryEntry entry = read_line(record, noted.substr(0, end));
    noted.remove_prefix(std::min(end + 1, noted.size()));
    const bool is_claim = entry.to == RecordState::in_progress;
    record.reason = is_claim ? "" : entry.note;
    record.reason_code = is_claim ? ReasonCode::none : ReasonCode::other;
    claimed_or_ended = claimed_or_ended || entry.to != RecordState::unknown;
    if (record.history.size() == kHistoryEntriesMax) record.history.erase(record.history.begin());
    record.history.push_back(std::move(entry));
  }
  if (claimed_or_ended) {
    record.request.clear();
    record.status_begun = 0;
  }
}

}  // namespace semel::stores
