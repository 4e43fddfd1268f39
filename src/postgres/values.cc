#include "postgres/values.h"

#include <array>

namespace semel::postgres {
namespace {

// Writes the lowest `bytes` bytes of the value, big-endian.
void write_number(std::int64_t value, int bytes, char* out) {
  auto rest = static_cast<std::uint64_t>(value);
  for (int i = bytes - 1; i >= 0; --i, rest >>= 8) out[i] = static_cast<char>(rest);
}

void append_number(std::int64_t value, int bytes, std::string& out) {
  std::array<char, 8> buffer;
  write_number(value, bytes, buffer.data());
  out.append(buffer.data(), static_cast<std::size_t>(bytes));
}

std::int64_t to_number(std::string_view bytes) {
  if (bytes.empty()) return 0;
  std::uint64_t value = bytes[0] & 0x80 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(value);
}

PgValue number_of(std::int64_t value, int bytes) {
  std::string out;
  append_number(value, bytes, out);
  return {std::move(out)};
}

int width_of(PgType element) {
  switch (element) {
    case PgType::int2:
      return 2;
    case PgType::int4:
      return 4;
    case PgType::int8:
      return 8;
    default:
      return 0;
  }
}

// ndim, has_nulls, element type, size, lower bound.
constexpr std::size_t kArrayHeadBytes = 20;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kColumnHeadBytes = 8;  // type and length

}  // namespace

PgValue pg_boolean(bool value) {
  return number_of(value ? 1 : 0, 1);
}
PgValue pg_int4(std::int32_t value) {
  return number_of(value, 4);
}
PgValue pg_int8(std::int64_t value) {
  return number_of(value, 8);
}
PgValue pg_bytea(std::string_view bytes) {
  return {std::string(bytes)};
}
PgValue pg_text(std::string_view text) {
  return {std::string(text)};
}

PgArray::PgArray(Oid element, std::size_t elements)
    : number_bytes_(width_of(static_cast<PgType>(element))) {
  // An array without elements has no dimension.
  append_number(elements == 0 ? 0 : 1, 4, out_);
  append_number(0, 4, out_);
  append_number(static_cast<std::int64_t>(element), 4, out_);
  if (elements == 0) return;
  append_number(static_cast<std::int64_t>(elements), 4, out_);
  append_number(1, 4, out_);
}

void PgArray::add(std::string_view bytes) {
  append_number(static_cast<std::int64_t>(bytes.size()), 4, out_);
  out_ += bytes;
}

void PgArray::add_number(std::int64_t value) {
  append_number(number_bytes_, 4, out_);
  append_number(value, number_bytes_, out_);
}

PgValue PgArray::take() && {
  return {std::move(out_)};
}

PgComposite::PgComposite(int columns, std::size_t bytes) {
  out_.reserve(bytes + kColumnHeadBytes * static_cast<std::size_t>(columns));
  append_number(columns, 4, out_);
}

void PgComposite::add(PgType type, std::string_view bytes) {
  append_number(static_cast<std::int64_t>(type), 4, out_);
  append_number(static_cast<std::int64_t>(bytes.size()), 4, out_);
  out_ += bytes;
}

void PgComposite::add_number(PgType type, std::int64_t value) {
  const int width = width_of(type);
  std::array<char, kColumnHeadBytes + 8> buffer;
  write_number(static_cast<std::int64_t>(type), 4, buffer.data());
  write_number(width, 4, buffer.data() + 4);
  write_number(value, width, buffer.data() + kColumnHeadBytes);
  out_.append(buffer.data(), kColumnHeadBytes + static_cast<std::size_t>(width));
}

void PgComposite::add_null(PgType type) {
  append_number(static_cast<std::int64_t>(type), 4, out_);
  append_number(-1, 4, out_);
}

void PgComposite::set_first(std::string& composite, std::int32_t value) {
  write_number(value, 4, composite.data() + 4 + kColumnHeadBytes);
}

std::string_view PgRows::bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t PgRows::number(int row, int column) const {
  return to_number(bytes(row, column));
}

std::vector<std::string_view> PgRows::all_bytes(int row, int column) const {
  std::vector<std::string_view> out;
  std::string_view rest = bytes(row, column);
  if (rest.size() < kArrayHeadBytes) return out;
  rest.remove_prefix(kArrayHeadBytes);
  while (rest.size() >= kLengthBytes) {
    const std::int64_t length = to_number(rest.substr(0, kLengthBytes));
    rest.remove_prefix(kLengthBytes);
    if (length < 0 || static_cast<std::size_t>(length) > rest.size()) return {};
    out.push_back(rest.substr(0, static_cast<std::size_t>(length)));
    rest.remove_prefix(static_cast<std::size_t>(length));
  }
  return out;
}

std::vector<std::int64_t> PgRows::numbers(int row, int column) const {
  std::vector<std::int64_t> out;
  for (const std::string_view element : all_bytes(row, column)) out.push_back(to_number(element));
  return out;
}

}  // namespace semel::postgres
