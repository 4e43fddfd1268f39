#include "config/printing/outcomes.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace semel::config::printing {
namespace {

constexpr int kClassFirst = 1;
constexpr int kClassLast = 5;
constexpr int kStatusesPerClass = 100;

using EntriesByKind = std::map<OutcomeKind, std::vector<std::string>>;

// Compares first and later attempts: the rules for 409 and 423 depend on it.
bool agree_on(const OutcomeRules& a, const OutcomeRules& b, int status) {
  return a.classify(status, 1, "") == b.classify(status, 1, "") &&
         a.classify(status, 2, "") == b.classify(status, 2, "");
}

bool agree_on_class(const OutcomeRules& a, const OutcomeRules& b, int status_class) {
  for (int status = status_class * kStatusesPerClass;
       status < (status_class + 1) * kStatusesPerClass; ++status) {
    if (!agree_on(a, b, status)) return false;
  }
  return true;
}

bool agree(const OutcomeRules& a, const OutcomeRules& b) {
  for (int status_class = kClassFirst; status_class <= kClassLast; ++status_class) {
    if (!agree_on_class(a, b, status_class)) return false;
  }
  return true;
}

using Entries = std::vector<std::pair<OutcomeKind, std::string>>;

// Returns the entries that make the standard into `rules` within one class of statuses; the class
// itself is listed as `whole`, if that is given. nullopt: it cannot be said so.
std::optional<Entries> entries_with(const OutcomeRules& rules, int status_class,
                                    std::optional<OutcomeKind> whole) {
  Entries entries;
  OutcomeRules made = OutcomeRules::standard();
  const auto add = [&](OutcomeKind kind, const std::string& entry) {
    (void)made.set(kind, {entry});  // cannot fail: the entry is a status or a class
    entries.emplace_back(kind, entry);
  };
  if (whole) add(*whole, std::to_string(status_class) + "xx");
  for (int status = status_class * kStatusesPerClass;
       status < (status_class + 1) * kStatusesPerClass; ++status) {
    if (!agree_on(made, rules, status)) {
      add(rules.classify(status, 1, ""), std::to_string(status));
    }
  }
  if (!agree_on_class(made, rules, status_class)) return std::nullopt;
  return entries;
}

Entries shortest_entries(const OutcomeRules& rules, int status_class) {
  std::optional<Entries> best = entries_with(rules, status_class, std::nullopt);
  for (const OutcomeKind whole : {OutcomeKind::final, OutcomeKind::retry, OutcomeKind::unknown}) {
    std::optional<Entries> entries = entries_with(rules, status_class, whole);
    if (entries && (!best || entries->size() < best->size())) best = std::move(entries);
  }
  return best.value_or(Entries{});
}

}  // namespace

void print_outcomes(Yaml& out, const OutcomeRules& rules) {
  if (agree(rules, OutcomeRules::standard())) return out.text("outcomes", "standard");
  if (agree(rules, OutcomeRules::cautious())) return out.text("outcomes", "cautious");
  EntriesByKind by_kind;
  for (int status_class = kClassFirst; status_class <= kClassLast; ++status_class) {
    for (auto& [kind, entry] : shortest_entries(rules, status_class)) {
      by_kind[kind].push_back(std::move(entry));
    }
  }
  out.mapping("outcomes", [&] {
    out.texts("final", by_kind[OutcomeKind::final]);
    out.texts("retry", by_kind[OutcomeKind::retry]);
    out.texts("unknown", by_kind[OutcomeKind::unknown]);
  });
}

}  // namespace semel::config::printing
