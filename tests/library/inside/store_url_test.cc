#include "library/store_url.h"

#include <gtest/gtest.h>

namespace semel::library {
namespace {

stores::StoreConfig store_of(std::string_view url) {
  const auto named = parse_store_url(url);
  if (!named) throw std::runtime_error(named.error());
  return named->store;
}

TEST(StoreUrl, NamesEveryKind) {
  EXPECT_EQ(store_of("memory:").kind, stores::StoreKind::memory);
  const auto embedded = store_of("embedded:/a b?durability=crash&cache=32MiB&free_bytes_min=0");
  EXPECT_EQ(embedded.kind, stores::StoreKind::embedded);
  EXPECT_EQ(embedded.path, "/a b");
  EXPECT_EQ(embedded.durability, stores::Durability::crash);
  EXPECT_EQ(embedded.local_cache_bytes, std::size_t{32} << 20);
  EXPECT_EQ(embedded.free_bytes_min, 0u);
  EXPECT_EQ(store_of("embedded:x").durability, stores::Durability::power);
  EXPECT_EQ(store_of("redis://:secret@host:1/2").redis.url, "redis://:secret@host:1/2");
}

TEST(StoreUrl, LeavesToLibpqWhatIsForLibpq) {
  const auto store =
      store_of("postgres://u@h/d?sslmode=require&semel.schema=mine&semel.connections=7&options=x");
  EXPECT_EQ(store.kind, stores::StoreKind::postgres);
  EXPECT_EQ(store.url, "postgres://u@h/d?sslmode=require&options=x");
  EXPECT_EQ(store.schema, "mine");
  EXPECT_EQ(store.connections, 7u);
  EXPECT_EQ(store_of("postgresql://h/d").url, "postgresql://h/d");
}

TEST(StoreUrl, TieredHasTwo) {
  const auto store = store_of("tiered:postgres://a,b/d?semel.schema=s,redis://c");
  EXPECT_EQ(store.kind, stores::StoreKind::tiered);
  EXPECT_EQ(store.url, "postgres://a,b/d");
  EXPECT_EQ(store.schema, "s");
  EXPECT_EQ(store.redis.url, "redis://c");
}

TEST(StoreUrl, AnErrorSaysWhatToDoAndHidesThePassword) {
  for (const auto& [url, says] :
       {std::pair("", "embedded:PATH"), std::pair("mysql://u:secret@h/d", "embedded:PATH"),
        std::pair("embedded:", "needs a folder"), std::pair("embedded:x?sync=no", "'sync'"),
        std::pair("embedded:x?durability=none", "power or crash"),
        std::pair("embedded:x?cache=lots", "cache 'lots'"),
        std::pair("postgres://u:secret@h/d?semel.schema=A-B", "semel.schema"),
        std::pair("postgres://u:secret@h/d?semel.connections=0", "from 1 to 64"),
        std::pair("postgres://u:secret@h/d?semel.pool=0", "semel.connections"),
        std::pair("redis://:secret@h:port", "redis URL"),
        std::pair("tiered:redis://:secret@a,postgres://b", "two URLs"),
        std::pair("file:/no/such.yaml", "/no/such.yaml")}) {
    const auto named = parse_store_url(url);
    ASSERT_FALSE(named) << url;
    EXPECT_NE(named.error().find(says), std::string::npos) << named.error();
    EXPECT_EQ(named.error().find("secret"), std::string::npos) << named.error();
  }
}

}  // namespace
}  // namespace semel::library
