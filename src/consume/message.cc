#include "consume/message.h"

namespace semel::consume {

std::vector<Header> headers_of(const DeadLetter& why) {
  std::vector<Header> headers = {{"Semel-Dead-Letter", why.reason},
                                 {"Semel-Dead-Letter-Detail", why.detail},
                                 {"Semel-Operation", why.operation}};
  if (!why.record.empty()) headers.push_back({"Semel-Record", why.record});
  if (why.attempt > 0) headers.push_back({"Semel-Attempt", std::to_string(why.attempt)});
  return headers;
}

}  // namespace semel::consume
