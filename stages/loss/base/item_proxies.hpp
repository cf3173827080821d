/// Assigns a proxy to each item of a training: to known ones in order of their names, so that
/// another run with the same items assigns the same, and then in order of first appearance.
///
///     items of a batch ──► number_of() ──► accept()     the batch counts: new items keep theirs
///                              └─► the next number_of(): they do not
#pragma once

#include <seam/archive.hpp>

#include <functional>
#include <set>

namespace seam::stages {

class ItemProxies {
 public:
  enum class New : std::uint8_t {
    join,     ///< an item that occurs for the first time gets the next proxy
    refused,  ///< every item must have one
  };

  /// Words for messages: for one proxy, for several, and for what sets their number.
  struct Words {
    std::string_view one = "proxy";
    std::string_view several = "proxies";
    std::string_view set = "`items`";
  };

  explicit ItemProxies(std::int64_t proxies = 0) : ItemProxies(proxies, Words()) {}
  ItemProxies(std::int64_t proxies, Words words) : proxies_(proxies), words_(words) {}

  /// While no item has a proxy: gives these items the first ones, unless there are too few.
  void assign(const std::set<std::string, std::less<>>& items);
  /// The proxies of a batch's rows. Throws seam::Error naming an item that gets none.
  [[nodiscard]] std::vector<std::int64_t> number_of(const std::vector<std::string>& items,
                                                    New fresh);
  /// Accepts the batch of the last call with New::join: its items count as trained, and those that
  /// were new in it keep their proxies.
  void accept();
  /// Sets the number of proxies, for when only a batch shows it. Throws seam::Error if more are
  /// already assigned.
  void set_number(std::int64_t proxies);
  [[nodiscard]] bool empty() const { return names_.empty(); }
  /// Proxies without a trained item.
  [[nodiscard]] std::int64_t left() const {
    return proxies_ - static_cast<std::int64_t>(names_.size() - untrained_.size());
  }
  /// An item with a proxy that has not been trained; empty if there is none.
  [[nodiscard]] std::string first_untrained() const;

  void save(Archive& archive) const;
  /// Throws seam::Error, and changes nothing, if the saved state does not fit this number of
  /// proxies.
  void load(const Archive& archive);

 private:
  std::int64_t proxies_;
  Words words_;
  std::vector<std::string> names_;               // by proxy
  std::map<std::string, std::int64_t> numbers_;  // the inverse of names_
  std::set<std::int64_t> untrained_;             // proxies of assign() without a trained item
  std::vector<std::string> joining_;             // of the last batch, until it is accepted
  std::vector<std::int64_t> trained_;            // likewise: the proxies of its rows
};

}  // namespace seam::stages
