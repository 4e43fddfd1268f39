#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/config/config.h"
#include "cli/config/named_files.h"
#include "cli/load_config.h"
#include "config/error.h"
#include "config/read_file.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

struct CheckOptions {
  std::string file;
  bool without_files = false;
  bool as_json = false;
};

json::array list_of(const std::vector<config::ConfigError>& errors) {
  json::array list;
  for (const config::ConfigError& error : errors) list.push_back(config::to_string(error).c_str());
  return list;
}

// Prints what was found as JSON. Returns the exit code.
int check_as_json(const CheckOptions& options) {
  const config::ConfigOutcome outcome = config::read_config(options.file);
  json::array errors = list_of(outcome.errors);
  if (outcome.config && !options.without_files) {
    for (const std::string& why : find_unusable_files(*outcome.config)) {
      errors.push_back((options.file + ": " + why).c_str());
    }
  }
  const bool is_usable = errors.empty();
  std::puts(json::serialize(json::object{{"file", options.file},
                                         {"usable", is_usable},
                                         {"errors", std::move(errors)},
                                         {"warnings", list_of(outcome.warnings)}})
                .c_str());
  return is_usable ? kExitOk : kExitUsage;
}

int check_config(const CheckOptions& options) {
  if (options.as_json) return check_as_json(options);
  const auto config = load_config(options.file);
  if (!config) return kExitUsage;
  bool is_usable = true;
  if (!options.without_files) {
    for (const std::string& why : find_unusable_files(*config)) {
      std::fprintf(stderr, "%s: %s\n", options.file.c_str(), why.c_str());
      is_usable = false;
    }
  }
  if (!is_usable) return kExitUsage;
  std::printf("%s: ok, %zu route%s\n", options.file.c_str(), config->routes.size(),
              config->routes.size() == 1 ? "" : "s");
  for (const config::ConsumeConfig& entry : config->consume) {
    if (!entry.is_for_function()) continue;
    std::printf("consume '%s' has no to: it is for a program with its own function\n",
                entry.route.name.c_str());
  }
  return kExitOk;
}

}  // namespace

void add_config_check(CLI::App& group, Run& run) {
  CLI::App* command = group.add_subcommand(
      "check",
      "Check a configuration file and the files it names: print every error with its line, its key "
      "and what to do");
  auto options = std::make_shared<CheckOptions>();
  add_config_file(*command, options->file, "The configuration file")->required();
  command->add_flag("--no-files", options->without_files,
                    "Do not open the certificates, keys and secrets that it names: they are on "
                    "another machine");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->callback([&run, options] { run = [options] { return check_config(*options); }; });
}

}  // namespace semel::cli
