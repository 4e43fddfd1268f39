#pragma once

#include <boost/json/value.hpp>

// Shows records to people, for `semel keys`.
namespace semel::cli {

void print_list_head();
void print_list_line(const boost::json::value& record);
void print_record(const boost::json::value& record);

}  // namespace semel::cli
