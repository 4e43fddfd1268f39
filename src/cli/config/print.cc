#include "config/printing/print.h"

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "cli/config/config.h"
#include "cli/load_config.h"
#include "core/json_text.h"

namespace semel::cli {
namespace {

struct PrintOptions {
  std::string file;
  bool as_json = false;
};

int print_config(const PrintOptions& options) {
  const auto config = load_config(options.file);
  if (!config) return kExitUsage;
  const std::string yaml = config::print_yaml(*config);
  if (options.as_json) {
    std::puts(core::json_text(boost::json::object{{"file", options.file}, {"yaml", yaml}}).c_str());
  } else {
    std::fputs(yaml.c_str(), stdout);
  }
  return kExitOk;
}

}  // namespace

void add_config_print(CLI::App& group, Run& run) {
  CLI::App* command = group.add_subcommand(
      "print",
      "Print the configuration as it takes effect: every default filled in, profile and defaults "
      "applied, variables replaced, secrets shown as ***");
  auto options = std::make_shared<PrintOptions>();
  add_config_file(*command, options->file, "The configuration file")->required();
  command->add_flag("--json", options->as_json, "Print JSON: the file's name and the YAML");
  command->callback([&run, options] { run = [options] { return print_config(*options); }; });
}

}  // namespace semel::cli
