#include "seam/ranks.hpp"

#include <algorithm>
#include <exception>

namespace seam {
namespace {

std::chrono::milliseconds time_of(Patience patience) {
  // Longer than a slow disk needs for a checkpoint, which the first rank writes while others wait.
  constexpr std::chrono::minutes of_step{10};
  constexpr std::chrono::hours of_flow{24};
  return patience == Patience::step ? std::chrono::milliseconds(of_step) : of_flow;
}

/// The time for which a rank that fails waits for others that are about to exchange something.
constexpr std::chrono::minutes patience_of_failing{1};

/// The first byte of a word; the second one of a failure is its fault.
constexpr char going_on = 'g';
constexpr char stopping = 's';  // continues too, but asks all ranks to stop
constexpr char failing = 'f';

std::string rank_name(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

Ranks::~Ranks() = default;

std::vector<std::string> Ranks::all_gather(const std::string& what, std::string_view bytes,
                                           Patience patience) {
  return exchanged(what, patience, [&](auto time) { return exchange(bytes, time); });
}

std::vector<std::string> Ranks::all_to_all(const std::string& what,
                                           const std::vector<std::string>& for_each) {
  return exchanged(what, Patience::step, [&](auto time) { return exchange_each(for_each, time); });
}

template <class Exchange>
Ranks::Bytes Ranks::exchanged(const std::string& what, Patience patience,
                              const Exchange& exchange) {
  const auto from = std::chrono::steady_clock::now();
  try {
    agree(what, time_of(patience));
    Bytes all = exchange(time_of(patience));
    if (patience == Patience::step) {
      for (const std::string& one : all) exchanged_.bytes += one.size();
      exchanged_.bytes -= all.at(static_cast<std::size_t>(rank())).size();
      exchanged_.seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }
    return all;
  } catch (...) {
    broken_ = true;
    throw;
  }
}

void Ranks::agree(const std::string& what, std::chrono::milliseconds patience) {
  if (parted_) throw Error("the ranks have parted", Fault::internal);
  const std::string here = "exchange " + std::to_string(++calls_) + ", " + what;
  const std::vector<std::string> words = exchange((asked_ ? stopping : going_on) + here, patience);
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    const std::string& word = words[rank];
    shall_stop_ = shall_stop_ || word.starts_with(stopping);
    if (word.size() < 2 || word[0] != failing) continue;
    parted_ = true;
    throw Error(rank_name(rank) + " failed: " + word.substr(2), static_cast<Fault>(word[1] - '0'));
  }
  const auto place_in = [](const std::string& word) {
    return std::string_view(word).substr(std::min<std::size_t>(word.size(), 1));
  };
  const auto differs = std::ranges::find_if(
      words, [&](const std::string& word) { return place_in(word) != place_in(words.front()); });
  if (differs != words.end()) {
    parted_ = true;
    throw Error("the ranks do not compute the same: rank 0 is at " +
                    std::string(place_in(words.front())) + "; " +
                    rank_name(static_cast<std::size_t>(differs - words.begin())) + " is at " +
                    std::string(place_in(*differs)) +
                    "; all ranks need the same files, and processors of one type",
                Fault::data);
  }
}

bool Ranks::fail(const Error& error) noexcept {
  if (parted_) return true;
  try {
    std::string word{failing};
    word += static_cast<char>('0' + static_cast<int>(error.fault()));
    (void)exchange(word + error.full_message(), patience_of_failing);
    parted_ = true;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace seam
