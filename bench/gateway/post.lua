-- wrk: POSTs a small charge. SEMEL_KEYS: none | new | replay
local mode = os.getenv("SEMEL_KEYS") or "none"
local seed = os.getenv("SEMEL_SEED") or "0"
local thread_number = 0

function setup(thread)
  thread:set("number", thread_number)
  thread_number = thread_number + 1
end

function init()
  wrk.method = "POST"
  wrk.path = "/v1/charges"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '{"amount":4200,"currency":"eur","customer":"cus_8fJ2kd91","description":"an order"}'
  counter = 0
end

function request()
  if mode == "none" then return wrk.format() end
  counter = counter + 1
  local n = counter
  if mode == "replay" then n = counter % 64 end
  wrk.headers["Idempotency-Key"] = string.format('"%s-%d-%012d"', seed, number, n)
  return wrk.format()
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %.1f %d %d %d\n", summary.requests / summary.duration * 1e6,
    summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect,
    latency:percentile(50), latency:percentile(99)))
end
