#include "sim/world.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "sim/node.h"

namespace semel::sim {
namespace {

using support::VirtualTime;

constexpr VirtualTime::Lane kWorld = 0;
// Longer than any execution, its late answer, and a lease under the worst clocks, together.
constexpr Duration kSettle = std::chrono::seconds(45);

constexpr FaultRates kOutage{.unavailable = 700,
                             .held = 0,
                             .lost_reply = 100,
                             .lost_write = 100,
                             .late_write = 50,
                             .fading = 0};

class World {
 public:
  World(std::uint64_t seed, Plant plant, bool traced, support::ModelStore& below)
      : lab_(seed, plant, traced, below) {
    lab_.store.on_write([this](const std::optional<Record>& before, const Record* after) {
      lab_.history.wrote(before, after, lab_.time.now(), lab_.time.now() + clock_ahead_max_);
      const bool ran = before && before->state == RecordState::in_progress;
      if (ran && after && (after->state == RecordState::unknown || after->token != before->token)) {
        lab_.leases.given_up(*before);
      }
    });
    sites_.resize(static_cast<std::size_t>(lab_.scenario.nodes));
    for (Site& site : sites_) {
      site.number = static_cast<int>(&site - sites_.data());
      step_clock(site);
    }
  }
  ~World() {
    for (Site& site : sites_) crash(site);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Report run() {
    for (Site& site : sites_) boot(site);
    plan_requests();
    plan_resolutions();
    plan_faults();
    lab_.time.run_for(Scenario::kActive);

    lab_.rates = {};
    for (Site& site : sites_) boot(site);
    lab_.time.run_for(kSettle);
    Report report;
    check_needlessly_unknown(lab_, report.violations);

    // Everybody dies once more. What was acknowledged is still there, whoever asks.
    for (Site& site : sites_) crash(site);
    for (Site& site : sites_) boot(site);
    ask_for_every_key();
    lab_.time.run_for(kSettle);

    check_one_answer(lab_, report.violations);
    check_once(lab_, report.violations);
    check_leases(lab_, report.violations);
    check_durable(lab_, report.violations);
    check_nothing_stuck(lab_, report.violations);
    check_queued(lab_, report.violations);
    check_expiry(lab_, report.violations);
    for (const Site& site : sites_) {
      if (!site.node->idle()) {
        report.violations.push_back(fmt::format("node {} still executes", site.number));
      }
    }
    report.trace = lab_.trace.lines();
    report.tally = lab_.tally;
    return report;
  }

 private:
  // A machine: its clock goes on when its process does not.
  struct Site {
    int number = 0;
    std::uint64_t runs = 0;
    Duration clock_off{0};
    VirtualTime::Lane wire = kWorld;
    std::unique_ptr<Node> node;
  };

  Site& any_site() {
    return sites_[static_cast<std::size_t>(lab_.random.below(lab_.scenario.nodes))];
  }
  int any_key() { return lab_.random.below(static_cast<int>(lab_.scenario.keys.size())); }
  Duration any_time() { return lab_.random.ms(0, static_cast<int>(Scenario::kActive.count())); }
  template <typename Do>
  void plan(Duration when, Do then) {
    lab_.time.at(VirtualTime::kStart + when, kWorld, std::move(then));
  }

  void boot(Site& site) {
    if (site.node) return;
    const VirtualTime::Lane lane = ++lanes_;
    lab_.boots.push_back(lab_.time.now());
    // A shared store's network outlives the process. A store in the process dies with it.
    site.wire = lab_.scenario.exclusive ? ++lanes_ : kWorld;
    site.node = std::make_unique<Node>(
        lab_, Node::Place{site.number, ++site.runs, lane, site.wire, site.clock_off});
    lab_.time.run_ready();
    lab_.trace.line(lab_.time.now(),
                    [&] { return fmt::format("node {} run {} is up", site.number, site.runs); });
  }

  void crash(Site& site) {
    if (!site.node) return;
    lab_.trace.line(lab_.time.now(), [&] { return fmt::format("node {} DIES", site.number); });
    if (lab_.scenario.exclusive) {
      // Some of the writes under way reach the disk, the earliest first.
      auto writes = lab_.time.take(site.wire);
      const int landed = lab_.random.below(static_cast<int>(writes.size()) + 1);
      for (int write = 0; write < landed; ++write) writes[static_cast<std::size_t>(write)]();
    }
    site.node->die();
    site.node.reset();
    lab_.time.run_ready();  // unwinds those who waited in the engine
  }

  void step_clock(Site& site) {
    const int max = static_cast<int>(lab_.scenario.clock_off_max.count());
    site.clock_off = lab_.random.ms(-max, max);
    clock_ahead_max_ = std::max(clock_ahead_max_, site.clock_off);
    if (site.node) site.node->set_clock(site.clock_off);
    lab_.clock_steps.push_back({lab_.time.now(), site.clock_off});
    lab_.trace.line(lab_.time.now(), [&] {
      return fmt::format("node {} clock is off by {} ms", site.number, site.clock_off.count());
    });
  }

  // Duplicates come in bursts, to any node.
  void plan_requests() {
    for (int left = lab_.scenario.requests; left > 0;) {
      const Duration when = any_time();
      const int key = any_key();
      const int burst = lab_.random.between(1, 4);
      left -= burst;
      for (int i = 0; i < burst; ++i) {
        const Request request{key, lab_.random.chance(80) ? 1 : 0, lab_.random.chance(400),
                              lab_.random.chance(250)};
        Site& site = any_site();
        plan(when + lab_.random.ms(0, 60), [&site, request] {
          if (site.node) site.node->serve(request);
        });
      }
    }
  }

  // Clients that come back just when the leases of a node that hangs or died run out.
  void plan_vultures(Duration when) {
    for (int i = 0; i < 6; ++i) {
      const Request request{any_key(), 0, false};
      Site& site = any_site();
      plan(when + lab_.random.ms(-700, 500), [&site, request] {
        if (site.node) site.node->serve(request);
      });
    }
  }

  void plan_resolutions() {
    for (int i = 0; i < lab_.scenario.resolutions; ++i) {
      const int key = any_key();
      const Duration when = any_time();
      // Two operators at once are the interesting case.
      for (int operators = lab_.random.between(1, 2); operators > 0; --operators) {
        Site& site = any_site();
        const bool complete = lab_.random.chance(300);
        plan(when + lab_.random.ms(0, 30), [&site, key, complete] {
          if (site.node) site.node->resolve(key, complete);
        });
      }
    }
  }

  void plan_faults() {
    for (int i = 0; i < lab_.scenario.crashes; ++i) {
      Site& site = any_site();
      const Duration when = any_time();
      plan(when, [this, &site] { crash(site); });
      plan_vultures(when + Scenario::kLease);
      plan(when + lab_.random.ms(10, 3000), [this, &site] { boot(site); });
    }
    for (int i = 0; i < lab_.scenario.freezes; ++i) {
      Site& site = any_site();
      const Duration how_long = lab_.random.ms(200, 5000);
      const Duration when = any_time();
      plan_vultures(when + Scenario::kLease);
      plan(when, [this, &site, how_long] {
        if (!site.node) return;
        lab_.trace.line(lab_.time.now(), [&] {
          return fmt::format("node {} FREEZES for {} ms", site.number, how_long.count());
        });
        site.node->freeze(how_long);
      });
    }
    for (int i = 0; i < lab_.scenario.clock_steps; ++i) {
      Site& site = any_site();
      plan(any_time(), [this, &site] { step_clock(site); });
    }
    for (int i = 0; i < lab_.scenario.outages; ++i) {
      const Duration when = any_time();
      plan(when, [this] { lab_.rates = kOutage; });
      plan(std::min(when + lab_.random.ms(300, 4000), Scenario::kActive),
           [this] { lab_.rates = lab_.scenario.rates; });
    }
  }

  void ask_for_every_key() {
    for (int key = 0; key < static_cast<int>(lab_.scenario.keys.size()); ++key) {
      for (Site& site : sites_) site.node->serve({key, 0, true});
    }
  }

  Lab lab_;
  std::vector<Site> sites_;
  VirtualTime::Lane lanes_ = kWorld;
  Duration clock_ahead_max_{0};
};

}  // namespace

Report run_seed(std::uint64_t seed, Plant plant, bool traced) {
  support::ModelStore store;
  return World(seed, plant, traced, store).run();
}

Report run_seed_on(support::ModelStore& store, std::uint64_t seed) {
  return World(seed, Plant::none, false, store).run();
}

}  // namespace semel::sim
