#include "semel/driver/fingerprint.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/fingerprint/canonical_json.h"

namespace semel::core {
namespace {

using Names = std::vector<std::string>;

struct Request {
  std::string method = "POST";
  std::string path = "/v1/charges";
  std::string query = "dry=1";
  std::string content_type = "application/json";
  std::string body = R"({"amount":12.5,"to":["A",null]})";
  std::map<std::string, std::string, std::less<>> headers = {{"x-version", "2024-01-01"}};

  Fingerprint under(const Recipe& recipe) const {
    RequestView view{method, path, query, content_type, body, {}};
    view.header = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = headers.find(name);
      if (found == headers.end()) return {};
      return found->second;
    };
    return make_fingerprint(recipe, view);
  }
};

Recipe body_recipe(BodyRecipe body) {
  Recipe recipe;
  recipe.body = body;
  return recipe;
}

Recipe full_recipe() {
  Recipe recipe = body_recipe(BodyRecipe::json);
  recipe.headers = {"x-version", "x-other"};
  return recipe;
}

Fingerprint of_body(BodyRecipe recipe, std::string body) {
  Request request;
  request.body = std::move(body);
  return request.under(body_recipe(recipe));
}

bool same_json(std::string a, std::string b) {
  return of_body(BodyRecipe::json, std::move(a)) == of_body(BodyRecipe::json, std::move(b));
}

bool same_form(std::string a, std::string b) {
  return of_body(BodyRecipe::form, std::move(a)) == of_body(BodyRecipe::form, std::move(b));
}

bool same_media_type(std::string a, std::string b) {
  Request first;
  first.content_type = std::move(a);
  Request second;
  second.content_type = std::move(b);
  return first.under(body_recipe(BodyRecipe::raw)) == second.under(body_recipe(BodyRecipe::raw));
}

TEST(Fingerprint, IsTheSameForEver) {
  // Computed elsewhere. If it changes, every retry that is on its way becomes a mismatch.
  Recipe recipe = body_recipe(BodyRecipe::json);
  recipe.version = 1;
  recipe.exclude = {"/ts"};
  recipe.headers = {"x-version"};
  const Fingerprint fingerprint = Request().under(recipe);
  EXPECT_EQ(fmt::format("{:02x}", fmt::join(fingerprint.digest, "")),
            "14e227f2f3415396590bf6ebfc47a85bb9e0b90fa1e0f6b52bbddbe2f29df161");
  EXPECT_EQ(fmt::format("{:016x}", fmt::join(fingerprint.parts, " ")),
            "d817f6cd1b6bee9a "
            "bf182663b98c4e68 "
            "498eaf204e912532 "
            "076f22a91f434df1 "
            "648545a65a9bb018 "
            "229bb7410e76b18e");
}

TEST(Fingerprint, EveryVersionOfTheRecipeIsTheSameForEver) {
  struct Case {
    std::uint8_t version;
    BodyRecipe body;
    Request request;
    std::string_view digest;
  };
  Request form;
  form.content_type = "application/x-www-form-urlencoded";
  form.body = "b=2&a[][x]=1&a[][y]=2&a[][x]=3";
  Request upload;
  upload.content_type = "multipart/form-data; boundary=b";
  upload.body =
      "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\b\"\r\n\r\nx\r\n--b--\r\n";
  Request raw;
  raw.content_type = "text/plain; x=Y; charset=Latin1";
  raw.headers["content-encoding"] = "GZip";
  raw.body = "abc";
  const Case cases[] = {
      {1, BodyRecipe::form, form,
       "193f476c3c6774e0060ecab70c6169a792e73ceacab041355bc2238c5d2f727a"},
      {2, BodyRecipe::form, form,
       "d48d8993ad9a52dc7b08a86cc6de3b7a28a556b6d21841609fdc642d4b307980"},
      {1, BodyRecipe::multipart, upload,
       "ac168fe8a454d8f5f1540e8c6431c82574d7e1804427397576d2c1a6db4208ba"},
      {2, BodyRecipe::multipart, upload,
       "dda672b625a8f9e2164791e41fb06d5195cf52233fc8362faf546a7943a3a17b"},
      {1, BodyRecipe::raw, raw, "a9ddcc6e035ad07a380111a6520aee5135d27452a7092fc4128f7d9d3f4663f7"},
      {2, BodyRecipe::raw, raw, "5713ce8d805497d2b4d1c3612c2aa8d0b9d15c94d04cbfcd16de18ef14c36b5f"},
  };
  for (const Case& c : cases) {
    Recipe recipe = body_recipe(c.body);
    recipe.version = c.version;
    EXPECT_EQ(fmt::format("{:02x}", fmt::join(c.request.under(recipe).digest, "")), c.digest)
        << int{c.version} << " " << c.request.content_type;
  }
}

TEST(Fingerprint, ARetryIsTheSame) {
  Request retry;
  retry.body = " {\"to\": [\"\\u0041\", null], \"amount\": 1.250e1} ";
  retry.headers["authorization"] = "another token";
  EXPECT_EQ(retry.under(full_recipe()), Request().under(full_recipe()));
}

TEST(Fingerprint, SaysWhichPartDiffers) {
  const Request first;
  struct Case {
    Names differs;
    Request request;
  };
  std::vector<Case> cases = {{{}, first}};
  cases.push_back({{"method"}, first});
  cases.back().request.method = "PATCH";
  cases.push_back({{"path"}, first});
  cases.back().request.path = "/v1/charges/";
  cases.push_back({{"query"}, first});
  cases.back().request.query = "dry=2";
  cases.push_back({{"media-type"}, first});
  cases.back().request.content_type = "application/vnd.api+json";
  cases.push_back({{"header x-version"}, first});
  cases.back().request.headers["x-version"] = "2025-01-01";
  cases.push_back({{"header x-other"}, first});
  cases.back().request.headers["x-other"] = "new";
  cases.push_back({{"body"}, first});
  cases.back().request.body = R"({"amount":12.6,"to":["A",null]})";
  cases.push_back({{"method", "header x-version", "body"}, first});
  cases.back().request.method = "PUT";
  cases.back().request.headers.clear();
  cases.back().request.body = "";

  const Recipe recipe = full_recipe();
  std::set<std::array<std::uint8_t, 32>> digests;
  for (const Case& c : cases) {
    const Fingerprint fingerprint = c.request.under(recipe);
    EXPECT_EQ(differing_parts(recipe, first.under(recipe), fingerprint), c.differs);
    EXPECT_EQ(differing_parts(recipe, fingerprint, first.under(recipe)), c.differs);
    EXPECT_EQ(fingerprint.parts.size(), 4 + recipe.headers.size() + 1);
    EXPECT_TRUE(digests.insert(fingerprint.digest).second);
  }
}

TEST(Fingerprint, PartsCannotBeShiftedIntoEachOther) {
  Request a;
  a.path = "/a";
  a.query = "b";
  Request b;
  b.path = "/ab";
  b.query = "";
  EXPECT_NE(a.under(full_recipe()).digest, b.under(full_recipe()).digest);
}

TEST(Fingerprint, AMissingHeaderIsNotAnEmptyOne) {
  Request empty;
  empty.headers["x-other"] = "";
  EXPECT_NE(empty.under(full_recipe()), Request().under(full_recipe()));
}

TEST(Fingerprint, WithoutHeadersToAskNoneIsPresent) {
  RequestView view;
  Request request;
  request = {"", "", "", "", "", {}};
  EXPECT_EQ(make_fingerprint(full_recipe(), view), request.under(full_recipe()));
}

TEST(Fingerprint, TheQueryCanBeLeftOut) {
  Recipe recipe;
  recipe.query = false;
  Request other;
  other.query = "trace=7";
  EXPECT_EQ(other.under(recipe), Request().under(recipe));
  EXPECT_EQ(other.under(recipe).parts.size(), 5u);
}

TEST(Fingerprint, TheRecipeIsPartOfTheDigest) {
  std::vector<Recipe> recipes = {Recipe(), body_recipe(BodyRecipe::form),
                                 body_recipe(BodyRecipe::none)};
  for (auto list : {&Recipe::include, &Recipe::exclude, &Recipe::headers}) {
    recipes.emplace_back();
    (recipes.back().*list) = {"/a", "/b"};
    recipes.emplace_back();
    (recipes.back().*list) = {"/a"};
  }
  recipes.emplace_back();
  recipes.back().query = false;
  Request request;
  request.query = "";
  std::set<std::array<std::uint8_t, 32>> digests;
  for (const Recipe& recipe : recipes) digests.insert(request.under(recipe).digest);
  EXPECT_EQ(digests.size(), recipes.size());
}

TEST(MediaType, CountsWithItsParameters) {
  EXPECT_TRUE(same_media_type("application/json", "Application/JSON"));
  EXPECT_TRUE(same_media_type("application/json", " application/json ; charset=UTF-8"));
  EXPECT_TRUE(same_media_type("application/json", "application/json;charset=\"utf-8\""));
  EXPECT_TRUE(same_media_type("application/x-www-form-urlencoded;charset=utf-8",
                              "application/x-www-form-urlencoded"));
  EXPECT_TRUE(same_media_type("multipart/form-data; boundary=aaa",
                              "multipart/form-data; boundary=\"b;charset=x\""));
  EXPECT_TRUE(
      same_media_type("text/plain; a=B; charset=latin1", "text/plain;CHARSET=Latin1;A=\"B\""));
  EXPECT_TRUE(same_media_type("text/plain;", "text/plain"));

  EXPECT_FALSE(same_media_type("application/json", "application/json; version=1"));
  EXPECT_FALSE(same_media_type("application/json; profile=a", "application/json; profile=A"));
  EXPECT_FALSE(same_media_type("application/json", "application/json; charset=utf-16"));
  EXPECT_FALSE(same_media_type("application/json", "application/json; charset=utf-8; charset=x"));
  EXPECT_FALSE(same_media_type("application/json", "application/json; boundary=x"));
  EXPECT_FALSE(
      same_media_type("multipart/mixed; boundary=a", "multipart/mixed; boundary=a; type=b"));
  EXPECT_FALSE(same_media_type("text/plain; a=b", "text/plain; a"));
  EXPECT_FALSE(same_media_type("text/plain; a=\"x\\y\"", "text/plain; a=\"xy\""));
  EXPECT_FALSE(same_media_type("text/plain; a=b; a=c", "text/plain; a=c; a=b"));
  EXPECT_FALSE(same_media_type("application/json", "text/json"));
  EXPECT_FALSE(same_media_type("application/json", ""));
  EXPECT_FALSE(same_media_type("text/plain", "text/plain; charset=latin1"));
  EXPECT_FALSE(same_media_type("text/plain; charset=latin2", "text/plain; charset=latin1"));
  EXPECT_FALSE(same_media_type("text/plain; charset=latin1", "text/plain;charset=latin1,utf-8"));
}

TEST(ContentEncoding, CountsWithTheMediaType) {
  for (const BodyRecipe body : {BodyRecipe::json, BodyRecipe::raw, BodyRecipe::none}) {
    Request plain;
    Request identity;
    identity.headers["content-encoding"] = "Identity";
    EXPECT_EQ(identity.under(body_recipe(body)), plain.under(body_recipe(body)));
    Request encoded;
    encoded.headers["content-encoding"] = "gzip";
    const auto differs = differing_parts(body_recipe(body), plain.under(body_recipe(body)),
                                         encoded.under(body_recipe(body)));
    EXPECT_EQ(differs,
              body == BodyRecipe::json ? Names({"media-type", "body"}) : Names({"media-type"}));
    Request twice;
    twice.headers["content-encoding"] = "gzip, GZIP";
    EXPECT_NE(twice.under(body_recipe(body)), encoded.under(body_recipe(body)));
  }
  // Nothing but its bytes is known of an encoded body.
  Request one;
  Request other;
  one.headers["content-encoding"] = other.headers["content-encoding"] = "x-own";
  one.body = "a=1&b=2";
  other.body = "b=2&a=1";
  EXPECT_NE(one.under(body_recipe(BodyRecipe::form)), other.under(body_recipe(BodyRecipe::form)));
}

TEST(PickBodyRecipe, GoesByTheMediaType) {
  struct {
    std::string_view content_type;
    BodyRecipe recipe;
  } const cases[] = {
      {"application/json", BodyRecipe::json},
      {"APPLICATION/JSON; charset=utf-8", BodyRecipe::json},
      {"application/merge-patch+json", BodyRecipe::json},
      {"application/vnd.api+JSON;v=1", BodyRecipe::json},
      {"application/x-www-form-urlencoded", BodyRecipe::form},
      {"Application/X-WWW-Form-Urlencoded;charset=utf-8", BodyRecipe::form},
      {"application/jsonp", BodyRecipe::raw},
      {"application/json-seq", BodyRecipe::raw},
      {"application/xml; x=application/json", BodyRecipe::raw},
      {"multipart/form-data; boundary=+json", BodyRecipe::multipart},
      {"multipart/mixed", BodyRecipe::multipart},
      {"multipart", BodyRecipe::raw},
      {"text/plain", BodyRecipe::raw},
      {"", BodyRecipe::raw},
      {";", BodyRecipe::raw},
  };
  for (const auto& c : cases)
    EXPECT_EQ(pick_body_recipe(c.content_type), c.recipe) << c.content_type;
}

TEST(JsonBody, IsComparedByMeaning) {
  EXPECT_TRUE(same_json(R"({"a":1,"b":[true]})", "{ \"b\": [true], \"a\": 1.0 }"));
  EXPECT_FALSE(same_json(R"({"a":1})", R"({"a":"1"})"));
  EXPECT_FALSE(same_json("9007199254740993", "9007199254740992"));
}

TEST(JsonBody, WhatIsNotUnambiguousJsonIsComparedByItsBytes) {
  for (std::string body : {std::string(R"({"a":1,"a":2})"), std::string("{\"a\":1"),
                           std::string("\"\xff\""), std::string(100'000, '['), std::string()}) {
    EXPECT_TRUE(same_json(body, body));
    EXPECT_FALSE(same_json(body, body + " ")) << body.substr(0, 20);
  }
  EXPECT_FALSE(same_json(R"({"a":1,"a":2})", R"({"a":2,"a":1})"));
}

// A client could otherwise send the form itself and be given the answer of the text it stands for.
TEST(JsonBody, RawBytesCannotPoseAsACanonicalForm) {
  const std::string text = R"({"a":[1,"x"]})";
  const std::string form = canonical_json(text).value();
  ASSERT_FALSE(canonical_json(form));
  EXPECT_FALSE(same_json(text, form));
  EXPECT_FALSE(same_json(text, "j" + form));
}

TEST(JsonBody, IncludeAndExcludeChooseWhatCounts) {
  Recipe recipe = body_recipe(BodyRecipe::json);
  recipe.include = {"/amount", "/meta"};
  recipe.exclude = {"/meta/sent_at"};
  const auto print = [&](std::string body) {
    Request request;
    request.body = std::move(body);
    return request.under(recipe);
  };
  const Fingerprint first = print(R"({"amount":1,"meta":{"sent_at":1},"note":"x"})");
  EXPECT_EQ(print(R"({"amount":1,"meta":{"sent_at":2},"note":"y"})"), first);
  EXPECT_EQ(print(R"({"amount":1,"meta":{}})"), first);
  EXPECT_NE(print(R"({"amount":2,"meta":{"sent_at":1},"note":"x"})"), first);
  EXPECT_NE(print(R"({"note":"x"})"), print(R"({"note":"y"})")) << "no include pointer matches";
}

TEST(FormBody, TheOrderOfFieldsDoesNotMatterThatOfValuesDoes) {
  EXPECT_TRUE(same_form("a=1&b=2", "b=2&a=1"));
  EXPECT_TRUE(same_form("a=1&b=3&a=2", "b=3&a=1&a=2"));
  EXPECT_FALSE(same_form("a=1&a=2", "a=2&a=1"));
  EXPECT_FALSE(same_form("a=1&b=2", "a=2&b=1"));
  EXPECT_FALSE(same_form("a=1", "a=1&a=1"));
}

TEST(FormBody, ManyValuesOfOneFieldKeepTheirOrder) {
  std::string apart;
  std::string between;
  for (int i = 0; i < 100; ++i) {
    apart += fmt::format("a={}&", i);
    between += fmt::format("b{}=&a={}&", 99 - i, i);
  }
  for (int i = 0; i < 100; ++i) apart += fmt::format("b{}=&", i);
  EXPECT_TRUE(same_form(apart, between));
}

// Each pair is read as two different things by some framework.
TEST(FormBody, TheOrderCountsWhereAnExecutorGoesByIt) {
  EXPECT_FALSE(same_form("a[][x]=1&a[][y]=2&a[][x]=3", "a[][x]=1&a[][x]=3&a[][y]=2"));
  EXPECT_FALSE(same_form("a[b][][x]=1&a[b][][y]=2", "a[b][][y]=2&a[b][][x]=1"));
  EXPECT_FALSE(same_form("a[]=1&a[0]=2", "a[0]=2&a[]=1"));
  EXPECT_FALSE(same_form("a[ ]=1&a[0]=2", "a[0]=2&a[ ]=1"));
  EXPECT_FALSE(same_form("a=1&a[b]=2", "a[b]=2&a=1"));
  EXPECT_FALSE(same_form("a[b]=1&a[b][c]=2", "a[b][c]=2&a[b]=1"));
  EXPECT_FALSE(same_form("a[b]=1&a[b]x=2", "a[b]x=2&a[b]=1"));
  EXPECT_FALSE(same_form("a.b=1&a_b=2", "a_b=2&a.b=1"));
  EXPECT_FALSE(same_form("a[b=1&a_b=2", "a_b=2&a[b=1"));
  EXPECT_FALSE(same_form("A=1&a=2", "a=2&A=1"));
  EXPECT_FALSE(same_form("a=1&a%00b=2", "a%00b=2&a=1"));
  EXPECT_FALSE(same_form("a=1;b=2&b=3", "b=3&a=1;b=2"));
  for (const char* odd : {"[a]=1", "a]=1", "a[x=1", "a[[x]]=1", "a[x]]=1", "a[x].y=1", "[]=1"}) {
    const std::string body = std::string(odd) + "&a[x]=2";
    EXPECT_FALSE(same_form(body, std::string("a[x]=2&") + odd)) << odd;
  }
}

TEST(FormBody, TheOrderDoesNotCountElsewhere) {
  EXPECT_TRUE(same_form("a[]=1&b=2&a[]=3", "b=2&a[]=1&a[]=3"));
  EXPECT_TRUE(same_form("a[]=1&b[]=2&a[]=3", "b[]=2&a[]=1&a[]=3"));
  EXPECT_TRUE(same_form("a[x]=1&a[y]=2", "a[y]=2&a[x]=1"));
  EXPECT_TRUE(same_form("a[x][p]=1&a[x][q]=2&a[y]=3", "a[y]=3&a[x][q]=2&a[x][p]=1"));
  EXPECT_TRUE(same_form("a[b]=1&a[bc]=2", "a[bc]=2&a[b]=1"));
  EXPECT_FALSE(same_form("a[]=1&a[]=3", "a[]=3&a[]=1"));
  EXPECT_FALSE(same_form("a[x]=1&a[x]=2", "a[x]=2&a[x]=1"));
}

TEST(FormBody, IsComparedDecoded) {
  EXPECT_TRUE(same_form("a=x+y", "a=x%20y"));
  EXPECT_TRUE(same_form("%61=%C3%A9", "a=%c3%a9"));
  EXPECT_TRUE(same_form("a[0]=1", "a%5B0%5d=1"));
  EXPECT_TRUE(same_form("a=b=c", "a=b%3Dc"));
  EXPECT_TRUE(same_form("&a=1&&b=2&", "a=1&b=2"));
  EXPECT_FALSE(same_form("a=1&b=2", "a=1%26b=2"));
  EXPECT_FALSE(same_form("a=x%2By", "a=x+y"));
  EXPECT_FALSE(same_form("a=%00", "a="));
  EXPECT_FALSE(same_form("a", "a="));
  EXPECT_FALSE(same_form("a=", "=a"));
  EXPECT_FALSE(same_form("ab=c", "a=bc"));
  EXPECT_FALSE(same_form("a=k", "a=&k="));
}

TEST(FormBody, WithABadEscapeIsComparedByItsBytes) {
  for (const char* bad : {"b=%", "b=%4", "b=%zz", "b=%4g", "%=b"}) {
    const std::string body = std::string("a=1&") + bad;
    EXPECT_TRUE(same_form(body, body));
    EXPECT_FALSE(same_form(body, std::string(bad) + "&a=1")) << bad;
  }
}

TEST(FormBody, ManyFieldsShuffledAreTheSame) {
  std::string forward;
  std::string backward;
  for (int i = 0; i < 100'000; ++i) {
    const std::string field = fmt::format("f{}={}", i, i);
    forward += field + "&";
    backward.append("&").append(fmt::format("f{}={}", 99'999 - i, 99'999 - i));
  }
  EXPECT_TRUE(same_form(forward, backward));
  EXPECT_FALSE(same_form(forward, backward + "&f0=1"));
}

TEST(RawBody, IsComparedByItsBytes) {
  EXPECT_EQ(of_body(BodyRecipe::raw, "{}"), of_body(BodyRecipe::raw, "{}"));
  EXPECT_NE(of_body(BodyRecipe::raw, "{}"), of_body(BodyRecipe::raw, "{ }"));
}

TEST(NoBody, IsNeverCompared) {
  EXPECT_EQ(of_body(BodyRecipe::none, "a"), of_body(BodyRecipe::none, "b"));
  EXPECT_EQ(of_body(BodyRecipe::none, "a").parts.size(), 5u);
}

TEST(CheckPointer, FailsWithASentenceForMalformedPointersOnly) {
  for (const char* good : {"/", "/a", "/a/*/b", "/a~0b/c~1d", "/0", "/a//b"}) {
    EXPECT_TRUE(check_pointer(good)) << good;
  }
  for (const char* bad : {"", "a", "a/b", "#/a", "$.a", "/a~", "/a~2b", "/~"}) {
    const auto checked = check_pointer(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_NE(checked.error().find(' '), std::string::npos) << checked.error();
  }
}

TEST(CheckPointer, WhatItRefusesMatchesNothing) {
  Recipe recipe = body_recipe(BodyRecipe::json);
  recipe.include = {"amount"};
  recipe.exclude = {"/amount~"};
  Request other;
  other.body = R"({"amount":13,"to":["A",null]})";
  EXPECT_NE(other.under(recipe), Request().under(recipe));
}

}  // namespace
}  // namespace semel::core
