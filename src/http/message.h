#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace semel::http {

// Views into Message::head.
struct Field {
  std::string_view name;
  std::string_view value;
};

// Both must have the same length.
bool same_letters(std::string_view a, std::string_view b);
// Nearly all names already differ in their length.
inline bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a, b);
}

// An incoming HTTP/1 message: the head, and the state of its body. Beast's parser handles the
// grammar; this class keeps what it finds without copying it field by field.
template <bool is_request>
class Message final : public boost::beast::http::basic_parser<is_request> {
 public:
  Message();

  // Parses a complete head, including the empty line. Returns what is wrong with it, or nullopt.
  std::optional<std::string> parse_head(std::string_view bytes);

  std::string_view method() const { return method_; }
  std::string_view target() const { return target_; }
  int status() const { return status_; }
  int http_version() const { return version_; }
  const std::vector<Field>& fields() const { return fields_; }
  // Returns the first field with that name; nullopt: there is none.
  std::optional<std::string_view> field(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  bool has_body() const { return !this->is_done(); }
  std::optional<std::uint64_t> body_length() const;

  // Returns the piece of body that the last put() found. A view into the bytes that were put.
  std::string_view take_piece() { return std::exchange(piece_, {}); }

 private:
  using error_code = boost::beast::error_code;
  using sv = boost::beast::string_view;
  void on_request_impl(boost::beast::http::verb, sv method, sv target, int version,
                       error_code&) override;
  void on_response_impl(int code, sv, int version, error_code&) override;
  void on_field_impl(boost::beast::http::field, sv name, sv value, error_code&) override;
  void on_header_impl(error_code&) override { head_done_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(sv body, error_code&) override;
  void on_chunk_header_impl(std::uint64_t, sv, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, sv body, error_code&) override;
  void on_finish_impl(error_code&) override {}

  std::optional<std::string> framing_error() const;

  std::string head_;
  std::string_view method_;
  std::string_view target_;
  std::vector<Field> fields_;
  std::string_view piece_;
  int status_ = 0;
  int version_ = 11;
  bool head_done_ = false;
};

using Request = Message<true>;
using Response = Message<false>;

}  // namespace semel::http
