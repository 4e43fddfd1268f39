// semel/c.h, over semel/semel.h. Nothing is thrown out of here.
#include "semel/c.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "library/inside.h"

struct semel_engine {
  std::shared_ptr<semel::v1::Inside> inside;
};

struct semel_claim {
  std::shared_ptr<semel::v1::Inside> inside;  // closed, if its engine is
  semel::v1::Execution execution;
};

struct semel_result {
  semel::Answer answer;
  std::string why;
};

namespace {

namespace v1 = semel::v1;

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

void set_if(std::int64_t given, std::chrono::milliseconds& out) {
  if (given != 0) out = std::chrono::milliseconds(given);
}

// Copies what the caller knows of.
semel_call whole(const semel_call& given) {
  semel_call call{};
  std::memcpy(&call, &given, std::min(given.size, sizeof call));
  return call;
}

v1::Operation operation_of(const semel_call& call) {
  v1::Operation operation;
  operation.name = text_of(call.operation);
  set_if(call.wait_ms, operation.wait);
  set_if(call.ttl_ms, operation.ttl);
  set_if(call.tombstone_ms, operation.tombstone);
  set_if(call.lease_ms, operation.lease);
  set_if(call.max_execution_ms, operation.max_execution);
  if (call.unknown != 0) operation.unknown = v1::Operation::Unknown::retry;
  if (call.version != nullptr) operation.version = call.version;
  return operation;
}

v1::Call call_of(const semel_call& given) {
  v1::Call call;
  call.key = text_of(given.key);
  call.tenant = text_of(given.tenant);
  if (given.fingerprint != nullptr) {
    call.fingerprint.assign(static_cast<const char*>(given.fingerprint), given.fingerprint_size);
  }
  return call;
}

// Leaves null if there is no memory.
void put(semel_result** to, semel::Answer answer, std::string why) noexcept {
  if (to != nullptr) *to = new (std::nothrow) semel_result{std::move(answer), std::move(why)};
}

void put_why(semel_result** to, const char* why) noexcept {
  try {
    put(to, {}, why);
  } catch (const std::bad_alloc&) {
    // semel_why says so for null.
  }
}

// Ends the claim and frees it.
int end_claim(semel_claim* claim, semel_result** result,
              const std::function<semel::Outcome()>& make_outcome) noexcept {
  if (result != nullptr) *result = nullptr;
  if (claim == nullptr) {
    put_why(result, "there is no claim, or it was ended before");
    return SEMEL_INVALID;
  }
  const std::unique_ptr<semel_claim> taken(claim);
  try {
    v1::Ended ended = taken->inside->end(std::move(taken->execution), make_outcome());
    put(result, std::move(ended.answer), std::move(ended.why));
    return static_cast<int>(ended.verdict);
  } catch (const std::exception& failed) {
    put_why(result, failed.what());
  } catch (...) {
    put_why(result, "the outcome could not be recorded");
  }
  return SEMEL_UNKNOWN;
}

}  // namespace

semel_engine* semel_open(const char* url, char* error, size_t error_size) {
  try {
    return new semel_engine{v1::Inside::open(text_of(url), {})};
  } catch (const std::exception& failed) {
    if (error != nullptr && error_size > 0) {
      const std::string_view why = failed.what();
      const std::size_t size = std::min(why.size(), error_size - 1);
      std::memcpy(error, why.data(), size);
      error[size] = '\0';
    }
    return nullptr;
  }
}

void semel_close(semel_engine* engine) {
  const std::unique_ptr<semel_engine> taken(engine);
  if (taken) taken->inside->close();
}

int semel_begin(semel_engine* engine, const semel_call* call, semel_claim** claim,
                semel_result** result) {
  *claim = nullptr;
  *result = nullptr;
  if (engine == nullptr) {
    put_why(result, "there is no engine, or it was closed");
    return SEMEL_INVALID;
  }
  try {
    const semel_call given = whole(*call);
    v1::Begun begun = engine->inside->begin(operation_of(given), call_of(given));
    put(result, std::move(begun.answer), std::move(begun.why));
    if (begun.execution) *claim = new semel_claim{engine->inside, *std::move(begun.execution)};
    return static_cast<int>(begun.verdict);
  } catch (const v1::Error& error) {
    put_why(result, error.what());
    return SEMEL_INVALID;
  } catch (const std::exception& failed) {
    put_why(result, failed.what());
  } catch (...) {
    put_why(result, "the call could not be made");
  }
  return SEMEL_UNAVAILABLE;
}

int semel_finish(semel_claim* claim, int status, const void* body, size_t size,
                 semel_result** result) {
  return end_claim(claim, result, [&]() -> semel::Outcome {
    std::string bytes = body == nullptr ? "" : std::string(static_cast<const char*>(body), size);
    return {semel::OutcomeKind::final, {status, {}, std::move(bytes)}};
  });
}

int semel_release(semel_claim* claim, const char* why) {
  return end_claim(claim, nullptr, [why]() -> semel::Outcome {
    return {semel::OutcomeKind::retry, {}, text_of(why)};
  });
}

int semel_leave(semel_claim* claim, const char* why) {
  return end_claim(claim, nullptr, [why]() -> semel::Outcome {
    return {semel::OutcomeKind::unknown, {}, text_of(why)};
  });
}

uint32_t semel_attempt(const semel_claim* claim) {
  return claim->execution.attempt;
}

void semel_derive(const semel_claim* claim, const char* label, char out[44]) {
  try {
    const std::string key = claim->execution.derive(text_of(label));
    std::memcpy(out, key.c_str(), key.size() + 1);
  } catch (...) {
    out[0] = '\0';  // an empty key is refused by whoever gets it
  }
}

const void* semel_body(const semel_result* result, size_t* size) {
  *size = result == nullptr ? 0 : result->answer.body.size();
  return result == nullptr ? "" : result->answer.body.data();
}

int semel_status(const semel_result* result) {
  return result == nullptr ? 0 : result->answer.status;
}

const char* semel_why(const semel_result* result) {
  return result == nullptr ? "there is no memory for the result" : result->why.c_str();
}

void semel_result_free(semel_result* result) {
  delete result;
}

const char* semel_version() {
  return SEMEL_VERSION;
}
