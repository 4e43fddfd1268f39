#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "semel/driver/store.h"

// Runs the promises of semel::Store against a store of your own (docs/stores.md):
//
//   class MyHarness final : public semel::conformance::StoreHarness { … };
//
//   int main(int argc, char** argv) {
//     return semel::conformance::run_store_suite(
//         argc, argv, {{"mine", [] { return std::make_unique<MyHarness>(); }}});
//   }
namespace semel::conformance {

// A store under test, with all that belongs to it: its files, its tables, its server. Each test
// makes a harness of its own, and expects the store in it to be open and empty.
class StoreHarness {
 public:
  virtual ~StoreHarness() = default;
  // Returns the open store. It may be another one after reopen() and kill().
  virtual Store& store() = 0;
  // Closes the store and opens it again, as a restart does.
  virtual void reopen() = 0;
  // Opens the store as the next process finds it if this one is killed now: nothing that the store
  // does while it is closed may help it. For example, copy the files while the store is open, and
  // open the copy. Called only if the store says that it is durable.
  virtual void kill() { reopen(); }
};

// How a store differs from others, beyond what its features() say.
struct StoreDifferences {
  // It encrypts records itself, and so does not keep Record::sealed as it was given.
  bool seals = false;
};

struct StoreUnderTest {
  std::string name;  // letters, digits and underscores
  std::function<std::unique_ptr<StoreHarness>()> make;
  StoreDifferences differences = {};
};

// Runs every test against every store, and prints the promises that were broken. Takes the options
// of GoogleTest. Returns 0 if all promises were kept, 1 if one was broken, 2 if there was nothing
// to run. Call it once.
int run_store_suite(int argc, char** argv, std::vector<StoreUnderTest> stores);

// Adds a store to the suite in a program that has a main() of its own. Call it before
// testing::InitGoogleTest().
void add_store(StoreUnderTest store);

}  // namespace semel::conformance
