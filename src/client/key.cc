#include "base/random.h"
#include "client/clock.h"
#include "client/uuid.h"
#include "semel/claim.h"
#include "semel/client.h"

namespace semel {
namespace {

std::string make_uuid(Key::Format format) {
  client::RandomBytes random;
  base::fill_random(random.data(), random.size());
  return format == Key::Format::v7 ? client::uuid_v7(random, client::wall_now())
                                   : client::uuid_v4(random);
}

}  // namespace

Key::Key(Kind kind, std::string text, std::string name)
    : kind_(kind), text_(std::move(text)), name_(std::move(name)) {}

Key Key::fresh(Format format) {
  return {Kind::fresh, make_uuid(format), ""};
}

Key Key::named(std::string name, Format format) {
  return {Kind::named, make_uuid(format), std::move(name)};
}

Key Key::given(std::string key) {
  return {Kind::given, std::move(key), ""};
}

Key Key::derived(const Claim& claim, std::string_view label) {
  return {Kind::given, claim.derive(label), ""};
}

Key Key::none() {
  return {Kind::none, "", ""};
}

}  // namespace semel
