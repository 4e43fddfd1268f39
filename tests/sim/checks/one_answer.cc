#include <fmt/format.h>

#include <map>

#include "sim/checks/checks.h"

namespace semel::sim {

void check_one_answer(const Lab& lab, Violations& violations) {
  std::map<std::pair<RecordId, int>, const Answered*> first_in_life;
  for (const Answered& given : lab.answers) {
    const Written* source = lab.history.find(given.id, given.version);
    if (!source) continue;  // not durable: another check's business
    const std::string& key = source->record->key;
    if (source->record->fingerprint.digest[0] != given.payload) {
      violations.push_back(
          fmt::format("{}: a {} answered another request's payload", key, given.how));
    }
    const auto [at, is_first] = first_in_life.try_emplace({given.id, source->life}, &given);
    if (!is_first && given.answer != at->second->answer) {
      violations.push_back(fmt::format("{}: a {} got \"{}\" after a {} had got \"{}\"", key,
                                       given.how, given.answer.body, at->second->how,
                                       at->second->answer.body));
    }
  }
}

}  // namespace semel::sim
