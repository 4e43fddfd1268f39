"""Broken variants of examples/store/file_store.cc: the test that must find each one, and the edits that make it."""

CONDITION = "if ((current ? current->version : 0) != expected) {"
ENCODING = 'std::string encoding = next ? encode(*next) : "";'
NEW_VERSION = "const Version version = last_version_ + 1;"
WRITE = "const std::string frame = frame_of(entry);"
OPENED = "  drop_orphans();\n  return {};"
LISTED = "if (due_at(*next) != kNever) due_.emplace(due_at(*next), id);"
NEXT_PAGE = "if (at != records_.end() && !page.records.empty()) page.next = page.records.back()->id;"
DROP_CHUNKS = "if (is_spilled(old) && !still_refers) chunks_.erase({id, old->token});"
HELPERS = "bool is_spilled("


def without(field):
    return (ENCODING, ENCODING + f"""
  if (next) {{
    Record rest = *next;
    rest.{field} = {{}};
    encoding = encode(rest);
  }}""")


BROKEN_STORES = {
    # versions
    "version_reused_after_a_removal": ("VersionsAreNotReusedAfterARemoval", (
        NEW_VERSION, "const Version version = expected + 1;")),
    "version_reused_after_a_restart": ("VersionsAreNotReusedAfterARemoval", (
        OPENED, "last_version_ = 0;\nfor (auto& [id, record] : records_) last_version_ = std::max(last_version_, record->version);\n"
        + OPENED)),
    "version_of_the_caller": ("TheStoreChoosesTheVersion", (
        NEW_VERSION, "const Version version = next->version > last_version_ ? next->version : last_version_ + 1;")),
    "same_version_for_an_equal_record": ("ARecordCanBeSwappedWithItself", (
        NEW_VERSION, "if (current && encode(*current) == encoding) co_return swap::Applied{expected};\n" + NEW_VERSION)),
    # compare and swap
    "expected_version_ignored": ("ReplacesOnlyTheExpectedVersion", (CONDITION, "if (!current && expected != 0) {")),
    "expected_version_ignored_by_creation": ("CreatesARecordOnce", (
        CONDITION, "if (expected != 0 && (!current || current->version != expected)) {")),
    "expected_version_ignored_by_removal": ("RemovesOnlyTheExpectedVersion", (CONDITION, CONDITION.replace("if (", "if (next && ", 1))),
    "expected_version_ignored_if_absent": ("RefusesAVersionOfAnAbsentRecord", (
        CONDITION, "if (current && current->version != expected) {")),
    "removal_of_nothing_refused": ("RemovingNothingIsApplied", (CONDITION, CONDITION.replace("expected)", "expected || (!next && !current))"))),
    "conflict_without_the_record": ("CreatesARecordOnce", (
        "current ? std::make_shared<Record>(*current) : nullptr", "")),
    "conflict_with_the_record_itself": ("TheCallerOwnsTheCurrentRecordOfAConflict", (
        "current ? std::make_shared<Record>(*current) : nullptr", "std::const_pointer_cast<Record>(current)")),
    "conflict_that_changes_the_stats": ("ARefusedSwapChangesNothing", (
        CONDITION, "if (next && next->state == RecordState::unknown) unknown_.emplace(next->updated_at, id);\n" + CONDITION)),
    "conflict_that_changes_what_is_due": ("ARefusedSwapChangesNothing", (
        CONDITION, "if (next && current) due_.emplace(due_at(*next), id);\n" + CONDITION)),
    "check_apart_from_the_write": ("OfManyClaimsOneWins", (
        "co_return swap::TooLarge{kRecordBytesMax};\n\n  const std::lock_guard lock(mutex_);",
        "co_return swap::TooLarge{kRecordBytesMax};\n\n  std::unique_lock lock(mutex_);"), (
        "  if (!next) {\n", "  lock.unlock();\n  ::usleep(1000);\n  lock.lock();\n  if (!next) {\n")),
    # what comes back
    "handle_lost": ("EveryFieldAndByteComesBack", without("handle")),
    "request_lost": ("EveryFieldAndByteComesBack", without("request")),
    "sealed_lost": ("ASealedRecordComesBack", without("sealed")),
    "large_body_cut_off": ("LargeBodiesComeBack", (
        ENCODING, "if (next) next->answer.body.resize(std::min<std::size_t>(next->answer.body.size(), 1 << 20));\n" + ENCODING)),
    "too_large_accepted": ("ATooLargeRecordChangesNothing", ("encoding.size() > kRecordBytesMax", "encoding.size() > 2 * kRecordBytesMax")),
    "read_changes_later": ("ARecordThatWasReadDoesNotChange", (
        "    records_.erase(found);", "    if (next) *std::const_pointer_cast<Record>(old) = *next;\n    records_.erase(found);")),
    "trouble_for_nothing": ("IsHealthyAndEmptyAtFirst", ("if (broken_.empty()) return std::nullopt;", "")),
    # durability
    "nothing_written": ("ARestartKeepsEverythingOrTheStoreSaysSo", (WRITE, "const std::string frame;")),
    "removals_not_written": ("AKillKeepsWhatWasApplied", (WRITE, WRITE.replace("= ", '= entry.kind == Entry::Kind::remove ? "" : '))),
    "replacements_not_written": ("AStoreThatWasKilledCanBeKilledAgain", (
        WRITE, WRITE.replace("= ", '= entry.kind == Entry::Kind::put && records_.contains(entry.id) ? "" : '))),
    "written_when_it_is_closed": ("AKillKeepsWhatWasApplied", (
        HELPERS, "std::map<int, std::string> pending;\n\n" + HELPERS), (
        WRITE, "pending[fd_] += frame_of(entry);\n  const std::string frame;"), (
        "  ::close(fd_);\n}", "  const std::string late = pending[fd_];\n  pending.erase(fd_);\n"
        "  if (::write(fd_, late.data(), late.size()) < 0) std::abort();\n  ::close(fd_);\n}")),
    "durable_without_saying_so": ("ARestartKeepsEverythingOrTheStoreSaysSo", (".durable = true", ".durable = false")),
    # sweep
    "sweep_in_another_order": ("SweepsWhatIsDueTheEarliestFirst", (
        "  co_return records;", "  std::reverse(records.begin(), records.end());\n  co_return records;"), (
        "#include <cerrno>", "#include <algorithm>\n#include <cerrno>")),
    "sweep_misses_what_is_due_now": ("SweepsWhatIsDueTheEarliestFirst", ("if (due > now ||", "if (due >= now ||")),
    "sweep_ignores_the_limit": ("SweepsWhatIsDueTheEarliestFirst", ("if (due > now || records.size() == limit)", "if (due > now)")),
    "sweep_removes": ("SweepGivesWholeRecordsAndChangesNothing", (
        "  co_return records;", "  for (const RecordPtr& record : records) replace(record->id, nullptr);\n  co_return records;")),
    "sweep_finds_what_is_never_due": ("SweepLeavesAloneWhatIsNotDue", (LISTED, "due_.emplace(due_at(*next), id);")),
    "sweep_goes_by_the_lease_alone": ("SweepLeavesAloneWhatIsNotDue", (LISTED, "due_.emplace(next->lease_until, id);"), (
        "due_.erase({due_at(*old), id});", "due_.erase({old->lease_until, id});")),
    "sweep_remembers_the_first_lease": ("SweepFollowsTheRecord", ("    due_.erase({due_at(*old), id});\n", "")),
    "sweep_finds_one_per_instant": ("SweepFindsAllThatAreDueAtOneInstant", (
        LISTED, "const auto same = due_.lower_bound({due_at(*next), RecordId{}});\n"
        "  if (same == due_.end() || same->first != due_at(*next)) due_.emplace(due_at(*next), id);")),
    # scan
    "scan_skips_one_between_pages": ("ScanGivesEveryRecordOnceInIdOrder", (
        NEXT_PAGE, NEXT_PAGE.replace("page.records.back()->id", "at->first"))),
    "scan_repeats_one_between_pages": ("ScanGivesEveryRecordOnceInIdOrder", ("upper_bound(*after)", "lower_bound(*after)")),
    "scan_ends_with_a_full_page": ("ScanGivesEveryRecordOnceInIdOrder", (NEXT_PAGE, "")),
    "scan_never_says_that_it_ends": ("ScanGoesOnAfterARecordThatIsGone", (NEXT_PAGE, NEXT_PAGE.replace("at != records_.end() && ", ""))),
    "scan_without_versions": ("ScanGivesWholeRecords", (
        "page.records.push_back(at->second);",
        "page.records.push_back(std::make_shared<Record>(*at->second));\n"
        "    std::const_pointer_cast<Record>(page.records.back())->version = 0;")),
    # stats
    "stats_never_forget": ("StatsCountUnknownRecordsAndKnowTheOldest", ("    unknown_.erase({old->updated_at, id});\n", "")),
    "stats_name_the_newest": ("StatsCountUnknownRecordsAndKnowTheOldest", ("unknown_.begin()->first", "unknown_.rbegin()->first")),
    # chunks
    "chunks_left_behind_by_a_removal": ("ChunksTheyGoWithTheirRecord", (DROP_CHUNKS, DROP_CHUNKS.replace("!still", "next && !still"))),
    "chunks_left_behind_by_the_next_attempt": ("ChunksTheyGoWhenAnotherAttemptTakesTheRecord", (
        DROP_CHUNKS, DROP_CHUNKS.replace("!still_refers", "!next"))),
    "one_chunk_left_behind": ("ChunksTheyGoWithTheirRecord", (DROP_CHUNKS, DROP_CHUNKS.replace("chunks_.erase({id, old->token})", "chunks_[{id, old->token}].erase(0)"))),
    "chunks_lost_by_every_swap": ("ChunksTheyStayWhileTheRecordRefersToThem", (DROP_CHUNKS, DROP_CHUNKS.replace(" && !still_refers", ""))),
    "chunks_lost_by_a_refused_swap": ("ChunksTheyStayWhileTheRecordRefersToThem", (
        "    // A copy: the caller may change it.", "    if (current) chunks_.erase({id, current->token});")),
    "chunks_of_nobody_kept": ("ChunksARestartKeepsWhatIsReferredToAndDropsTheRest", (OPENED, "  return {};")),
    "chunks_of_everybody_dropped": ("ChunksARestartKeepsWhatIsReferredToAndDropsTheRest", (OPENED, "  chunks_.clear();\n  return {};")),
    "chunks_not_written": ("ChunksAKillKeepsWhatIsReferredTo", (
        WRITE, WRITE.replace("= ", '= entry.kind == Entry::Kind::put_chunk ? "" : '))),
    "chunks_of_all_attempts_dropped": ("ChunksDroppingTakesOneAttemptsOnly", (
        "chunks_.erase({entry.id, entry.token});", "std::erase_if(chunks_, [&](const auto& c) { return c.first.first == entry.id; });")),
    "chunk_index_cut_to_a_byte": ("ChunksWhatWasPutIsThereByteForByte", (
        "static_cast<std::uint32_t>(entry.number)", "static_cast<std::uint8_t>(entry.number)")),
    "chunk_ends_at_a_zero_byte": ("ChunksWhatWasPutIsThereByteForByte", ("co_return found->second;\n}\n\nasio::awaitable<StoreResult<void>> FileStore::drop",
        "co_return found->second.c_str();\n}\n\nasio::awaitable<StoreResult<void>> FileStore::drop")),
    "chunks_without_saying_so": ("ChunksAStoreThatCannotSaysSo", (".chunks = true", ".chunks = false")),
    # coroutines
    "resumes_elsewhere": ("EveryCallResumesOnItsCallersExecutor", (
        "FileStore::read(RecordId id) {\n",
        "FileStore::read(RecordId id) {\n"
        "  co_await asio::post(asio::bind_executor(asio::system_executor(), asio::use_awaitable));\n"), (
        "#include <cerrno>", "#include <boost/asio.hpp>\n#include <cerrno>")),
}
