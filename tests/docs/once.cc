// Around the snippets of docs/once.md: each is put in place of the line that names it.
#include <semel/semel.h>

#include <functional>

namespace {

enum class Paid { done, declined, busy };
Paid bank_charge(const std::string&, const std::string&) {
  return Paid::done;
}
int next_id() {
  return 7;
}
void show(int, bool) {}
void show_failure(const std::string&) {}
void try_later(const std::string&) {}
void refuse(semel::Verdict, const std::string&) {}
template <class Done>
void start_machine(const std::string&, Done done) {
  done(true);
}

}  // namespace

// snippet: types

// snippet: halves
