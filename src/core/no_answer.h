#pragma once

#include "semel/answer.h"

namespace semel::core {

// Returns the answer for an unknown key if the client must get one answer and none was sent.
// Stored, and so never changed.
Answer answer_for_no_answer();

}  // namespace semel::core
