#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "cli/admin/command.h"
#include "cli/admin/pages.h"
#include "cli/commands.h"
#include "cli/line/progress.h"
#include "cli/line/terminal.h"
#include "cli/reconcile/effect.h"
#include "cli/reconcile/effect_source.h"
#include "cli/reconcile/judge.h"
#include "cli/reconcile/ledger.h"
#include "cli/reconcile/utc_time.h"
#include "core/fingerprint/keyed_hash.h"
#include "core/json_text.h"
#include "runtime/key_material.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr int kExitDiffers = 1;
constexpr int kExitNotCompared = 4;

struct ReconcileOptions {
  AdminOptions admin;
  std::string effects;
  std::string operation;
  std::string tenant;
  Window window;
  bool as_json = false;
};

// Returns the form in which the store keeps keys, as far as the configuration tells it.
using KeptKey = std::function<std::string(const std::string& key)>;

std::expected<KeptKey, std::string> kept_key_of(const AdminClient& admin) {
  const auto& config = admin.config();
  if (!config || config->store_keys == config::StoreKeys::plain) {
    return [](const std::string& key) { return key; };
  }
  auto material = runtime::KeyMaterial::load(*config, {});
  if (!material) return std::unexpected(std::move(material.error()));
  return [keys = std::move(material->hash_keys)](const std::string& key) {
    return core::key_digest(key, keys.empty() ? nullptr : &keys.front());
  };
}

// Compares one list of effects with the records.
class Reconciliation {
 public:
  Reconciliation(const ReconcileOptions& options, AdminClient& admin, Ledger ledger,
                 KeptKey kept_key)
      : options_(options),
        admin_(admin),
        ledger_(std::move(ledger)),
        kept_key_(std::move(kept_key)) {}

  int run() {
    if (auto read = read_effects(); !read) return complain(read.error(), kExitNotCompared);
    if (const int code = read_records(); code != kExitOk) return code;
    auto judged = ledger_.for_each_group([this](const std::vector<Entry>& group) {
      for (const Finding& finding : judge_group(group, options_.window, undecided_)) {
        ++counts_[finding.kind];
        report(finding);
      }
    });
    if (!judged) return complain(judged.error(), kExitNotCompared);
    sum_up();
    return counts_.empty() ? kExitOk : kExitDiffers;
  }

 private:
  std::expected<void, std::string> read_effects();
  int read_records();
  // Returns what an effect and its record have in common: all that the effects name.
  std::string identity_of(std::string_view record, std::string_view key, std::string_view tenant,
                          std::string_view operation) const;
  void report(const Finding& finding) const;
  void sum_up() const;

  const ReconcileOptions& options_;
  AdminClient& admin_;
  Ledger ledger_;
  const KeptKey kept_key_;
  EffectParser parser_;
  std::uint64_t effects_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t undecided_ = 0;
  std::map<Finding::Kind, std::uint64_t> counts_;
};

std::string Reconciliation::identity_of(std::string_view record, std::string_view key,
                                        std::string_view tenant, std::string_view operation) const {
  if (parser_.has("record")) return std::string(record);
  json::array parts{json::string(key)};
  if (parser_.has("tenant")) parts.push_back(json::string(tenant));
  if (parser_.has("operation")) parts.push_back(json::string(operation));
  return json::serialize(parts);
}

std::expected<void, std::string> Reconciliation::read_effects() {
  Progress progress("effects read");
  std::string wrong;
  const auto take = [&](std::string_view line) {
    auto effect = parser_.take(line);
    if (!effect) {
      wrong = options_.effects + ", " + effect.error();
      return false;
    }
    if (!*effect) return true;
    const Effect& one = **effect;
    const auto is_other = [](const std::string& wanted, const std::string& given) {
      return !wanted.empty() && !given.empty() && wanted != given;
    };
    if (is_other(options_.operation, one.operation) || is_other(options_.tenant, one.tenant)) {
      return true;
    }
    json::object shown{{"line", one.line}};
    for (const auto& [name, value] : {std::pair("record", &one.record),
                                      {"key", &one.key},
                                      {"tenant", &one.tenant},
                                      {"operation", &one.operation},
                                      {"resource_id", &one.resource},
                                      {"time", &one.time}}) {
      if (!value->empty()) shown[name] = *value;
    }
    auto added =
        ledger_.add({Entry::Side::effect,
                     identity_of(one.record, kept_key_(one.key), one.tenant, one.operation),
                     core::json_text(shown)});
    if (!added) wrong = added.error();
    ++effects_;
    progress.add(1);
    return added.has_value();
  };
  if (auto read = read_lines(options_.effects, take); !read) return read;
  if (!wrong.empty()) return std::unexpected(wrong);
  if (parser_.lines() == 0) return std::unexpected(options_.effects + " is empty");
  return {};
}

int Reconciliation::read_records() {
  json::object filter;
  if (!options_.operation.empty()) filter["operation"] = options_.operation;
  if (!options_.tenant.empty()) filter["tenant"] = options_.tenant;
  Progress progress("records read");
  const PagesEnd end = for_each_item(
      admin_, {"/api/keys", query_of(filter)}, "keys", [&](const json::value& record) {
        json::object shown;
        for (const char* name :
             {"id", "key", "tenant", "operation", "state", "status", "created_at"}) {
          shown[name] = record.at(name);
        }
        const auto text = [&](const char* name) {
          return json::value_to<std::string>(record.at(name));
        };
        auto added =
            ledger_.add({Entry::Side::record,
                         identity_of(text("id"), text("key"), text("tenant"), text("operation")),
                         core::json_text(shown)});
        if (!added) return complain(added.error(), kExitNotCompared);
        ++records_;
        progress.add(1);
        return kExitOk;
      });
  return end.code == kExitOk || end.code == kExitUsage ? end.code : kExitNotCompared;
}

