#include "stages/loss/base/item_proxies.hpp"

#include <seam/error.hpp>

#include <utility>

#include "stages/packed_numbers.hpp"

namespace seam::stages {

void ItemProxies::assign(const std::set<std::string, std::less<>>& items) {
  if (!empty() || static_cast<std::int64_t>(items.size()) > proxies_) return;
  for (const std::string& item : items) {
    const auto number = static_cast<std::int64_t>(names_.size());
    numbers_.emplace(item, number);
    names_.push_back(item);
    untrained_.insert(number);
  }
}

std::vector<std::int64_t> ItemProxies::number_of(const std::vector<std::string>& items, New fresh) {
  joining_.clear();
  trained_.clear();
  std::map<std::string, std::int64_t> joining;
  std::vector<std::int64_t> numbers;
  numbers.reserve(items.size());
  for (const std::string& item : items) {
    if (const auto known = numbers_.find(item); known != numbers_.end()) {
      numbers.push_back(known->second);
      continue;
    }
    if (fresh == New::refused) {
      throw Error("item '" + item + "' has no trained " + std::string(words_.one) +
                  ": it has not occurred in any training batch. Leave this loss out of flows with "
                  "items that are not in the training list");
    }
    const auto next = static_cast<std::int64_t>(names_.size() + joining.size());
    const auto [place, added] = joining.emplace(item, next);
    if (added && next >= proxies_) {
      throw Error("item '" + item + "' has no " + std::string(words_.one) + ": all " +
                      std::to_string(proxies_) + " belong to other items; set " +
                      std::string(words_.set) + " to the number of items in the training list",
                  Fault::configuration);
    }
    numbers.push_back(place->second);
  }
  joining_.resize(joining.size());
  for (const auto& [name, number] : joining) {
    joining_[static_cast<std::size_t>(number) - names_.size()] = name;
  }
  if (fresh == New::join) trained_ = numbers;
  return numbers;
}

void ItemProxies::accept() {
  for (std::string& name : std::exchange(joining_, {})) {
    numbers_.emplace(name, static_cast<std::int64_t>(names_.size()));
    names_.push_back(std::move(name));
  }
  for (const std::int64_t number : std::exchange(trained_, {})) untrained_.erase(number);
}

std::string ItemProxies::first_untrained() const {
  if (untrained_.empty()) return {};
  return names_[static_cast<std::size_t>(*untrained_.begin())];
}

void ItemProxies::set_number(std::int64_t proxies) {
  if (static_cast<std::int64_t>(names_.size()) > proxies) {
    throw Error(std::to_string(names_.size()) + " items have been seen, but there are only " +
                    std::to_string(proxies) + " " + std::string(words_.several) + "; set " +
                    std::string(words_.set) + " to the number of items in the training list",
                Fault::configuration);
  }
  proxies_ = proxies;
}

void ItemProxies::save(Archive& archive) const {
  std::vector<std::int64_t> lengths;
  std::string text;
  for (const std::string& name : names_) {
    lengths.push_back(static_cast<std::int64_t>(name.size()));
    text += name;
  }
  put_numbers(archive, "item_lengths", lengths);
  archive.put("items", text);
  put_numbers(archive, "untrained", {untrained_.begin(), untrained_.end()});
}

void ItemProxies::load(const Archive& archive) {
  const std::vector<std::int64_t> lengths = numbers_in(archive, "item_lengths");
  const std::string text = archive.text("items");
  ItemProxies loaded(proxies_, words_);
  std::size_t from = 0;
  for (const std::int64_t length : lengths) {
    if (length <= 0 || static_cast<std::uint64_t>(length) > text.size() - from) {
      throw Error("the saved item names do not have the saved lengths; the checkpoint is damaged");
    }
    std::string name = text.substr(from, static_cast<std::size_t>(length));
    from += name.size();
    if (!loaded.numbers_.emplace(name, static_cast<std::int64_t>(loaded.names_.size())).second) {
      throw Error("item '" + name + "' has two saved " + std::string(words_.several) +
                  "; the checkpoint is damaged");
    }
    loaded.names_.push_back(std::move(name));
  }
  if (from != text.size() || static_cast<std::int64_t>(loaded.names_.size()) > proxies_) {
    throw Error("the saved item names do not fit " + std::to_string(proxies_) + " " +
                std::string(words_.several) + "; the checkpoint is damaged");
  }
  if (archive.has("untrained")) {  // earlier versions did not save it
    for (const std::int64_t number : numbers_in(archive, "untrained")) {
      if (number < 0 || number >= static_cast<std::int64_t>(loaded.names_.size())) {
        throw Error("the saved state has an untrained item " + std::to_string(number) + " of " +
                    std::to_string(loaded.names_.size()) + "; the checkpoint is damaged");
      }
      loaded.untrained_.insert(number);
    }
  }
  *this = std::move(loaded);
}

}  // namespace seam::stages
