// Encodings for long work: preferences, the queued request, the handle.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "execution/answer/handle.h"
#include "execution/queued_request.h"
#include "http/fields/prefer.h"
#include "semel/driver/scope.h"

namespace semel::engine {
namespace {

http::Preferences preferences(std::vector<http::Field> fields) {
  return http::read_preferences(fields);
}

TEST(Prefer, IsReadOverAllFieldsAndTheRestIsPassedOn) {
  const http::Preferences read =
      preferences({{"Prefer", "return=minimal; x=\"a,b\", Respond-Async"},
                   {"Accept", "respond-async"},
                   {"prefer", " wait=5 ,, respond-async ; q=1"}});
  EXPECT_TRUE(read.respond_async);
  EXPECT_EQ(read.others, "return=minimal; x=\"a,b\", wait=5");
}

TEST(Prefer, AQuotedStringIsNoPreference) {
  for (const char* value :
       {"x=\"respond-async\"", "x=\"\\\", respond-async\"", "x=\", respond-async",
        "respond-async=1", "respond-async-x", "", "\""}) {
    const http::Preferences read = preferences({{"Prefer", value}});
    EXPECT_FALSE(read.respond_async) << value;
    EXPECT_EQ(read.others, value);
  }
  EXPECT_TRUE(preferences({{"Prefer", "respond-async = \"\""}}).respond_async);
}

execution::QueuedRequest sample() {
  return {"charges",
          "POST",
          "/v1/charges?a=1",
          {{"Host", "api"}, {"X", ""}},
          {"10.0.0.1", true, true},
          false,
          "k-1",
          std::string("a\0b", 3)};
}

TEST(QueuedRequest, IsReadBackAsItWas) {
  const auto read = execution::decode_queued_request(execution::encode(sample()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->route, "charges");
  EXPECT_EQ(read->method, "POST");
  EXPECT_EQ(read->target, "/v1/charges?a=1");
  EXPECT_EQ(read->headers, sample().headers);
  EXPECT_EQ(read->forwarded.peer_address, "10.0.0.1");
  EXPECT_TRUE(read->forwarded.from_trusted_proxy);
  EXPECT_TRUE(read->forwarded.tls);
  EXPECT_FALSE(read->key_in_header);
  EXPECT_EQ(read->key, "k-1");
  EXPECT_EQ(read->body, sample().body);
}

TEST(QueuedRequest, WhatIsCutOrLongerOrOfAnotherVersionIsRefused) {
  const std::string bytes = execution::encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(execution::decode_queued_request(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(execution::decode_queued_request(bytes + "x"));
  std::string other = bytes;
  other[0] = 2;
  EXPECT_FALSE(execution::decode_queued_request(other));
  EXPECT_FALSE(
      execution::decode_queued_request(std::string("\x01\x00", 2) + std::string(20, '\xff')));
}

TEST(QueuedRequest, LeavesOutWhatConcernsTheConnectionButNotTheKey) {
  config::RouteConfig route;
  const std::vector<http::Field> fields = {{"Host", "api"},
                                           {"Connection", "X-Hop, Idempotency-Key"},
                                           {"X-Hop", "1"},
                                           {"Idempotency-Key", "k"},
                                           {"Prefer", "respond-async"},
                                           {"Transfer-Encoding", "chunked"}};
  const execution::Forwarded from;
  const execution::QueuedRequest request =
      execution::to_queue({"POST", "/", fields, from}, execution::PassedOn(fields, {}, route),
                          route.name, "", true, "k", "");
  EXPECT_EQ(request.headers, (std::vector<Header>{{"Host", "api"}, {"Idempotency-Key", "k"}}));
}

Record handled(std::string_view tenant) {
  Record record;
  record.operation = "charges\t/v1/charges";
  record.id = make_id({"default", std::string(tenant), record.operation}, "key-1");
  record.handle.bytes[3] = 9;
  return record;
}

TEST(Handle, FitsOneRecordAndOneTenant) {
  const Record record = handled("ann");
  const auto handle =
      execution::parse_handle(execution::handle_text(record, "ann", "key-1"), "ann");
  ASSERT_TRUE(handle);
  EXPECT_EQ(make_id({"default", "ann", handle->operation}, handle->key), record.id);
  EXPECT_TRUE(execution::fits(*handle, record, "ann"));
  EXPECT_FALSE(execution::fits(*handle, record, "bob"));
  Record other = record;
  other.handle.bytes[3] = 8;
  EXPECT_FALSE(execution::fits(*handle, other, "ann"));
}

// The store is asked for what make_id() gives: if that were ever another tenant's record, the time
// it takes would tell whether there is one.
TEST(Handle, LeadsToRecordsOfWhoAsksOnly) {
  const Record record = handled("ann");
  std::string stolen =
      base::decode_base64url(execution::handle_text(record, "ann", "key-1")).value();
  for (std::size_t at = 0; at < stolen.size(); ++at) {
    for (const char change : {'\0', '\x01', '\x80'}) {
      stolen[at] = static_cast<char>(stolen[at] ^ change);
      const auto handle = execution::parse_handle(base::encode_base64url(stolen), "bob");
      if (handle) {
        EXPECT_NE(make_id({"default", "bob", handle->operation}, handle->key), record.id);
      }
      stolen[at] = static_cast<char>(stolen[at] ^ change);
    }
  }
  // Old handles, which named a record by its id, are not valid any more.
  const std::string id(record.id.bytes.begin(), record.id.bytes.end());
  EXPECT_FALSE(execution::parse_handle(base::encode_base64url(id + std::string(16, 'p')), "bob"));
}

TEST(Handle, DoesNotShowTheKey) {
  const std::string bytes =
      base::decode_base64url(execution::handle_text(handled("ann"), "ann", "key-1")).value();
  EXPECT_FALSE(bytes.contains("key-1"));
  EXPECT_FALSE(bytes.contains("charges"));
}

TEST(Handle, ARecordWithoutOneFitsNone) {
  Record record;
  const auto handle = execution::parse_handle(execution::handle_text(record, "ann", "k"), "ann");
  EXPECT_FALSE(execution::fits(*handle, record, "ann"));
}

TEST(Handle, HasOneSpelling) {
  const std::string text = execution::handle_text(handled("ann"), "ann", "key-1");
  ASSERT_TRUE(execution::parse_handle(text, "ann"));
  EXPECT_FALSE(execution::parse_handle(text + "A", "ann"));
  EXPECT_FALSE(execution::parse_handle(text + "AAAA", "ann"));
  EXPECT_FALSE(execution::parse_handle(text.substr(1), "ann"));
  EXPECT_FALSE(execution::parse_handle("", "ann"));
  EXPECT_FALSE(execution::parse_handle(std::string(63, 'A') + "+", "ann"));
}

TEST(Base64, EncodesWhatItDecodes) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(base::decode_base64(base::encode_base64(bytes)), bytes) << i;
    EXPECT_EQ(base::decode_base64url(base::encode_base64url(bytes)), bytes) << i;
    bytes.push_back(static_cast<char>(i * 37 + 200));
  }
  EXPECT_EQ(base::encode_base64("f"), "Zg==");
  EXPECT_EQ(base::encode_base64("fo"), "Zm8=");
  EXPECT_EQ(base::encode_base64url("fo"), "Zm8");
}

}  // namespace
}  // namespace semel::engine
