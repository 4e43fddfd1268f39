#include "telemetry/open_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace semel::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::string_view kTotal = "_total";

// Written like prometheus-cpp writes it: a series has the same labels in both formats.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "unknown";
  }
}

class Page {
 public:
  explicit Page(const Exemplars& exemplars) : exemplars_(exemplars) {}

  void add(const MetricFamily& family) {
    std::string_view name = family.name;
    if (family.type == MetricType::Counter && name.ends_with(kTotal)) {
      name.remove_suffix(kTotal.size());
    }
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help), name,
                         type_name(family.type));
    for (const ClientMetric& metric : family.metric) {
      switch (family.type) {
        case MetricType::Counter:
          add_line(series_name(family.name, metric.label), metric.counter.value);
          break;
        case MetricType::Histogram:
          add_histogram(family.name, metric);
          break;
        case MetricType::Gauge:
          add_line(series_name(family.name, metric.label), metric.gauge.value);
          break;
        default:
          add_line(series_name(family.name, metric.label), metric.untyped.value);
          break;
      }
    }
  }

  std::string end() { return std::move(text_) + "# EOF\n"; }

 private:
  void add_line(const std::string& series, double value) {
    text_ += series + " " + number(value);
    if (const auto exemplar = exemplars_.find(series)) {
      const auto ms = exemplar->at.time_since_epoch().count();
      text_ += fmt::format(" # {{trace_id=\"{}\"}} {} {}.{:03}", exemplar->trace_id,
                           number(exemplar->value), ms / 1000, ms % 1000);
    }
    text_ += "\n";
  }

  void add_histogram(const std::string& name, const ClientMetric& metric) {
    for (const ClientMetric::Bucket& bucket : metric.histogram.bucket) {
      add_line(bucket_name(name, metric.label, bucket.upper_bound),
               static_cast<double>(bucket.cumulative_count));
    }
    add_line(series_name(name + "_count", metric.label),
             static_cast<double>(metric.histogram.sample_count));
    add_line(series_name(name + "_sum", metric.label), metric.histogram.sample_sum);
  }

  const Exemplars& exemplars_;
  std::string text_;
};

}  // namespace

std::string series_name(std::string_view name, const MetricLabels& labels) {
  std::string out(name);
  for (const ClientMetric::Label& label : labels) {
    out += fmt::format("{}{}=\"{}\"", out.size() == name.size() ? "{" : ",", label.name,
                       escaped(label.value));
  }
  if (!labels.empty()) out += "}";
  return out;
}

std::string bucket_name(std::string_view histogram, MetricLabels labels, double upper_bound) {
  labels.push_back({"le", number(upper_bound)});
  return series_name(std::string(histogram) + "_bucket", labels);
}

std::string render_open_metrics(const std::vector<MetricFamily>& families,
                                const Exemplars& exemplars) {
  Page page(exemplars);
  for (const MetricFamily& family : families) page.add(family);
  return page.end();
}

}  // namespace semel::telemetry
