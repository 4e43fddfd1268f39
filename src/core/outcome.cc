// If a status is wrongly called final, a temporary failure is replayed until the ttl ends. If one
// is wrongly called retry, the effect can happen twice. Where nobody knows, the outcome is unknown.
#include "semel/driver/outcome_rules.h"

#include <algorithm>
#include <optional>

namespace semel {
namespace {

constexpr int kStatusMin = 100;
constexpr int kStatusMax = 599;

OutcomeKind standard_kind(int status) {
  switch (status) {
    case 303:
      return OutcomeKind::final;
    case 401:
    case 403:
    case 407:
    case 408:
    case 425:
    case 429:
      return OutcomeKind::retry;
    case 502:
    case 504:
      return OutcomeKind::unknown;
    default:
      break;
  }
  switch (status / 100) {
    case 2:
    case 4:
      return OutcomeKind::final;
    case 3:
    case 5:
      return OutcomeKind::retry;
    default:
      return OutcomeKind::unknown;  // an interim status is no answer
  }
}

// Returns true for statuses with which a deduplicating executor answers a second attempt at work
// that it has already done.
bool may_mean_done_before(int status) {
  return status == 409 || status == 423;
}

struct StatusRange {
  int first;
  int last;
};

std::optional<StatusRange> parse_statuses(std::string_view entry) {
  const auto digit = [&](std::size_t i) { return entry[i] >= '0' && entry[i] <= '9'; };
  if (entry.size() != 3 || entry[0] < '1' || entry[0] > '5') return {};
  const int hundreds = (entry[0] - '0') * 100;
  if (entry.substr(1) == "xx" || entry.substr(1) == "XX")
    return StatusRange{hundreds, hundreds + 99};
  if (!digit(1) || !digit(2)) return {};
  const int status = hundreds + (entry[1] - '0') * 10 + (entry[2] - '0');
  return StatusRange{status, status};
}

std::optional<OutcomeKind> parse_word(std::string_view said) {
  const std::size_t first = said.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  said = said.substr(first, said.find_last_not_of(" \t") - first + 1);
  for (OutcomeKind kind : {OutcomeKind::final, OutcomeKind::retry, OutcomeKind::unknown}) {
    const auto same_letter = [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    };
    if (std::ranges::equal(said, to_string(kind), same_letter)) return kind;
  }
  return {};
}

}  // namespace

std::string_view to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::final:
      return "final";
    case OutcomeKind::retry:
      return "retry";
    case OutcomeKind::unknown:
      return "unknown";
  }
  return "unknown";
}

OutcomeRules OutcomeRules::standard() {
  OutcomeRules rules;
  for (int status = 0; status <= kStatusMax; ++status) {
    rules.by_status_[status] = standard_kind(status);
  }
  return rules;
}

OutcomeRules OutcomeRules::cautious() {
  OutcomeRules rules = standard();
  for (int status = 500; status <= kStatusMax; ++status) {
    rules.by_status_[status] = status == 503 ? OutcomeKind::retry : OutcomeKind::unknown;
  }
  return rules;
}

std::expected<void, std::string> OutcomeRules::set(OutcomeKind kind,
                                                   const std::vector<std::string>& statuses) {
  OutcomeRules next = *this;
  for (const std::string& entry : statuses) {
    const std::optional<StatusRange> range = parse_statuses(entry);
    if (!range) {
      return std::unexpected('"' + entry +
                             "\" is neither a status (100 to 599) nor a class (1xx to 5xx)");
    }
    const Listed how = range->first == range->last ? Listed::by_status : Listed::by_class;
    for (int status = range->first; status <= range->last; ++status) {
      if (next.listed_[status] > how) continue;
      if (next.listed_[status] == how && next.by_status_[status] != kind) {
        return std::unexpected('"' + entry + "\" is listed as " +
                               std::string(to_string(next.by_status_[status])) + " and as " +
                               std::string(to_string(kind)));
      }
      next.by_status_[status] = kind;
      next.listed_[status] = how;
    }
  }
  *this = next;
  return {};
}

OutcomeKind OutcomeRules::classify(int status, std::uint32_t attempt, std::string_view said) const {
  if (const std::optional<OutcomeKind> word = parse_word(said)) return *word;
  if (status < kStatusMin || status > kStatusMax) return OutcomeKind::unknown;
  if (attempt > 1 && may_mean_done_before(status) && listed_[status] == Listed::no) {
    return OutcomeKind::retry;
  }
  return by_status_[status];
}

}  // namespace semel
