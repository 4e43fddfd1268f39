#include <cstdio>
#include <memory>

#include "cli/commands.h"

// The scripts know nothing about the commands: at each key press they ask this program
// (line/candidates.h), so they are never out of date.
namespace semel::cli {
namespace {

constexpr const char* kBash = R"(# semel completion bash
_semel() {
  local program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]} word help
  COMPREPLY=()
  [ "$current" = = ] && current=
  while IFS=$'\t' read -r word help; do
    case $word in
      :file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
      :folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <("$program" __candidates "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _semel semel
)";

constexpr const char* kZsh = R"(#compdef semel
_semel() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" __candidates "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :file) compset -P '--*='; _files; return ;;
      :folder) compset -P '--*='; _files -/; return ;;
      ?*) found+=("${line%%$'\t'*}:${line#*$'\t'}") ;;
    esac
  done
  _describe semel found
}
if [ "$funcstack[1]" = _semel ]; then
  _semel "$@"
else
  compdef _semel semel
fi
)";

constexpr const char* kFish = R"(# semel completion fish
function __semel_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __candidates $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':file'
                __fish_complete_path "$current"
            case ':folder'
                __fish_complete_directories "$current" ''
            case '*'
                echo $line
        end
    end
end
complete -c semel -f -a '(__semel_candidates)'
)";

int print_script(const std::string& shell) {
  const char* script = kBash;
  if (shell == "zsh") script = kZsh;
  if (shell == "fish") script = kFish;
  std::fputs(script, stdout);
  return kExitOk;
}

}  // namespace

void add_completion(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("completion", "Print a script with which a shell completes commands");
  command->group(kGroupLearn);
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "bash: eval \"$(semel completion bash)\" in ~/.bashrc\n"
      "zsh:  semel completion zsh > \"${fpath[1]}/_semel\"\n"
      "fish: semel completion fish > ~/.config/fish/completions/semel.fish\n"
      "An installation has them in place.");
  command->callback([&run, shell] { run = [shell] { return print_script(*shell); }; });
}

}  // namespace semel::cli
