#include "core/fingerprint/multipart.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/fingerprint/body_hash.h"
#include "semel/driver/fingerprint.h"

namespace semel::core {
namespace {

struct Part {
  std::string head;
  std::string body;
};

std::string multipart(const std::string& boundary, const std::vector<Part>& parts,
                      const std::string& preamble = "", const std::string& epilogue = "") {
  std::string out = preamble.empty() ? "" : preamble + "\r\n";
  for (const Part& part : parts) {
    out += "--" + boundary + "\r\n" + part.head + "\r\n" + part.body + "\r\n";
  }
  return out + "--" + boundary + "--" + epilogue;
}

std::optional<base::Sha256Digest> digest(const std::string& boundary, const std::string& body,
                                         const std::string& type = "multipart/form-data") {
  MultipartDigest hash(type + "; boundary=\"" + boundary + "\"");
  hash.update(body);
  return hash.finish();
}

const std::vector<Part> kUpload = {
    {"Content-Disposition: form-data; name=\"amount\"\r\n", "1999"},
    {"Content-Disposition: form-data; name=\"receipt\"; filename=\"a b.png\"\r\n"
     "Content-Type: image/png\r\n",
     std::string("\x89PNG\r\n\x1a\n--almost\r\n--xx", 21)}};

// Trap 8 in its other clothes: every try of a form has a new boundary.
TEST(Multipart, TheBoundaryMakesNoDifference) {
  const auto first = digest("xxBOUNDARY1", multipart("xxBOUNDARY1", kUpload));
  ASSERT_TRUE(first);
  EXPECT_EQ(digest("b", multipart("b", kUpload)), first);
  EXPECT_EQ(digest("aZ09'()+_-./:=?", multipart("aZ09'()+_-./:=?", kUpload)), first);
}

std::optional<base::Sha256Digest> typed(const std::string& content_type, const std::string& body,
                                        std::uint8_t version = kRecipeVersion) {
  MultipartDigest hash(content_type, version);
  hash.update(body);
  return hash.finish();
}

// Boundaries of real clients: browsers, and libraries like axios, write "boundary" within them.
TEST(Multipart, TheBoundariesOfClientsMakeNoDifference) {
  const auto first = digest("b", multipart("b", kUpload));
  for (const std::string boundary :
       {"----WebKitFormBoundary7MA4YWxkTrZu0gW", "----geckoformboundary5fb2a7d1",
        "axios-1.7.2-boundary-x_Y-z", "alamofire.boundary.9b8c",
        "===============1234567==", "------------------------d74496d66958873e", "Boundary_1_2_3"}) {
    const std::string body = multipart(boundary, kUpload);
    EXPECT_EQ(typed("multipart/form-data; boundary=" + boundary, body), first) << boundary;
    EXPECT_EQ(typed("multipart/form-data; charset=utf-8; boundary=\"" + boundary + "\"", body),
              first)
        << boundary;
  }
}

TEST(Multipart, LineEndsAroundItMakeNoDifference) {
  const auto first = digest("b", multipart("b", kUpload));
  for (const char* around : {"\r\n", "\r\n\r\n"}) {
    EXPECT_EQ(digest("b", around + multipart("b", kUpload)), first);
    EXPECT_EQ(digest("b", multipart("b", kUpload) + around), first);
  }
  EXPECT_EQ(digest("b", multipart("b", kUpload) + "\n"), first);
}

// PHP goes on behind the closing delimiter, and others look before the first one.
TEST(Multipart, WithTextAroundItHasNoForm) {
  for (const char* text : {"text", " ", "\r\ntext\r\n", "\r\n--b\r\n\r\nx\r\n--b--", "-"}) {
    EXPECT_FALSE(digest("b", multipart("b", kUpload, "", text))) << text;
    EXPECT_FALSE(digest("b", multipart("b", kUpload, text))) << text;
  }
  const std::string late = multipart("b", kUpload, "", std::string(100'000, '\n') + "x");
  MultipartDigest in_pieces("multipart/form-data; boundary=b");
  for (std::size_t at = 0; at < late.size(); at += 1000) {
    in_pieces.update(std::string_view(late).substr(at, 1000));
  }
  EXPECT_FALSE(in_pieces.finish());
}

// In each of them some executor finds another boundary than "one".
const std::vector<std::string> kAmbiguousTypes = {
    "multipart/form-data; boundary=one; boundary=two",
    "multipart/form-data; boundary=one; BOUNDARY=two",
    "multipart/form-data; x-boundary=two; boundary=one",
    "multipart/form-data; boundary=one; boundary*=utf-8''two",
    "multipart/form-data; boundary=one; note=\"boundary=two\"",
    "multipart/form-data; myboundary; boundary=one",
};

TEST(Multipart, WithASecondBoundaryHasNoForm) {
  const std::string body = multipart("one", kUpload);
  ASSERT_TRUE(typed("multipart/form-data; Boundary=one; charset=utf-8", body));
  for (const std::string& type : kAmbiguousTypes) EXPECT_FALSE(typed(type, body)) << type;
  // The one within the boundary is what they find.
  const std::string within = multipart("xboundary=two", kUpload);
  EXPECT_FALSE(typed("multipart/form-data; boundary=xboundary=two", within));
  EXPECT_FALSE(
      typed("multipart/form-data; Boundary=xboundary; charset=y", multipart("xboundary", kUpload)));
}

TEST(Multipart, WithABoundaryThatIsCutSomewhereHasNoForm) {
  for (const std::string boundary :
       {"x,y", "with space", "x;y", "x*y", "x\ty", "x@y", "x%79", "{x}", "x\"y"}) {
    EXPECT_FALSE(digest(boundary, multipart(boundary, kUpload))) << boundary;
  }
  EXPECT_FALSE(typed("multipart/form-data; boundary=x,y", multipart("x,y", kUpload)));
  EXPECT_FALSE(typed("multipart/form-data; boundary=\"x\\y\"", multipart("xy", kUpload)));
}

// Records of former releases are compared as those did.
TEST(Multipart, VersionOneIsAsLenientAsItWas) {
  const std::string plain = multipart("one", kUpload);
  const auto first = typed("multipart/form-data; boundary=one", plain, 1);
  ASSERT_TRUE(first);
  for (const std::string& type : kAmbiguousTypes) EXPECT_EQ(typed(type, plain, 1), first) << type;
  for (const std::string boundary : {"x,y", "with space", "x;y", "x*y"}) {
    EXPECT_EQ(typed("multipart/form-data; boundary=\"" + boundary + "\"",
                    multipart(boundary, kUpload), 1),
              first)
        << boundary;
  }
  EXPECT_EQ(typed("multipart/form-data; boundary=one",
                  multipart("one", kUpload, "To be ignored", "\r\nand this\r\n--one\r\n"), 1),
            first);
  EXPECT_EQ(typed("multipart/form-data; boundary=one", multipart("one", kUpload, "", "text"), 1),
            first);
}

TEST(Multipart, HowItArrivesMakesNoDifference) {
  const std::string body = "\r\n" + multipart("----Form7MA4YWx", kUpload, "", "\r\n\r\n");
  const auto whole = digest("----Form7MA4YWx", body);
  ASSERT_TRUE(whole);
  for (std::size_t cut = 1; cut <= body.size(); ++cut) {
    MultipartDigest hash("multipart/form-data; boundary=----Form7MA4YWx");
    for (std::size_t at = 0; at < body.size(); at += cut) {
      hash.update(std::string_view(body).substr(at, cut));
    }
    ASSERT_EQ(hash.finish(), whole) << "in pieces of " << cut;
  }
}

TEST(Multipart, EverythingElseMakesADifference) {
  const auto first = digest("b", multipart("b", kUpload));
  std::vector<std::vector<Part>> others(8, kUpload);
  others[0][0].body = "1998";
  others[1][1].body.back() = 'y';
  others[2][0].head = "Content-Disposition: form-data; name=\"amounts\"\r\n";
  others[3][1].head.replace(others[3][1].head.find("a b.png"), 7, "a c.png");
  others[4][1].head.replace(others[4][1].head.find("image/png"), 9, "image/gif");
  std::swap(others[5][0], others[5][1]);
  others[6].pop_back();
  others[7].push_back({"", ""});
  for (const auto& other : others) {
    const auto second = digest("b", multipart("b", other));
    ASSERT_TRUE(second);
    EXPECT_NE(second, first);
  }
}

TEST(Multipart, HowAFieldIsWrittenMakesNoDifference) {
  const auto of = [](const std::string& head) {
    return digest("b", multipart("b", {{head, "x"}}));
  };
  const auto first = of("Content-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n");
  ASSERT_TRUE(first);
  EXPECT_EQ(of("content-disposition:Form-Data;filename=x;NAME=f\r\n"), first);
  EXPECT_EQ(of("X-Anything: 1\r\nContent-Length: 1\r\n"
               "Content-Disposition: form-data; name=f; filename=x\r\n"),
            first)
      << "RFC 7578: other fields have no meaning in form-data";
  EXPECT_NE(of("Content-Disposition: form-data; name=F; filename=x\r\n"), first);
  EXPECT_NE(of("Content-Disposition: form-data; name=f; filename=x\r\n"
               "Content-Transfer-Encoding: base64\r\n"),
            first);
}

// Some executors undo escapes in a file's name, and some do not.
TEST(Multipart, ABackslashInAParameterCounts) {
  const auto of = [](const std::string& filename) {
    const std::string head = "Content-Disposition: form-data; name=\"f\"; filename=\"";
    return digest("b", multipart("b", {{head + filename + "\"\r\n", "x"}}));
  };
  std::set<base::Sha256Digest> digests;
  for (const char* filename : {"ab", "a\\b", "a\\\\b", "C:\\ab", "C:ab", "a\\\"b", "ab\\"}) {
    const auto made = of(filename);
    ASSERT_TRUE(made) << filename;
    EXPECT_TRUE(digests.insert(*made).second) << filename;
  }
}

TEST(Multipart, OutsideOfFormsEveryFieldCounts) {
  const auto of = [](const std::string& head) {
    return digest("b", multipart("b", {{head, "x"}}), "multipart/related");
  };
  EXPECT_NE(of("Content-ID: <1>\r\n"), of("Content-ID: <2>\r\n"));
  EXPECT_EQ(of("Content-ID: <1>\r\nContent-Length: 1\r\n"), of("content-id: <1>\r\n"));
}

TEST(Multipart, WhatIsNotWellFormedHasNoForm) {
  const std::string fine = multipart("b", {{"A: b\r\n", "x"}});
  ASSERT_TRUE(digest("b", fine));
  EXPECT_FALSE(digest("", fine));
  EXPECT_FALSE(digest("c", fine));
  EXPECT_FALSE(digest("b", fine, "text/plain"));
  EXPECT_FALSE(digest(std::string(71, 'b'), multipart(std::string(71, 'b'), kUpload)));
  for (std::string body :
       {std::string(), std::string("--b--"), std::string("--b\r\n\r\nx\r\n--b"),
        std::string("--b\r\n\r\nx"), std::string("--b\nA: b\n\nx\n--b--"),
        std::string("--b\r\nno colon\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nA: b\r\n folded\r\n\r\nx\r\n--b--"),
        std::string("--b\r\nA: b\nB: c\r\n\r\nx\r\n--b--"),
        std::string("--b\r\n\r\nx\r\n--bc\r\n\r\ny\r\n--b--"),
        "--b\r\nA: " + std::string(kPartHeadBytesMax, 'x') + "\r\n\r\nx\r\n--b--",
        "--b\r\n" + std::string(1'000'000, 'h')}) {
    EXPECT_FALSE(digest("b", body)) << body.substr(0, 40);
  }
}

// Two lists of parts never run into one another, whatever the bodies hold.
TEST(Multipart, RandomListsOfPartsAreToldApart) {
  std::minstd_rand random(7);
  const auto text = [&](std::size_t most) {
    std::string out;
    for (std::size_t n = random() % most; n > 0; --n) out += "ab-\r\n:"[random() % 6];
    return out;
  };
  std::vector<std::pair<std::vector<Part>, base::Sha256Digest>> seen;
  for (int i = 0; i < 300; ++i) {
    std::vector<Part> parts(1 + random() % 3);
    for (Part& part : parts)
      part = {"Content-Type: " + std::to_string(random() % 2) + "\r\n", text(8)};
    const auto one = digest("Q1", multipart("Q1", parts));
    ASSERT_TRUE(one);
    ASSERT_EQ(digest("Q22", multipart("Q22", parts)), one);
    for (const auto& [other, form] : seen) {
      const bool same = std::ranges::equal(parts, other, [](const Part& a, const Part& b) {
        return a.head == b.head && a.body == b.body;
      });
      ASSERT_EQ(form == *one, same);
    }
    seen.emplace_back(parts, *one);
  }
}

Fingerprint print(BodyRecipe body_recipe, const std::string& type, const std::string& body,
                  std::uint8_t version = kRecipeVersion) {
  Recipe recipe;
  recipe.body = body_recipe;
  recipe.version = version;
  return make_fingerprint(recipe, {"POST", "/", "", type, body, {}, {}});
}

TEST(MultipartBody, IsTheSameRequestUnderAnotherBoundary) {
  const Fingerprint first =
      print(BodyRecipe::multipart, "multipart/form-data; boundary=one", multipart("one", kUpload));
  EXPECT_EQ(print(BodyRecipe::multipart, "Multipart/Form-Data; boundary=\"two\"",
                  multipart("two", kUpload)),
            first);
  EXPECT_NE(print(BodyRecipe::raw, "multipart/form-data; boundary=one", multipart("one", kUpload)),
            print(BodyRecipe::raw, "multipart/form-data; boundary=two", multipart("two", kUpload)))
      << "a record made under an older recipe is compared under that";
}

TEST(MultipartBody, MalformedIsComparedByItsBytes) {
  const auto of = [](const std::string& body) {
    return print(BodyRecipe::multipart, "multipart/form-data; boundary=b", body);
  };
  EXPECT_EQ(of("--b\r\n\r\nx"), of("--b\r\n\r\nx"));
  EXPECT_NE(of("--b\r\n\r\nx"), of("--b\r\n\r\ny"));
}

// Two payments, and a first part that both have: an executor that takes the other boundary, or goes
// on behind the first one's end, sees what differs.
TEST(MultipartBody, PartsThatOnlySomeExecutorsSeeCount) {
  const auto body = [](const std::string& amount) {
    const std::string hidden = multipart("two", {{kUpload[0].head, amount}});
    return multipart("one", kUpload, "", "\r\n" + hidden);
  };
  std::vector<std::string> types = kAmbiguousTypes;
  types.emplace_back("multipart/form-data; boundary=one");
  for (const std::string& type : types) {
    EXPECT_EQ(print(BodyRecipe::multipart, type, body("1")),
              print(BodyRecipe::multipart, type, body("1")));
    EXPECT_NE(print(BodyRecipe::multipart, type, body("1")),
              print(BodyRecipe::multipart, type, body("2")))
        << type;
    EXPECT_EQ(print(BodyRecipe::multipart, type, body("1"), 1),
              print(BodyRecipe::multipart, type, body("2"), 1))
        << type;
  }
}

TEST(MultipartBody, UnderAnAmbiguousTypeEveryByteCounts) {
  const auto body = [](const std::string& ignored) {
    return multipart("one", {{"X-Ignored: " + ignored + "\r\n" + kUpload[0].head, "1"}});
  };
  const std::string plain = "multipart/form-data; boundary=one";
  ASSERT_EQ(print(BodyRecipe::multipart, plain, body("1")),
            print(BodyRecipe::multipart, plain, body("2")));
  for (const std::string& type : kAmbiguousTypes) {
    EXPECT_NE(print(BodyRecipe::multipart, type, body("1")),
              print(BodyRecipe::multipart, type, body("2")))
        << type;
  }
}

// With another boundary, a reader finds other parts in the same bytes.
TEST(MultipartBody, ComparedByItsBytesTheBoundaryCounts) {
  const std::string both = multipart("one", kUpload) + "\r\n" + multipart("two", {kUpload[0]});
  const auto under = [&](const std::string& parameters, std::uint8_t version = kRecipeVersion) {
    return print(BodyRecipe::multipart, "multipart/form-data; " + parameters, both, version);
  };
  EXPECT_EQ(under("boundary=one"), under("boundary=one"));
  EXPECT_NE(under("boundary=one"), under("boundary=two"));
  EXPECT_NE(under("boundary=one,z"), under("boundary=two,z"));
  EXPECT_NE(under("x-boundary=z; boundary=one"), under("x-boundary=z; boundary=two"));
  EXPECT_EQ(under("boundary=none", 1), under("boundary=nor-this", 1)) << "as it always was";
}

TEST(BodyHash, InPiecesIsTheSameAsWhole) {
  const std::string body = multipart("b", kUpload);
  for (BodyRecipe recipe :
       {BodyRecipe::raw, BodyRecipe::none, BodyRecipe::multipart, BodyRecipe::digest}) {
    Recipe whole;
    whole.body = recipe;
    BodyHash hash(whole, "multipart/form-data; boundary=b");
    for (char c : body) hash.update({&c, 1});
    EXPECT_EQ(hash.finish(), body_digest(whole, "multipart/form-data; boundary=b", body));
  }
}

}  // namespace
}  // namespace semel::core
