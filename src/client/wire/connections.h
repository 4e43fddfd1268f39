#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "client/wire/stream.h"

namespace semel::client {

// The connections of one client to its server that wait for another request. Any thread.
class Connections {
 public:
  struct Taken {
    std::unique_ptr<Stream> stream;
    bool was_idle = false;
  };

  Connections(Origin origin, TlsContext tls) : origin_(std::move(origin)), tls_(std::move(tls)) {}

  // fresh: not one that was idle, which the server may be about to close.
  Stream::Result<Taken> take(bool fresh, const Limits& limits);
  void give_back(std::unique_ptr<Stream> stream);

 private:
  struct Idle {
    std::unique_ptr<Stream> stream;
    SteadyPoint since;
  };
  std::unique_ptr<Stream> take_idle();

  const Origin origin_;
  const TlsContext tls_;
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

}  // namespace semel::client
