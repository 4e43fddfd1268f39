#include <fmt/format.h>

#include "base/percent.h"
#include "check/lab.h"

// DELETE is idempotent in its effect, but not in its answer: only a key makes that so.
namespace semel::check {
namespace {

Finding delete_twice(Lab& lab) {
  const Answer made = lab.send(lab.request(lab.new_key(), lab.payload()));
  const auto values = lab.witness().values(made);
  std::string path = *lab.options().extra("--delete-path");
  const std::size_t at = path.find("{{witness}}");
  if (at != std::string::npos) {
    if (values.empty()) return unproven("the answer has no witness to delete by");
    path.replace(at, std::string_view("{{witness}}").size(), base::percent_encoded(values.front()));
  }
  Request request = lab.request(lab.new_key(), "");
  request.method = "DELETE";
  request.path = path;
  const Answer first = lab.send(request);
  if (!first.ok()) return unproven("the first DELETE got " + first.shown());
  const Answer retry = lab.settle(request);
  if (retry.status == first.status) return passed();
  return failed(fmt::format("the first DELETE got {}, its retry {}", first.shown(), retry.shown()));
}

constexpr Check kDelete[] = {
    {"delete/twice", Level::profile, "RFC 9110 9.2.2",
     "the second DELETE with a key gets the first one's answer", "--delete-path", 3, 1,
     delete_twice},
};

}  // namespace

std::span<const Check> delete_checks() {
  return kDelete;
}

}  // namespace semel::check
