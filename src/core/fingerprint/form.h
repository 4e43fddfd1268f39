#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/fingerprint.h"

namespace semel::core {

// Returns the canonical form of an application/x-www-form-urlencoded body: insensitive to the order
// of fields and to how characters are escaped, sensitive to the order of the values of one field. A
// field without "=" differs from a field with an empty value: some executors tell them apart.
// nullopt: a "%" is not followed by two hexadecimal digits, there is a ";", which some executors
// read as "&", or the brackets of a name are not well-formed.
//
//   form  = *group                                         sorted by the bytes of the root
//   group = ("s" | "o") count *field                       sorted by name, or in order
//   field = "k" length name ("=" length value | "!")
//
// Lengths and counts are varints. A group holds the fields that executors may put into one
// variable: the root of `a[b][]` is `a`, and executors differ in how they treat case, dots and
// blanks in it. The fields of a group keep their order where it may matter: an empty bracket means
// "the next" (`a[][x]=1&a[][y]=2&a[][x]=3`), a name may overwrite another (`a=1&a[b]=2`), or two
// spellings may be the same name.
//
// Under version 1 of the recipe the form is the list of fields, sorted by name, without groups.
std::optional<std::string> canonical_form(std::string_view body,
                                          std::uint8_t recipe_version = kRecipeVersion);

}  // namespace semel::core
