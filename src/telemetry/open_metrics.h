#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <vector>

#include "telemetry/exemplars.h"

// The OpenMetrics text format 1.0. Unlike the older one it has exemplars, which prometheus-cpp does
// not know.
namespace semel::telemetry {

inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// Returns name{label="value",…}, as a line of the text begins.
std::string series_name(std::string_view name, const MetricLabels& labels);
// Returns the series of a histogram's bucket with this upper bound.
std::string bucket_name(std::string_view histogram, MetricLabels labels, double upper_bound);

// Counters must be named …_total.
std::string render_open_metrics(const std::vector<prometheus::MetricFamily>& families,
                                const Exemplars& exemplars);

}  // namespace semel::telemetry
