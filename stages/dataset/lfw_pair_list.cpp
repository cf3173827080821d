#include "stages/dataset/lfw_pair_list.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <seam/error.hpp>
#include <string_view>
#include <utility>

#include "stages/counted.hpp"
#include "stages/dataset/in_quotes.hpp"

namespace seam::stages {
namespace {

class LfwPairParser {
 public:
  explicit LfwPairParser(const ListText& list) : list_(list) {}

  LfwPairList parse() {
    std::string_view rest = list_.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::vector<std::string_view> columns = columns_of(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++line_;
      if (line_ == 1) {
        read_head(columns);
      } else if (!columns.empty()) {
        if (blank_ > 0) fail(blank_, "the line is blank, but pairs follow");
        read_pair(columns);
      } else if (blank_ == 0) {
        blank_ = line_;
      }
    }
    if (line_ == 0) fail(1, "the file is empty; the first line must hold a count");
    if (count() < promised()) {
      fail(line_, "the list ends after " + counted(count(), "pair") +
                      ", but the first line declares " + promise() +
                      "; a line is missing, or the first line belongs to a different list");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const {
    fail_at(list_.name, line, what);
  }

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(result_.pairs.size());
  }
  [[nodiscard]] std::int64_t promised() const {
    return 2 * result_.folds * result_.pairs_of_each_kind;
  }
  [[nodiscard]] std::string promise() const {
    const std::string each = grouped(result_.pairs_of_each_kind);
    return grouped(promised()) + ", " +
           (result_.folds > 1 ? std::to_string(result_.folds) + " folds of " : std::string()) +
           each + " of one person and " + each + " of two";
  }

  void read_head(const std::vector<std::string_view>& columns) {
    constexpr std::int64_t most = 1'000'000;
    std::vector<std::int64_t> numbers;
    for (const std::string_view column : columns) {
      const auto number = whole_number(column);
      if (number && *number >= 1 && *number <= most) numbers.push_back(*number);
    }
    if (numbers.size() != columns.size() || numbers.empty() || numbers.size() > 2) {
      fail(1, (columns.size() == 3 || columns.size() == 4
                   ? std::string("the first line is a pair; the line with the counts is missing")
                   : "the first line is " +
                         in_quotes(list_.text.substr(
                             0, std::min<std::size_t>(list_.text.find('\n'), 40)))) +
                  "; it must hold the number of pairs of each kind: \"10 300\" in pairs.txt, "
                  "\"1100\" in pairsDevTrain.txt, \"500\" in pairsDevTest.txt");
    }
    if (numbers.size() == 2) result_.folds = numbers.front();
    result_.pairs_of_each_kind = numbers.back();
  }

  [[nodiscard]] LfwImage image(std::string_view person, std::string_view digits) const {
    const auto number = whole_number(digits);
    if (!number || *number < 1 || *number > 9999) {
      fail(line_, in_quotes(digits) + " is not an image number from 1 to 9999");
    }
    if (person.find('/') != std::string_view::npos || person.starts_with('.')) {
      fail(line_,
           in_quotes(person) + " is not a person's name: it would leave the data set's folder");
    }
    return {std::string(person), *number};
  }

  void read_pair(const std::vector<std::string_view>& columns) {
    if (columns.size() != 3 && columns.size() != 4) {
      fail(line_, counted(columns.size(), "column") +
                      "; a pair of one person has 3 (name, two numbers), one of two has 4 (name, "
                      "number, name, number)");
    }
    if (count() == promised()) {
      fail(line_, "an additional pair, but the first line declares " + promise());
    }
    const std::int64_t each = result_.pairs_of_each_kind;
    const std::int64_t in_fold = count() % (2 * each);
    const std::int64_t fold = count() / (2 * each);
    if (const bool same = columns.size() == 3; same != (in_fold < each)) {
      fail(line_, std::string("a pair of ") + (same ? "one person" : "two persons") +
                      " instead of pair " + std::to_string(in_fold % each + 1) + " of " +
                      std::to_string(each) + " of " + (same ? "two persons" : "one person") +
                      " of fold " + std::to_string(fold + 1) +
                      "; a line before it is missing or superfluous, or the first line belongs to "
                      "a different list");
    }
    const bool same = columns.size() == 3;
    LfwPair pair{image(columns[0], columns[1]),
                 same ? image(columns[0], columns[2]) : image(columns[2], columns[3]), count(),
                 fold, line_};
    if (pair.first == pair.second) fail(line_, "the pair has the same image twice");
    if (!same && pair.same()) {
      fail(line_, "a pair of two persons names " + in_quotes(pair.first.person) + " twice");
    }
    const auto [known, fresh] = line_of_pair_.try_emplace(
        std::pair<LfwImage, LfwImage>(std::minmax(pair.first, pair.second)), line_);
    if (!fresh) fail(line_, "the pair is already on line " + std::to_string(known->second));
    result_.pairs.push_back(std::move(pair));
  }

  const ListText& list_;
  LfwPairList result_;
  std::map<std::pair<LfwImage, LfwImage>, std::int64_t> line_of_pair_;
  std::int64_t line_ = 0;
  std::int64_t blank_ = 0;
};

}  // namespace

std::string LfwImage::path() const {
  std::string digits = std::to_string(number);
  digits.insert(0, 4 - std::min<std::size_t>(digits.size(), 4), '0');
  return person + "/" + person + "_" + digits + ".jpg";
}

LfwPairList parse_lfw_pairs(const ListText& list) {
  return LfwPairParser(list).parse();
}

}  // namespace seam::stages
