// Chunks: where a store says that it keeps them, they live and die with the record that refers to
// them. Where it does not, it says so when asked.
#include <stdexcept>

#include "store_suite.h"

namespace semel::conformance {
namespace {

using namespace std::chrono_literals;

// A record's chunks, read and written through the store under test.
struct Chunks {
  Store& store;

  bool put(const RecordId& id, const Token& token, std::uint32_t index, std::string bytes) const {
    return run(store.put_chunk(id, token, index, std::move(bytes))).has_value();
  }
  std::optional<std::string> get(const RecordId& id, const Token& token,
                                 std::uint32_t index) const {
    auto found = run(store.get_chunk(id, token, index));
    if (!found) throw std::runtime_error(found.error().why);
    return *found;
  }
};

// A record whose body lies in two chunks.
Record spilled(const Chunks& chunks, const RecordId& id) {
  Record record = completion_of(id, kThen + 1h);
  record.answer.body.clear();
  record.answer.body_note = BodyNote::spilled;
  record.answer.spilled_bytes = kChunkBytes + 3;
  EXPECT_TRUE(chunks.put(id, record.token, 0, std::string(kChunkBytes, 'a')));
  EXPECT_TRUE(chunks.put(id, record.token, 1, "end"));
  return record;
}

Token token_of(const RecordId& id) {
  return claim_of(id).token;
}

TEST_P(StoreSuite, ChunksAStoreThatCannotSaysSo) {
  promise("put_chunk() fails if and only if the store says that it keeps no chunks.");
  const Chunks chunks{store()};
  if (store().features().chunks) {
    EXPECT_TRUE(chunks.put(id_of(1), Token{}, 0, "x"));
  } else {
    EXPECT_FALSE(chunks.put(id_of(1), Token{}, 0, "x"));
    EXPECT_EQ(chunks.get(id_of(1), Token{}, 0), std::nullopt);
  }
  EXPECT_TRUE(run(store().drop_chunks(id_of(1), Token{})));
  EXPECT_EQ(chunks.get(id_of(1), Token{}, 0), std::nullopt);
}

TEST_P(StoreSuite, ChunksWhatWasPutIsThereByteForByte) {
  promise(
      "A chunk comes back byte for byte under its record, token and index, and under no "
      "other.");
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const Token token = token_of(id_of(1));
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte.push_back(static_cast<char>(i));
  EXPECT_TRUE(chunks.put(id_of(1), token, 0, every_byte));
  EXPECT_TRUE(chunks.put(id_of(1), token, 300, "far"));
  EXPECT_EQ(chunks.get(id_of(1), token, 0), every_byte);
  EXPECT_EQ(chunks.get(id_of(1), token, 300), "far");
  EXPECT_EQ(chunks.get(id_of(1), token, 1), std::nullopt);
  EXPECT_EQ(chunks.get(id_of(2), token, 0), std::nullopt);
  EXPECT_EQ(chunks.get(id_of(1), Token{}, 0), std::nullopt);
}

TEST_P(StoreSuite, ChunksDroppingTakesOneAttemptsOnly) {
  promise("drop_chunks() removes all chunks of one record and token, and no others.");
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  Token next = token_of(id_of(1));
  ++next.bytes.back();
  for (std::uint32_t index : {0u, 1u, 0xffffffffu}) {
    EXPECT_TRUE(chunks.put(id_of(1), token_of(id_of(1)), index, "old"));
  }
  EXPECT_TRUE(chunks.put(id_of(1), next, 0, "new"));
  EXPECT_TRUE(chunks.put(id_of(2), token_of(id_of(1)), 0, "another's"));
  EXPECT_TRUE(run(store().drop_chunks(id_of(1), token_of(id_of(1)))));
  for (std::uint32_t index : {0u, 1u, 0xffffffffu}) {
    EXPECT_EQ(chunks.get(id_of(1), token_of(id_of(1)), index), std::nullopt);
  }
  EXPECT_EQ(chunks.get(id_of(1), next, 0), "new");
  EXPECT_EQ(chunks.get(id_of(2), token_of(id_of(1)), 0), "another's");
}

TEST_P(StoreSuite, ChunksTheyGoWithTheirRecord) {
  promise("A swap that removes a record removes its chunks.");
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  apply(id, version, std::nullopt);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::nullopt);
  EXPECT_EQ(chunks.get(id, token_of(id), 1), std::nullopt);
}

TEST_P(StoreSuite, ChunksTheyGoWhenAnotherAttemptTakesTheRecord) {
  promise(
      "A swap that replaces a spilled record by one that is not spilled under the same "
      "token removes its chunks.");
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  Record again = claim_of(id);
  again.token.bytes.fill(9);
  apply(id, version, again);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::nullopt);
  EXPECT_EQ(chunks.get(id, token_of(id), 1), std::nullopt);
}

TEST_P(StoreSuite, ChunksTheyStayWhileTheRecordRefersToThem) {
  promise("Chunks stay as long as the record refers to them; a refused swap does not touch them.");
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  Record moved = existing(id);
  moved.expires_at = kThen + 2h;
  apply(id, version, moved);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::string(kChunkBytes, 'a'));
  EXPECT_TRUE(refused(id, version, std::nullopt)) << "a removal that comes too late";
  EXPECT_EQ(chunks.get(id, token_of(id), 1), "end");
}

TEST_P(StoreSuite, ChunksAKillKeepsWhatIsReferredTo) {
  promise("If features().durable, the chunks of a record are there after the process is killed.");
  const Chunks chunks{store()};
  if (!store().features().chunks || !store().features().durable) return;
  const RecordId kept = id_of(1);
  const RecordId removed = id_of(2);
  apply(kept, 0, spilled(chunks, kept));
  apply(removed, apply(removed, 0, spilled(chunks, removed)), std::nullopt);
  kill();
  const Chunks after{store()};
  EXPECT_EQ(after.get(kept, token_of(kept), 0), std::string(kChunkBytes, 'a'));
  EXPECT_EQ(after.get(kept, token_of(kept), 1), "end");
  EXPECT_EQ(after.get(removed, token_of(removed), 0), std::nullopt);
}

TEST_P(StoreSuite, ChunksARestartKeepsWhatIsReferredToAndDropsTheRest) {
  promise(
      "A restart keeps the chunks that a record refers to; an exclusive store drops all "
      "others when it is opened.");
  const Chunks chunks{store()};
  if (!store().features().chunks || !store().features().durable) return;
  const RecordId kept = id_of(1);
  const RecordId unrecorded = id_of(2);
  const RecordId in_progress = id_of(3);
  apply(kept, 0, spilled(chunks, kept));
  EXPECT_TRUE(chunks.put(unrecorded, token_of(unrecorded), 0, "nobody's"));
  apply(in_progress, 0, claim_of(in_progress));
  EXPECT_TRUE(chunks.put(in_progress, token_of(in_progress), 0, "of a run that ended"));
  reopen();
  const Chunks after{store()};
  EXPECT_EQ(after.get(kept, token_of(kept), 0), std::string(kChunkBytes, 'a'));
  EXPECT_EQ(after.get(kept, token_of(kept), 1), "end");
  if (!store().features().exclusive) return;  // another process may be at work on them
  EXPECT_EQ(after.get(unrecorded, token_of(unrecorded), 0), std::nullopt);
  EXPECT_EQ(after.get(in_progress, token_of(in_progress), 0), std::nullopt);
}

}  // namespace
}  // namespace semel::conformance
