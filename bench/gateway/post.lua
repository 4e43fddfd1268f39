-- wrk: POSTs a small charge. SEMEL_KEYS: none | new | replay. What does not change from request to
-- request is put together once, so that the load generator takes as little of the machine as it can.
local mode = os.getenv("SEMEL_KEYS") or "none"
local seed = os.getenv("SEMEL_SEED") or "0"
local body = '{"amount":4200,"currency":"eur","customer":"cus_8fJ2kd91","description":"an order"}'
local head = "POST /v1/charges HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" ..
  "Content-Length: " .. #body .. "\r\n"
local plain = head .. "\r\n" .. body
local tail = '"\r\n\r\n' .. body
local replays = 64
local thread_number = 0

function setup(thread)
  thread:set("number", thread_number)
  thread_number = thread_number + 1
end

function init()
  counter = 0
  prefix = head .. 'Idempotency-Key: "' .. seed .. "-" .. number .. "-0000000000"
  known = {}
  for i = 1, replays do known[i] = prefix .. i .. tail end
end

function request()
  if mode == "none" then return plain end
  counter = counter + 1
  if mode == "replay" then return known[counter % replays + 1] end
  return prefix .. counter .. tail
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %.1f %d %d %d\n", summary.requests / summary.duration * 1e6,
    summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect,
    latency:percentile(50), latency:percentile(99)))
end
