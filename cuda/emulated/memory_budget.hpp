#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

namespace pinbench::emulated {

// How much memory may be taken in all, and how much has been.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}

  bool take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (bytes > limit_ - taken_) return false;
    taken_ += bytes;
    return true;
  }

  void give_back(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    taken_ -= bytes;
  }

  std::size_t limit() const { return limit_; }

  std::size_t left() const {
    const std::scoped_lock lock(mutex_);
    return limit_ - taken_;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::size_t taken_ = 0;
};

// A part of a budget, given back when this goes away.
class BudgetShare {
 public:
  BudgetShare() = default;
  // Empty where the budget does not allow it.
  BudgetShare(MemoryBudget& budget, std::size_t bytes)
      : budget_(budget.take(bytes) ? &budget : nullptr), bytes_(bytes) {}
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  BudgetShare& operator=(BudgetShare&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BudgetShare() {
    if (budget_ != nullptr) budget_->give_back(bytes_);
  }

  explicit operator bool() const { return budget_ != nullptr; }

 private:
  MemoryBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pinbench::emulated
