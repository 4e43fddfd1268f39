#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/error.h"

// The YAML file as plain data, before anybody asks what it means. A hostile file is refused in
// bounded time and memory: size, nesting and the number of nodes (aliases count each time they are
// used) have limits.
namespace semel::config_file {

inline constexpr std::size_t kFileBytesMax = 1024 * 1024;
inline constexpr int kNestingMax = 16;
inline constexpr std::size_t kNodesMax = 50'000;
inline constexpr std::size_t kTextBytesMax = 4 * 1024 * 1024;

enum class NodeKind {
  null,
  scalar,
  sequence,
  mapping,
  broken,  // already reported; says no more
};

struct Node {
  NodeKind kind = NodeKind::null;
  int line = 0;                // from 1; of the key, in a mapping
  std::string name;            // its key, in a mapping
  std::string text;            // scalar: the value, with variables expanded
  std::string written;         // scalar: as it stands in the file, without anybody's secrets
  std::vector<Node> children;  // sequence, mapping

  const Node* find(std::string_view child_name) const;
};

// What reading the file has found so far.
struct Report {
  std::string file;
  std::vector<ConfigError> errors;
  std::vector<ConfigError> warnings;
};

// The root of the file's one document. Unset variables and keys given twice are reported, and what
// is left can still be read; everything else that is wrong here is the one error returned.
std::expected<Node, ConfigError> load_tree(std::string_view yaml, const Environment& environment,
                                           Report& report);

std::string member_path(const std::string& parent, std::string_view name);
std::string item_path(const std::string& parent, std::size_t index);

}  // namespace semel::config_file
