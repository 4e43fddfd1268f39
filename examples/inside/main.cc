#include <semel/semel.h>

#include <chrono>
#include <cstdio>
#include <fstream>

// Stands for the work: returns how many accounts were closed.
static int close_the_books(const std::string& key) {
  std::ofstream("ledger", std::ios::app) << key << '\n';
  return 12;
}

// close_the_books STORE DAY
int main(int count, char** given) {
  if (count != 3) return 2;
  auto engine = semel::open(given[1]);
  semel::Operation close{"close-the-books"};
  close.ttl = std::chrono::hours(72);
  close.max_execution = std::chrono::hours(6);

  const auto run = engine.once(close, {given[2]}, [](const semel::Claim& claim) {
    return close_the_books(claim.derive("ledger"));
  });

  switch (run.verdict()) {
    case semel::Verdict::executed:
      std::printf("closed %d accounts\n", *run);
      return 0;
    case semel::Verdict::replayed:
      std::printf("were closed before: %d accounts\n", *run);
      return 0;
    case semel::Verdict::unknown:
      std::printf("the last run may have happened or not: %s\n", run.why().c_str());
      return 70;
    default:
      std::printf("not now: %s\n", run.why().c_str());
      return 75;  // cron tries again
  }
}
