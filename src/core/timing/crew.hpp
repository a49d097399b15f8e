// Host threads that work through the SMs of a launch, quantum by quantum.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "types.hpp"

namespace warpath {

// Where the crew waits for its last member. The others are rarely late by much, so a member looks again for a
// while before it sleeps.
class Meeting {
 public:
  explicit Meeting(u32 members) : members_(members) {}

  void wait() {
    const u32 round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (u32 look = 0; look < kLooks; ++look) {
      if (round_.load(std::memory_order_acquire) != round) return;
      __builtin_ia32_pause();
    }
    round_.wait(round, std::memory_order_acquire);
  }

 private:
  static constexpr u32 kLooks = 4096;  // some 50 us
  u32 members_;
  std::atomic<u32> arrived_{0};
  std::atomic<u32> round_{0};
};

// Calls `work(item, member)` for every item below `items`, on all members; each has items of its own and then
// helps the others with theirs. The calling thread is member 0.
class Crew {
 public:
  using Work = std::function<void(u32 item, u32 member)>;

  Crew(u32 members, u32 items, Work work) : work_(std::move(work)), meeting_(members), shares_(members) {
    for (u32 member = 0; member < members; ++member) {
      shares_[member].first = static_cast<u32>(u64{items} * member / members);
      shares_[member].end = static_cast<u32>(u64{items} * (member + 1) / members);
    }
    for (u32 member = 1; member < members; ++member) helpers_.emplace_back([this, member] { help(member); });
  }
  ~Crew() {
    over_ = true;
    meeting_.wait();
    for (std::thread& helper : helpers_) helper.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void run() {
    for (Share& share : shares_) share.next.store(share.first, std::memory_order_relaxed);
    meeting_.wait();
    work_through(0);
    meeting_.wait();
  }

 private:
  struct alignas(64) Share {
    std::atomic<u32> next{0};
    u32 first = 0, end = 0;
  };

  void help(u32 member) {
    while (true) {
      meeting_.wait();
      if (over_) return;
      work_through(member);
      meeting_.wait();
    }
  }

  void work_through(u32 member) {
    for (std::size_t turn = 0; turn < shares_.size(); ++turn) {
      Share& share = shares_[(member + turn) % shares_.size()];
      for (u32 item = share.next++; item < share.end; item = share.next++) work_(item, member);
    }
  }

  Work work_;
  Meeting meeting_;
  std::vector<Share> shares_;
  std::vector<std::thread> helpers_;
  bool over_ = false;
};

}  // namespace warpath
