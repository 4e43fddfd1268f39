#include "stores/redis/scripts.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <stdexcept>
#include <utility>

#include "base/hex.h"
#include "semel/driver/record.h"

namespace semel::stores::redis {
namespace {

// A record has no time to live in Redis: a server expires by its own clock, and one that is
// promoted with a fast clock would remove at once the records that its master kept. The sweeper
// removes records.
//
// The header of a value: format 1, version 2-9, state 10, token 11-26, spilled 27 (from 1, as Lua
// counts). A script that looks at the state begins with the lines of states().
constexpr std::string_view kSwap = R"lua(
local header = redis.call('GETRANGE', KEYS[1], 0, 26)
if string.sub(header, 2, 9) ~= ARGV[1] then
  if header == '' then return {0} end
  return {0, redis.call('GET', KEYS[1])}
end
local value, id = ARGV[2], ARGV[3]
if value == '' then
  if header == '' then return {1} end
  redis.call('UNLINK', KEYS[1])
else
  redis.call('SET', KEYS[1], value)
end

local function hex(bytes)
  return (string.gsub(bytes, '.', function(c) return string.format('%02x', string.byte(c)) end))
end
local old_token, new_token = string.sub(header, 11, 26), string.sub(value, 11, 26)
local SPILLED = '\1'
local was_spilled, is_spilled =
  string.sub(header, 27, 27) == SPILLED, string.sub(value, 27, 27) == SPILLED
if was_spilled and not (is_spilled and old_token == new_token) then
  redis.call('UNLINK', KEYS[1] .. ':chunks:' .. hex(old_token))
end
if is_spilled then redis.call('PERSIST', KEYS[1] .. ':chunks:' .. hex(new_token)) end

if value == '' then
  redis.call('ZREM', KEYS[3], id)
elseif header == '' then
  redis.call('ZADD', KEYS[3], 0, id)
end
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], id)
else
  redis.call('ZADD', KEYS[2], ARGV[4], id)
end

if header ~= '' then
  local was, is = string.sub(header, 10, 10), string.sub(value, 10, 10)
  if runs(was) and not (runs(is) and old_token == new_token) and
      redis.call('UNLINK', KEYS[5]) == 1 then
    redis.pcall(ARGV[6], KEYS[6], id .. old_token)
  end
end

local changed
if ARGV[5] == '' then
  changed = redis.call('ZREM', KEYS[4], id)
else
  changed = redis.call('ZADD', KEYS[4], 'CH', ARGV[5], id)
end
if changed == 0 then return {1} end
return {1, redis.call('ZCARD', KEYS[4]), redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2] or ''}
)lua";

constexpr std::string_view kClean = R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
return redis.call('ZREM', KEYS[3], ARGV[1])
)lua";

constexpr std::string_view kAwait = R"lua(
local header = redis.call('GETRANGE', KEYS[1], 0, 26)
local state = string.sub(header, 10, 10)
if string.sub(header, 11, 26) ~= ARGV[1] or not runs(state) then return 0 end
redis.call('SET', KEYS[2], '', 'PX', ARGV[2])
return 1
)lua";

constexpr std::string_view kCount = R"lua(
return {redis.call('ZCARD', KEYS[1]), redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''}
)lua";

// A copy begins with its format and, in 9 bytes, when it was written and how final it is.
constexpr std::string_view kFill = R"lua(
local old, new = redis.call('GETRANGE', KEYS[1], 1, 9), string.sub(ARGV[1], 2, 10)
for i = 1, #old do
  local was, is = string.byte(old, i), string.byte(new, i)
  if is < was then return 0 end
  if is > was then break end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
)lua";

// The states that the scripts know, by the enum's numbers: the state is one byte of the header.
std::string states() {
  return fmt::format(
      "local QUEUED, IN_PROGRESS = '\\{}', '\\{}'\n"
      "local function runs(state) return state == QUEUED or state == IN_PROGRESS end\n",
      static_cast<int>(RecordState::queued), static_cast<int>(RecordState::in_progress));
}

std::string sha1_hex(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL has no SHA-1, by which Redis names scripts");
  }
  return base::encode_hex({reinterpret_cast<const char*>(digest), size});
}

}  // namespace

Script::Script(std::string source_in) : source(std::move(source_in)), sha1(sha1_hex(source)) {}

const Script& swap_script() {
  static const Script script(states().append(kSwap));
  return script;
}

const Script& clean_script() {
  static const Script script{std::string(kClean)};
  return script;
}

const Script& await_script() {
  static const Script script(states().append(kAwait));
  return script;
}

const Script& count_script() {
  static const Script script{std::string(kCount)};
  return script;
}

const Script& fill_script() {
  static const Script script{std::string(kFill)};
  return script;
}

}  // namespace semel::stores::redis
