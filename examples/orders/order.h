#pragma once

#include <semel/phases.h>

#include "http.h"

namespace orders {

// Takes an order {"item": …, "amount": …}:
//
//   reserve  a transaction: the order is in the database
//   charge   a call to the card processor, under a key of its own
//   book     a transaction: the order is paid, and a mail is in the outbox
//   finish   a transaction: the answer is recorded
//
// Killed anywhere, it goes on from the last transaction: one order, one charge, one mail.
semel::pg::PhasedOperation create_order(const Address& processor);

}  // namespace orders
