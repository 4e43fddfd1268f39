// The one translation unit that compiles Asio and Beast; everything else only declares them.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
