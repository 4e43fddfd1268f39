#include "runtime/trusted_proxies.h"

#include <algorithm>
#include <charconv>

namespace semel::runtime {
namespace {

std::vector<std::uint8_t> bytes_of(const boost::asio::ip::address& address) {
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    const auto bytes = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = v6.to_bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TrustedProxies::TrustedProxies(const std::vector<config::AddressRange>& ranges) {
  for (const config::AddressRange& range : ranges) {
    const std::string_view text = range.text;
    const std::size_t slash = text.find('/');
    Range out;
    out.bytes = bytes_of(boost::asio::ip::make_address(std::string(text.substr(0, slash))));
    out.prefix_bits = static_cast<unsigned>(out.bytes.size() * 8);
    if (slash != std::string_view::npos) {
      unsigned bits = out.prefix_bits;
      std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
      out.prefix_bits = std::min(bits, out.prefix_bits);
    }
    ranges_.push_back(std::move(out));
  }
}

bool TrustedProxies::contains(const boost::asio::ip::address& address) const {
  if (ranges_.empty()) return false;
  const std::vector<std::uint8_t> bytes = bytes_of(address);
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    if (range.bytes.size() != bytes.size()) return false;
    for (unsigned bit = 0; bit < range.prefix_bits; ++bit) {
      const unsigned mask = 0x80u >> (bit % 8);
      if ((range.bytes[bit / 8] & mask) != (bytes[bit / 8] & mask)) return false;
    }
    return true;
  });
}

}  // namespace semel::runtime
