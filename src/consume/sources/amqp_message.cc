#include "consume/sources/amqp_message.h"

#include "brokers/amqp_text.h"

namespace semel::consume {

BrokerMessage to_message(const amqp_envelope_t& envelope) {
  const amqp_basic_properties_t& properties = envelope.message.properties;
  BrokerMessage message;
  message.body = brokers::text_of(envelope.message.body);
  message.redelivered = envelope.redelivered != 0;
  if (properties._flags & AMQP_BASIC_CONTENT_TYPE_FLAG) {
    message.content_type = brokers::text_of(properties.content_type);
  }
  if (properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) {
    message.properties.push_back({"message_id", brokers::text_of(properties.message_id)});
  }
  if (properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG) {
    message.properties.push_back({"correlation_id", brokers::text_of(properties.correlation_id)});
  }
  message.headers = brokers::headers_in(properties);
  return message;
}

}  // namespace semel::consume
