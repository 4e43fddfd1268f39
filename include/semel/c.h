#ifndef SEMEL_C_H
#define SEMEL_C_H

/* semel/semel.h for other languages:
 *
 *   semel_engine *engine = semel_open("embedded:./data", error, sizeof error);
 *   switch (semel_begin(engine, &call, &claim, &result)) { case SEMEL_EXECUTED: … }
 *   semel_finish(claim, 200, body, size, &result);
 *
 * Calls block; any thread may make them. Nothing is ever removed or reordered here, and every
 * struct begins with its size: members that a caller does not know of are then taken for 0. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct semel_engine semel_engine;
typedef struct semel_claim semel_claim;
typedef struct semel_result semel_result;

/* The verdicts of semel::Verdict, and one for arguments that are no good (semel_why says which). */
enum {
  SEMEL_EXECUTED = 0, /* of semel_begin: execute, and end the claim */
  SEMEL_REPLAYED = 1,
  SEMEL_RELEASED = 2,
  SEMEL_BUSY = 3,
  SEMEL_MISMATCH = 4,
  SEMEL_UNKNOWN = 5,
  SEMEL_EXPIRED = 6,
  SEMEL_UNAVAILABLE = 7,
  SEMEL_INVALID = -1
};

typedef struct semel_call {
  size_t size; /* sizeof(semel_call) */
  const char* operation;
  const char* tenant; /* may be null, like all that follows but the key */
  const char* key;
  const void* fingerprint;
  size_t fingerprint_size;
  int64_t wait_ms; /* of these, 0 stands for the default of semel::Operation */
  int64_t ttl_ms;
  int64_t tombstone_ms;
  int64_t lease_ms;
  int64_t max_execution_ms;
  int unknown; /* 0: hold, 1: retry */
  const char* version;
} semel_call;

/* Null: `error` has a sentence, which never holds a password. */
semel_engine* semel_open(const char* url, char* error, size_t error_size);
/* End the claims first: one that outlives its engine is unknown. */
void semel_close(semel_engine* engine);

/* Returns a verdict. With SEMEL_EXECUTED *claim is set, otherwise null. *result is set, and has to
 * be freed; null only if there is no memory for it, which the functions that read it take, too. */
int semel_begin(semel_engine* engine, const semel_call* call, semel_claim** claim,
                semel_result** result);

/* These end the claim and free it, whatever they return; without a claim: SEMEL_INVALID. `result`
 * may be null. */
int semel_finish(semel_claim* claim, int status, const void* body, size_t size,
                 semel_result** result);
int semel_release(semel_claim* claim, const char* why); /* nothing has happened */
int semel_leave(semel_claim* claim, const char* why);   /* nobody knows */

uint32_t semel_attempt(const semel_claim* claim);
/* Writes the key for a call to somebody else, 43 characters and a zero; without memory: "". */
void semel_derive(const semel_claim* claim, const char* label, char out[44]);

const void* semel_body(const semel_result* result, size_t* size);
int semel_status(const semel_result* result);
const char* semel_why(const semel_result* result);
void semel_result_free(semel_result* result);

const char* semel_version(void);

#ifdef __cplusplus
}
#endif

#endif
