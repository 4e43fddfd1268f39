#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "semel/driver/fingerprint.h"

namespace semel::core {

// Limits beyond which a body is not read as multipart. They are part of what a fingerprint means.
inline constexpr std::size_t kPartHeadBytesMax = 16 * 1024;
inline constexpr std::size_t kBoundaryBytesMax = 70;  // RFC 2046

// Computes the digest of a multipart body (RFC 2046), fed piece by piece: the sequence of its
// parts, whatever the boundary is. How the pieces are cut makes no difference; memory is bounded by
// kPartHeadBytesMax and one piece.
//
//   digest = SHA-256( *part )
//   part   = "p" count *( sized(name) sized(value) ) SHA-256(body)      ; numbers u32 little-endian
//
// Fields are sorted by their lower-case names. For multipart/form-data only the fields count that
// RFC 7578 gives a meaning: Content-Disposition, Content-Type, Content-Transfer-Encoding; for other
// types all fields except Content-Length. Content-Disposition and Content-Type are compared by
// their parameters (since version 2 of the recipe: strict_parameters() in media_type.h), other
// fields by their bytes. A part that is itself multipart counts byte for byte, including its
// boundary.
//
// If two bodies that an executor reads differently had the same digest, the second would be
// answered with the first one's answer; so a body that is not strictly well-formed has no digest.
// Version 1 of the recipe is more lenient than version 2: it accepts any text before the first
// delimiter and after the closing one, any printable boundary, and a Content-Type in which
// executors find different boundaries.
class MultipartDigest {
 public:
  explicit MultipartDigest(std::string_view content_type,
                           std::uint8_t recipe_version = kRecipeVersion);

  void update(std::string_view piece);
  // nullopt: no boundary, or the body is not well-formed: bare line feeds, folded or malformed
  // fields, a line that begins like the boundary and continues, no closing delimiter, no part.
  // Since version 2 also: anything but line ends before the first delimiter or after the closing
  // one, a boundary with characters other than letters, digits and '()+_-./:=? and a Content-Type
  // that mentions "boundary" elsewhere too.
  std::optional<base::Sha256Digest> finish();

 private:
  enum class State { preamble, after_delimiter, head, body, epilogue, malformed };

  std::string_view rest() const { return std::string_view(pending_).substr(consumed_); }
  void consume();
  // False: more bytes are needed.
  bool find_delimiter();
  bool end_delimiter_line();
  bool read_epilogue();
  bool read_head();
  bool begin_part(std::string_view head);
  void end_part();

  bool form_data_;
  const std::uint8_t recipe_version_;
  std::string delimiter_;  // CRLF "--" boundary
  State state_ = State::preamble;
  std::string pending_;       // bytes left over from earlier updates, then those of this update
  std::size_t consumed_ = 0;  // bytes of pending_ that are done with
  base::Sha256 whole_;
  std::optional<base::Sha256> part_;
  std::size_t parts_ = 0;
};

}  // namespace semel::core
