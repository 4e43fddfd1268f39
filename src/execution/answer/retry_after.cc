#include "execution/answer/retry_after.h"

#include <algorithm>

namespace semel::execution {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Since the record came into its state: a renewed lease does not count.
Duration age_of(const Record& record, Time now) {
  return now > record.updated_at ? now - record.updated_at : Duration{0};
}

}  // namespace

Duration retry_after_in_progress(const config::RouteConfig& route, double usual_seconds,
                                 const Record& record, Time now) {
  if (route.retry_after.in_progress) return *route.retry_after.in_progress;
  const auto usual =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(usual_seconds));
  return std::clamp<Duration>(usual - age_of(record, now), seconds(1), seconds(30));
}

Duration retry_after_unknown(const config::RouteConfig& route, const Record& record, Time now) {
  if (route.retry_after.unknown) return *route.retry_after.unknown;
  return std::clamp<Duration>(age_of(record, now), minutes(1), minutes(15));
}

std::string retry_after_text(Duration pause) {
  return std::to_string(std::max<std::int64_t>(1, std::chrono::ceil<seconds>(pause).count()));
}

}  // namespace semel::execution
