#pragma once

#include <array>
#include <string>
#include <utility>

#include "telemetry/metrics.h"

namespace semel::consume {

// Counts what became of the messages of one queue, and how many are held: semel_messages_total and
// semel_messages_held. Thread-safe.
class MessageMetrics {
 public:
  // lost: the connection was lost before the message was settled; the broker delivers it again.
  enum class End { acknowledged, dead_letter, returned, lost };

  MessageMetrics(telemetry::Metrics& metrics, const std::string& operation);

  void count(End end) { ends_[static_cast<std::size_t>(end)]->Increment(); }

  // Counts one message while it is held.
  class Held {
   public:
    explicit Held(prometheus::Gauge* gauge) : gauge_(gauge) { gauge_->Increment(); }
    Held(Held&& other) noexcept : gauge_(std::exchange(other.gauge_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (gauge_) gauge_->Decrement();
    }

   private:
    prometheus::Gauge* gauge_;
  };
  Held hold() { return Held(held_); }

 private:
  std::array<prometheus::Counter*, 4> ends_{};
  prometheus::Gauge* held_;
};

}  // namespace semel::consume
