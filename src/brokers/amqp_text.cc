#include "brokers/amqp_text.h"

#include <algorithm>
#include <optional>

namespace semel::brokers {
namespace {

std::optional<std::string> text_of_field(const amqp_field_value_t& value) {
  switch (value.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return text_of(value.value.bytes);
    case AMQP_FIELD_KIND_BOOLEAN:
      return value.value.boolean ? "true" : "false";
    case AMQP_FIELD_KIND_I8:
      return std::to_string(value.value.i8);
    case AMQP_FIELD_KIND_U8:
      return std::to_string(value.value.u8);
    case AMQP_FIELD_KIND_I16:
      return std::to_string(value.value.i16);
    case AMQP_FIELD_KIND_U16:
      return std::to_string(value.value.u16);
    case AMQP_FIELD_KIND_I32:
      return std::to_string(value.value.i32);
    case AMQP_FIELD_KIND_U32:
      return std::to_string(value.value.u32);
    case AMQP_FIELD_KIND_I64:
      return std::to_string(value.value.i64);
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      return std::to_string(value.value.u64);
    default:
      return std::nullopt;
  }
}

}  // namespace

amqp_bytes_t bytes_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

std::string text_of(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

std::string describe(const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    return amqp_error_string2(reply.library_error);
  }
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
    if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
      return text_of(static_cast<amqp_connection_close_t*>(reply.reply.decoded)->reply_text);
    }
    if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
      return text_of(static_cast<amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
    }
  }
  return "an unexpected answer from the broker";
}

std::vector<Header> headers_in(const amqp_basic_properties_t& properties) {
  std::vector<Header> headers;
  if (!(properties._flags & AMQP_BASIC_HEADERS_FLAG)) return headers;
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = properties.headers.entries[i];
    if (auto value = text_of_field(entry.value)) {
      headers.push_back({text_of(entry.key), *std::move(value)});
    }
  }
  return headers;
}

std::vector<amqp_table_entry_t> with_headers(const amqp_basic_properties_t& properties,
                                             const std::vector<Header>& added) {
  std::vector<amqp_table_entry_t> entries;
  if (properties._flags & AMQP_BASIC_HEADERS_FLAG) {
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = properties.headers.entries[i];
      if (std::ranges::count(added, text_of(entry.key), &Header::name) == 0) {
        entries.push_back(entry);
      }
    }
  }
  for (const Header& header : added) {
    amqp_table_entry_t entry{};
    entry.key = bytes_of(header.name);
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = bytes_of(header.value);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace semel::brokers
