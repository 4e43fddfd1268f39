#pragma once

#include <rocksdb/db.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace semel::stores {

// Makes iterators over one column family.
using NewIterator = std::function<std::unique_ptr<rocksdb::Iterator>()>;

// Reads all entries whose blocks can be read, in order, and calls `lost` with a sentence for each
// gap that it had to leave out. Keys must begin with 8 bytes that are spread evenly, as record ids
// do: the end of a gap is found by looking at keys in between.
void read_around(const NewIterator& make,
                 const std::function<void(std::string_view key, std::string_view value)>& take,
                 const std::function<void(std::string)>& lost);

// Returns whether anything of the family can be read.
bool is_readable(const NewIterator& make);

}  // namespace semel::stores
