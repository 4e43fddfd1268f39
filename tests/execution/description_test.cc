// A record keeps enough of a request for people, and never much.
#include "execution/description.h"

#include <gtest/gtest.h>

namespace semel::execution {
namespace {

constexpr std::string_view kMark = "\u2026";

Description described(const std::vector<std::string>& pointers, std::string_view body) {
  return describe(config::Config{}, "POST", "/v1/charges", pointers, body);
}

TEST(Description, HasMethodPathAndTheNamedMembers) {
  const std::string_view body =
      R"({"amount":4200,"currency":"EUR","to":{"iban":"DE1"},"items":[{"sku":"a"}],"pan":"4111"})";
  EXPECT_EQ(described({"/amount", "/currency", "/to", "/items/0/sku", "/none"}, body),
            (Description{"POST",
                         "/v1/charges",
                         {{"/amount", "4200"},
                          {"/currency", "\"EUR\""},
                          {"/to", R"({"iban":"DE1"})"},
                          {"/items/0/sku", "\"a\""}}}));
  EXPECT_EQ(described({}, body), (Description{"POST", "/v1/charges", {}}));
}

TEST(Description, KeepsNumbersAndTextsAsTheyAreWritten) {
  const Description kept = described(
      {"/n", "/t", "/o"}, "{\"n\": 0.10e+400, \"t\": \"\\u00e9\u00fc\", \"o\": {\n\t\"a\": 1}}");
  ASSERT_EQ(kept.members.size(), 3u);
  EXPECT_EQ(kept.members[0].value, "0.10e+400");
  EXPECT_EQ(kept.members[1].value, "\"\\u00e9\u00fc\"");
  EXPECT_EQ(kept.members[2].value, "{  \"a\": 1}") << "one line";
}

TEST(Description, HasNoMembersOfABodyThatIsNotCertain) {
  for (const char* body : {"", "amount=1", "{\"amount\":1", "{\"amount\":1,\"amount\":2}",
                           "{\"amount\":\"\xff\"}", "\x1f\x8b\x08"}) {
    EXPECT_TRUE(described({"/amount"}, body).members.empty()) << body;
  }
}

TEST(Description, CutsAndMarksWhatIsTooLong) {
  const std::string long_text(300, 'x');
  const std::string value = described({"/t"}, "{\"t\":\"" + long_text + "\"}").members.at(0).value;
  EXPECT_EQ(value, "\"" + long_text.substr(0, 252) + std::string(kMark));
  EXPECT_EQ(value.size(), 256u);

  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "\u00fc";
  const std::string cut = described({"/t"}, "{\"t\":\"" + umlauts + "\"}").members.at(0).value;
  EXPECT_EQ(cut, "\"" + umlauts.substr(0, 252) + std::string(kMark));

  const std::string path = "/" + std::string(2000, 'p');
  const Description kept = describe(config::Config{}, std::string(40, 'M'), path, {}, "");
  EXPECT_EQ(kept.path, path.substr(0, 1021) + std::string(kMark));
  EXPECT_EQ(kept.method, std::string(29, 'M') + std::string(kMark));
}

TEST(Description, IsBoundedAsAWhole) {
  std::string body = "{";
  std::vector<std::string> pointers;
  for (char name = 'a'; name < 'a' + 16; ++name) {
    if (name != 'a') body += ',';
    body += std::string("\"") + name + "\":\"" + std::string(250, 'x') + '"';
    pointers.push_back(std::string("/") + name);
  }
  body += '}';
  std::size_t bytes = 0;
  const Description kept = described(pointers, body);
  for (const DescribedMember& member : kept.members) {
    bytes += member.pointer.size() + member.value.size();
  }
  EXPECT_EQ(kept.members.size(), 8u);
  EXPECT_LE(bytes, 2048u);
  const std::string large = R"({"a":1,"fill":")" + std::string(256 * 1024, 'x') + "\"}";
  EXPECT_TRUE(described({"/a"}, large).members.empty()) << "too much to look through";
}

// Nodes that know no descriptions could not read the record.
TEST(Description, IsEmptyForTheFormatBefore) {
  config::Config config;
  config.record_format = 2;
  EXPECT_EQ(describe(config, "POST", "/", {"/a"}, R"({"a":1})"), Description{});
}

}  // namespace
}  // namespace semel::execution
