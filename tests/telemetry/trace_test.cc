#include "telemetry/tracing/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "telemetry/open_metrics.h"
#include "telemetry/tracing/otlp.h"
#include "telemetry/tracing/span_exporter.h"

namespace semel::telemetry {
namespace {

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr std::string_view kUnsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

TEST(Traceparent, IsReadAndWritten) {
  const auto name = parse_traceparent(kParent);
  ASSERT_TRUE(name);
  EXPECT_TRUE(name->is_sampled());
  EXPECT_EQ(to_hex(name->trace), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(to_hex(name->span), "b7ad6b7169203331");
  EXPECT_EQ(to_traceparent(*name), kParent);
  EXPECT_FALSE(parse_traceparent(kUnsampled)->is_sampled());
  EXPECT_FALSE(parse_traceparent(""));
  EXPECT_FALSE(parse_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
}

// Listens nowhere: what is offered stays in the queue.
std::unique_ptr<SpanExporter> exporter(Metrics& metrics) {
  config::TracingConfig config;
  config.otlp = {false, {"127.0.0.1", 9}, "/v1/traces"};
  return *SpanExporter::start(config, metrics);
}

TEST(Tracer, FollowsTheParentsFlagAndOtherwiseItsShare) {
  Metrics metrics;
  const auto to = exporter(metrics);
  const Tracer never(0, *to);
  const Tracer always(1, *to);
  EXPECT_TRUE(never.begin(kParent, SpanKind::server));
  EXPECT_FALSE(never.begin("", SpanKind::server));
  EXPECT_FALSE(always.begin(kUnsampled, SpanKind::server));
  EXPECT_TRUE(always.begin("", SpanKind::server));
  EXPECT_TRUE(always.begin("garbage", SpanKind::server));
}

TEST(Tracer, MakesIdsThatDiffer) {
  Metrics metrics;
  const auto to = exporter(metrics);
  const Tracer tracer(1, *to);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const Trace trace = tracer.begin("", SpanKind::server);
    const Trace::Part part(&trace, "claim");
    seen.insert(trace.traceparent());
    seen.insert(part.traceparent());
    EXPECT_EQ(part.traceparent().substr(0, 35), trace.traceparent().substr(0, 35));
  }
  EXPECT_EQ(seen.size(), 2000U);
}

TEST(Trace, DoesNothingIfEmpty) {
  Trace empty;
  empty.set_name("POST", "charges");
  empty.set("semel.result", "executed");
  empty.link_to(kParent);
  Trace::Part part(&empty, "claim");
  part.set("a", 1);
  part.end();
  EXPECT_FALSE(part);
  EXPECT_FALSE(Trace::Part(nullptr, "claim"));
  EXPECT_EQ(empty.traceparent(), "");
  EXPECT_EQ(empty.trace_id(), "");
}

TEST(Otlp, WritesSpansAsTheJsonOfTheProtocol) {
  Span span;
  span.self = *parse_traceparent(kParent);
  span.name = "POST charges";
  span.kind = SpanKind::server;
  span.begun_at = 1'700'000'000'000'000'001;
  span.ended_at = 1'700'000'000'000'000'002;
  span.attributes = {{"a", "x\xff\"\n"}, {"n", std::int64_t{200}}};
  span.link = parse_traceparent(kUnsampled);
  span.has_failed = true;
  const auto parsed = boost::json::parse(encode_spans({&span, 1}, "node/run"));
  const auto& encoded = parsed.at_pointer("/resourceSpans/0/scopeSpans/0/spans/0").as_object();
  EXPECT_EQ(encoded.at("traceId"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_FALSE(encoded.contains("parentSpanId"));
  EXPECT_EQ(encoded.at("kind"), 2);
  EXPECT_EQ(encoded.at("startTimeUnixNano"), "1700000000000000001");
  EXPECT_EQ(parsed.at_pointer("/resourceSpans/0/scopeSpans/0/spans/0/attributes/1/value/intValue"),
            "200");
  EXPECT_EQ(encoded.at("links").at(0).at("spanId"), "b7ad6b7169203331");
  EXPECT_EQ(encoded.at("status").at("code"), 2);
}

TEST(Otlp, ReadsHowManySpansWereRejected) {
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":"3"}})"), 3U);
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":3}})"), 3U);
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{"rejectedSpans":-3}})"), 0U);
  EXPECT_EQ(rejected_spans(R"({"partialSuccess":{}})"), 0U);
  EXPECT_EQ(rejected_spans("{}"), 0U);
  EXPECT_EQ(rejected_spans(""), 0U);
  EXPECT_EQ(rejected_spans("<html>"), 0U);
}

TEST(OpenMetrics, PutsTheExemplarWithTheBucketThatTheValueFellInto) {
  Metrics metrics;
  RouteMetrics& route = metrics.route("a \"b\"\n\\");
  route.upstream_took(0.25, std::string(32, 'a'));  // the bound belongs to the bucket
  route.upstream_took(0.26, std::string(32, 'b'));
  route.upstream_took(99, std::string(32, 'c'));
  route.count(RequestResult::executed, std::string(32, 'd'));
  const std::string text = metrics.render({}, Metrics::Format::open_metrics);
  const auto has = [&](std::string_view line) {
    EXPECT_THAT(text, testing::HasSubstr(line)) << line;
  };
  const std::string labels = R"({route="a \"b\"\n\\",le=)";
  const auto exemplar = [](char c) { return " # {trace_id=\"" + std::string(32, c) + "\"} "; };
  has("semel_upstream_seconds_bucket" + labels + "\"0.25\"} 1" + exemplar('a') + "0.25 ");
  has("semel_upstream_seconds_bucket" + labels + "\"0.5\"} 2" + exemplar('b') + "0.26 ");
  has("semel_upstream_seconds_bucket" + labels + "\"+Inf\"} 3" + exemplar('c') + "99 ");
  has(exemplar('d') + "1 ");
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_THAT(metrics.render({}), testing::Not(testing::HasSubstr("trace_id")));
}

}  // namespace
}  // namespace semel::telemetry
