#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>

#include "base/utf8.h"
#include "check/report/report.h"
#include "core/json_text.h"

namespace semel::check {
namespace {

namespace json = boost::json;

json::object grade_json(const Report& report, Level level) {
  const Grade grade = grade_of(report, level);
  return {{"passed", grade.passed}, {"graded", grade.graded}};
}

json::value result_json(const Result& result) {
  json::array exchanges;
  for (const Shown& one : result.exchanges) {
    exchanges.push_back(json::object{
        {"request", one.request}, {"key", one.key}, {"answer", one.answer}, {"body", one.body}});
  }
  json::object out{{"id", result.check.id},
                   {"level", name_of(result.check.level)},
                   {"section", result.check.section},
                   {"what", result.check.what},
                   {"verdict", name_of(result.finding.verdict)},
                   {"why", base::printable_utf8(result.finding.why)},
                   {"exchanges", std::move(exchanges)}};
  if (!result.check.needs.empty()) out["needs"] = result.check.needs;
  return out;
}

}  // namespace

std::string json_report(const Report& report, const Options& options) {
  json::array checks;
  for (const Result& result : report.results) checks.push_back(result_json(result));
  json::object behaviour;
  for (const auto& [topic, how] : report.behaviour) behaviour[topic] = base::printable_utf8(how);
  json::array witness;
  for (const std::string& place : report.witness)
    witness.push_back(json::string(base::printable_utf8(place)));
  const json::object out{{"version", 1},
                         {"tool", "semel-check/" SEMEL_VERSION},
                         {"url", report.url},
                         {"method", report.method},
                         {"requests", report.requests},
                         {"effects", report.effects},
                         {"counted", report.counted},
                         {"seconds", std::round(report.seconds * 10) / 10},
                         {"witness", std::move(witness)},
                         {"unusable", base::printable_utf8(report.unusable)},
                         {"stopped", report.stopped},
                         {"exit", exit_code(report, options)},
                         {"grades", json::object{{"safety", grade_json(report, Level::safety)},
                                                 {"draft", grade_json(report, Level::draft)},
                                                 {"profile", grade_json(report, Level::profile)}}},
                         {"behaviour", std::move(behaviour)},
                         {"checks", std::move(checks)}};
  return core::json_text(out) + "\n";
}

}  // namespace semel::check
