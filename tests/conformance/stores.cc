#include "stores.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "store_suite.h"

namespace semel::conformance {
namespace {

std::vector<StoreUnderTest>& stores() {
  static std::vector<StoreUnderTest> all;
  return all;
}

struct BrokenPromise {
  std::string test;
  std::string promise;
};

// By the name of the store.
std::map<std::string, std::vector<BrokenPromise>>& broken_promises() {
  static std::map<std::string, std::vector<BrokenPromise>> all;
  return all;
}

void print_broken_promises() {
  for (const auto& [store, promises] : broken_promises()) {
    std::printf("\n%s breaks %zu of the promises of semel::Store:\n", store.c_str(),
                promises.size());
    for (const BrokenPromise& broken : promises) {
      std::printf("- %s (%s)\n", broken.promise.c_str(), broken.test.c_str());
    }
  }
}

}  // namespace

void add_store(StoreUnderTest store) {
  stores().push_back(std::move(store));
}

int run_store_suite(int argc, char** argv, std::vector<StoreUnderTest> added) {
  for (StoreUnderTest& store : added) add_store(std::move(store));
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  print_broken_promises();
  if (failed) return 1;
  const bool listed_only = GTEST_FLAG_GET(list_tests);
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0 || listed_only) return 0;
  std::fputs("no test was run: there is no store, or the filter matches no test\n", stderr);
  return 2;
}

void StoreSuite::TearDown() {
  if (!HasFailure()) return;
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  broken_promises()[GetParam().name].push_back({test.substr(0, test.find('/')), promise_});
  ADD_FAILURE() << GetParam().name << " breaks this promise: " << promise_;
}

// The stores are looked up by InitGoogleTest(), and so may be added by then.
INSTANTIATE_TEST_SUITE_P(Stores, StoreSuite, testing::ValuesIn(stores()),
                         [](const auto& test) { return test.param.name; });

}  // namespace semel::conformance