std::string_view heading_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::effect_without_record:
      return "effect without a record";
    case Finding::Kind::record_without_effect:
      return "record without an effect";
    case Finding::Kind::several_effects:
      return "several effects of one key";
    case Finding::Kind::effect_of_failed_record:
      return "effect, though the record says that nothing happened";
  }
  return "";
}

// "key k1, tenant t, line 3"
std::string shown_effect(const json::object& effect) {
  std::string out;
  for (const char* name : {"key", "record", "tenant", "operation", "resource_id", "time", "line"}) {
    const std::string value = text_of(effect, name);
    if (!value.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value);
  }
  return out;
}

std::string shown_record(const json::object& record) {
  std::string out = fmt::format("record {}, key {}", text_of(record, "id"), text_of(record, "key"));
  for (const char* name : {"tenant", "operation", "state", "status", "created_at"}) {
    const std::string value = text_of(record, name);
    if (!value.empty()) out += fmt::format(", {} {}", name, value);
  }
  return out;
}

void Reconciliation::report(const Finding& finding) const {
  if (options_.as_json) {
    print_json(
        json::object{{"finding", to_string(finding.kind)},
                     {"effects", json::array(finding.effects.begin(), finding.effects.end())},
                     {"records", json::array(finding.records.begin(), finding.records.end())}});
    return;
  }
  std::puts(style_of(stdout).heading(heading_of(finding.kind)).c_str());
  for (const json::object& effect : finding.effects) {
    std::puts(("  " + shown_effect(effect)).c_str());
  }
  for (const json::object& record : finding.records) {
    std::puts(("  " + shown_record(record)).c_str());
  }
}

void Reconciliation::sum_up() const {
  const auto count = [&](Finding::Kind kind) -> std::uint64_t {
    const auto found = counts_.find(kind);
    return found == counts_.end() ? 0 : found->second;
  };
  using enum Finding::Kind;
  if (options_.as_json) {
    json::object sums{{"effects", effects_}, {"records", records_}, {"agree", counts_.empty()}};
    for (const Finding::Kind kind :
         {effect_without_record, record_without_effect, several_effects, effect_of_failed_record}) {
      sums[to_string(kind)] = count(kind);
    }
    sums["unknown_with_effect"] = undecided_;
    print_json(json::object{{"sum", std::move(sums)}});
    return;
  }
  fmt::print("{} effects and {} records compared: ", effects_, records_);
  if (counts_.empty()) {
    fmt::print("they agree\n");
  } else {
    fmt::print(
        "{} effects without a record, {} records without an effect, {} keys with several effects, "
        "{} effects of failed records\n",
        count(effect_without_record), count(record_without_effect), count(several_effects),
        count(effect_of_failed_record));
  }
  if (undecided_ > 0) {
    fmt::print(
        "{} records of unknown or running work have an effect: it did happen, so resolve the "
        "unknown ones (semel keys resolve)\n",
        undecided_);
  }
}

// Takes the times of the window in UTC. Returns what is wrong with them, or nullopt.
std::optional<std::string> normalize(Window& window) {
  for (std::string* time : {&window.since, &window.until}) {
    if (time->empty()) continue;
    auto utc = utc_time(*time);
    if (!utc) return fmt::format("'{}' is no time; write it like 2026-01-31T00:00:00Z", *time);
    *time = *std::move(utc);
  }
  return std::nullopt;
}

int reconcile(ReconcileOptions options) {
  if (const auto wrong = normalize(options.window)) return complain(*wrong, kExitUsage);
  auto admin = AdminClient::open(options.admin);
  if (!admin) return complain(admin.error(), kExitUsage);
  auto kept_key = kept_key_of(*admin);
  if (!kept_key) return complain(kept_key.error(), kExitNotCompared);
  auto ledger = Ledger::open();
  if (!ledger) return complain(ledger.error(), kExitNotCompared);
  return Reconciliation(options, *admin, *std::move(ledger), *std::move(kept_key)).run();
}

}  // namespace

void add_reconcile(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "reconcile",
      "Compare a list of effects with the records: effects without a record, records without an "
      "effect, keys with several effects");
  command->group(kGroupOperate);
  const auto options = std::make_shared<ReconcileOptions>();
  add_admin_options(*command, options->admin, true);
  command
      ->add_option("--effects", options->effects,
                   "The effects: a file (- for standard input), or a URL; one JSON object per "
                   "line, or CSV with a header. Names: key or record, tenant, operation, "
                   "resource_id, time")
      ->type_name("FILE|URL")
      ->required();
  command->add_option("--operation", options->operation,
                      "Compare only effects and records of this operation");
  command->add_option("--tenant", options->tenant,
                      "Compare only effects and records of this tenant");
  command
      ->add_option(
          "--since", options->window.since,
          "Report no differences from before this time, like 2026-01-31T00:00:00Z: records "
          "expire, effects do not")
      ->type_name("TIME");
  command
      ->add_option(
          "--until", options->window.until,
          "Report no differences from this time on: what is newer than the list of effects")
      ->type_name("TIME");
  command->add_flag("--json", options->as_json,
                    "Print each difference, and the sum at the end, as a line of JSON");
  command->footer(
      "Exit codes: 0 they agree, 1 there are differences, 2 bad command line,\n"
      "4 they cannot be compared (no answer, or the effects cannot be read).");
  command->callback([&run, options] { run = [options] { return reconcile(*options); }; });
}

}  // namespace semel::cli
