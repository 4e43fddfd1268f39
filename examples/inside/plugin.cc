#include <semel/semel.h>

// Calls `effect` once per key, and returns the verdict as a number (semel::Verdict); -1: the store
// cannot be opened. An effect that returns something else than 0 has not happened.
extern "C" int once_with_key(const char* store, const char* key, int (*effect)()) {
  try {
    auto engine = semel::open(store);
    const auto result = engine.once({"plugin"}, {key}, [&] {
      if (effect() != 0) throw semel::Retry("it has not happened");
    });
    return static_cast<int>(result.verdict());
  } catch (const semel::Error&) {
    return -1;
  }
}
