#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// The commands and options of the program as plain data. Help, completion and manual pages are all
// written from it, so they cannot differ.
namespace semel::cli {

struct OptionOutline {
  std::vector<std::string> names;    // "--config", "-h"; empty: it has no name, only a place
  std::string place;                 // "FILE", where it may stand without its name; "": nowhere
  std::string value;                 // "FILE"; "": a flag
  std::vector<std::string> choices;  // the only values it takes; empty: any
  std::string help;
  std::string fallback;  // the value it has if it is not given; "": none
  bool required = false;
  bool repeated = false;  // may be given more than once
};

struct CommandOutline {
  std::string path;  // "semel keys ls"
  std::string name;  // "ls"
  std::string group;
  std::string help;
  std::string footer;
  std::vector<OptionOutline> options;
  std::vector<CommandOutline> commands;
};

// Describes a command and everything below it.
CommandOutline outline_of(const CLI::App& command);

// Returns the command of this name directly below `group`; nullptr: there is none.
const CLI::App* find_command(const CLI::App& group, const std::string& name);

// Returns "semel keys ls".
std::string path_of(const CLI::App& command);

// Returns the commands of an application, in the order in which they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

// "--config FILE"; "FILE", if it has no name.
std::string shown_name(const OptionOutline& option);
// "semel keys show [OPTIONS] ID"
std::string usage_of(const CommandOutline& command);

}  // namespace semel::cli
