#include "admin/timeline.h"

#include <array>
#include <boost/json/object.hpp>
#include <string_view>

#include "admin/admin_answer.h"
#include "base/utf8.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

struct Told {
  std::string_view what;
  std::string_view who = {};
  std::string_view why = {};
};

constexpr std::string_view kBy = " by ";
constexpr std::string_view kAlthough = ", although it may still run";

// The notes that core/transition.cc writes beside reasons: how they begin, and what they tell. The
// rest of the note, after a colon, is the reason.
struct KnownNote {
  std::string_view begin;
  std::string_view what;
};
constexpr std::array kNotes = {
    KnownNote{"claimed again after release", "claimed again"},
    KnownNote{"claimed again: ", "claimed again"},
    KnownNote{"claimed as new: ", "claimed as new"},
    KnownNote{"claimed after expiry", "claimed"},
    KnownNote{"claimed", "claimed"},
    KnownNote{"taken from the queue", "started"},
    KnownNote{"answer began", "answer began"},
    KnownNote{"queued again: ", "queued again"},
    KnownNote{"queued", "queued"},
    KnownNote{"put off: ", "put off"},
    KnownNote{"expired", "expired"},
};
constexpr std::array<std::string_view, 6> kDecisions = {"completed", "released", "forgotten",
                                                        "extended",  "retried",  "dropped"};

// "released by alice: checked the ledger"
bool tells_decision(std::string_view note, Told& told) {
  for (const std::string_view did : kDecisions) {
    if (!note.starts_with(did) || !note.substr(did.size()).starts_with(kBy)) continue;
    const std::string_view rest = note.substr(did.size() + kBy.size());
    const std::size_t colon = rest.find(": ");
    if (colon == std::string_view::npos) return false;
    std::string_view who = rest.substr(0, colon);
    if (who.ends_with(kAlthough)) who.remove_suffix(kAlthough.size());
    told = {.what = did, .who = who, .why = rest.substr(colon + 2)};
    return true;
  }
  return false;
}

std::string_view end_of_attempt(RecordState state) {
  return state == RecordState::unknown ? "outcome unknown" : to_string(state);
}

Told tell(const HistoryEntry& entry) {
  const std::string_view note = entry.note;
  Told told;
  if (tells_decision(note, told)) return told;
  const bool ends = entry.to == RecordState::completed || entry.to == RecordState::released ||
                    entry.to == RecordState::unknown;
  for (const KnownNote& known : kNotes) {
    if (ends && known.what != "put off") continue;
    if (note == known.begin) return {.what = known.what};
    if (known.begin.ends_with(' ') && note.starts_with(known.begin)) {
      return {.what = known.what, .who = {}, .why = note.substr(known.begin.size())};
    }
  }
  return {.what = end_of_attempt(entry.to), .who = {}, .why = note};
}

}  // namespace

json::array timeline_of(const Record& record) {
  json::array out;
  for (const HistoryEntry& entry : record.history) {
    const Told told = tell(entry);
    // The trace is that of the first execution.
    const bool is_first = out.empty() && entry.at == record.created_at;
    out.push_back({{"at", time_json(entry.at)},
                   {"what", told.what},
                   {"state", to_string(entry.to)},
                   {"attempt", entry.attempt},
                   {"who", text_or_null(told.who)},
                   {"why", text_or_null(told.why)},
                   {"trace", text_or_null(is_first ? std::string_view(record.trace) : "")}});
  }
  return out;
}

}  // namespace semel::admin
