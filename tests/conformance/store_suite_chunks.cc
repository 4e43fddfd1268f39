// Chunks: where a store says that it keeps them, they live and die with the record that refers to
// them. Where it does not, it says so when asked.
#include <stdexcept>

#include "conformance/store_suite.h"

namespace semel {
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
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  apply(id, version, std::nullopt);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::nullopt);
  EXPECT_EQ(chunks.get(id, token_of(id), 1), std::nullopt);
}

TEST_P(StoreSuite, ChunksTheyGoWhenAnotherAttemptTakesTheRecord) {
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  Record again = claim_of(id);
  again.token.bytes.fill(9);
  apply(id, version, again);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::nullopt);
}

TEST_P(StoreSuite, ChunksTheyStayWhileTheRecordRefersToThem) {
  const Chunks chunks{store()};
  if (!store().features().chunks) return;
  const RecordId id = id_of(1);
  const Version version = apply(id, 0, spilled(chunks, id));
  Record moved = *read(id);
  moved.expires_at = kThen + 2h;
  apply(id, version, moved);
  EXPECT_EQ(chunks.get(id, token_of(id), 0), std::string(kChunkBytes, 'a'));
  EXPECT_TRUE(refused(id, version, std::nullopt)) << "a removal that comes too late";
  EXPECT_EQ(chunks.get(id, token_of(id), 1), "end");
}

TEST_P(StoreSuite, ChunksARestartKeepsWhatIsReferredToAndDropsTheRest) {
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
}  // namespace semel
