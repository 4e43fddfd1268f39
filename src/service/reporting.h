#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "service/claiming.h"
#include "service/request_body.h"

// What clients say about their claims, and ask about records.
namespace semel::service {

// POST /v1/claims/{record}/renew, /complete, /release and /give-up
boost::asio::awaitable<Answer> report(Asked& asked, RecordId id, Verb verb, ReportBody body);

// GET /v1/records/{record}
boost::asio::awaitable<Answer> show_record(Asked& asked, RecordId id);

}  // namespace semel::service
