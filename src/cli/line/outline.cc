#include "cli/line/outline.h"

#include <sstream>

namespace semel::cli {
namespace {

// CLI11 names the type of a value after its C++ type, and lists what is allowed behind a colon.
std::string value_name(const std::string& type) {
  const std::string name = type.substr(0, type.find(':'));
  if (name == "INT" || name == "UINT" || name == "FLOAT") return "NUMBER";
  return name;
}

// Returns a, b and c of "TEXT:{a,b,c}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || !type.ends_with('}')) return {};
  std::istringstream words(type.substr(begin + 2, type.size() - begin - 3));
  std::vector<std::string> choices;
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

OptionOutline outline_of_option(const CLI::Option& option) {
  OptionOutline out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_positional()) out.place = option.get_name(true);
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    out.value = value_name(type);
    out.choices = choices_in(type);
  }
  out.help = option.get_description();
  out.fallback = option.get_default_str();
  out.required = option.get_required();
  out.repeated = option.get_expected_max() > 1;
  return out;
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? path_of(*parent) + " " + command.get_name() : "semel";
}

const CLI::App* find_command(const CLI::App& group, const std::string& name) {
  for (const CLI::App* command : commands_of(group)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

CommandOutline outline_of(const CLI::App& command) {
  CommandOutline out;
  out.path = path_of(command);
  out.name = command.get_parent() ? command.get_name() : "semel";
  out.group = command.get_group();
  out.help = command.get_description();
  out.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    out.options.push_back(outline_of_option(*option));
  }
  for (const CLI::App* below : commands_of(command)) out.commands.push_back(outline_of(*below));
  return out;
}

std::string shown_name(const OptionOutline& option) {
  if (option.names.empty()) return option.place;
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + name;
  return option.value.empty() ? text : text + " " + option.value;
}

std::string usage_of(const CommandOutline& command) {
  std::string text = command.path;
  if (!command.commands.empty()) return text + " COMMAND";
  text += " [OPTIONS]";
  for (const OptionOutline& option : command.options) {
    if (option.place.empty()) continue;
    const std::string place = option.place + (option.repeated ? "..." : "");
    text += option.required ? " " + place : " [" + place + "]";
  }
  return text;
}

}  // namespace semel::cli
