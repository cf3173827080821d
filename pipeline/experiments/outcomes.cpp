#include "pipeline/experiments/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/run/files.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

using Cells = std::vector<std::string>;

constexpr std::array<std::string_view, 3> first_columns{"epoch", "observation", "cluster"};

/// Reads lines of comma-separated values (RFC 4180).
class CsvLines {
 public:
  explicit CsvLines(std::string_view text) : text_(text) {}

  /// Returns nullopt at the end. Throws seam::Error if a quote is not closed.
  std::optional<Cells> next() {
    if (at_ >= text_.size()) return std::nullopt;
    Cells cells;
    for (;;) {
      cells.push_back(cell());
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ < text_.size() && text_[at_] == '\r') ++at_;
      if (at_ < text_.size() && text_[at_] != '\n') throw Error("text follows a quoted value");
      if (at_ >= text_.size()) throw Error("the last line is incomplete");
      ++at_;
      return cells;
    }
  }

 private:
  std::string cell() {
    if (at_ >= text_.size() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      std::string plain(text_.substr(at_, end - at_));
      at_ = end;
      return plain;
    }
    std::string quoted;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) throw Error("a quote is not closed");
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') return quoted;
      }
      quoted += text_[at_];
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The position of the metric's column.
std::size_t column_of(const Cells& head, const std::string& metric) {
  const bool begins = head.size() >= first_columns.size() &&
                      std::equal(first_columns.begin(), first_columns.end(), head.begin());
  if (!begins) throw Error("its columns do not begin with epoch, observation, cluster");
  const auto found = std::find(head.begin() + first_columns.size(), head.end(), metric);
  if (found == head.end()) {
    const Cells metrics(head.begin() + first_columns.size(), head.end());
    throw Error(fmt::format("it has no column '{}'; its metric columns are: {}", metric,
                            metrics.empty() ? "none" : enumerated(metrics)));
  }
  return static_cast<std::size_t>(found - head.begin());
}

void add_line(const Cells& line, std::size_t column, const RecordedValue& recorded,
              Outcomes& outcomes) {
  const auto epoch = number_in<std::int64_t>(line[0]);
  if (!epoch) throw Error(fmt::format("'{}' is not an epoch", line[0]));
  if (*epoch != recorded.epoch) {
    throw Error(
        fmt::format("it is from epoch {}, but the value of {} is from epoch {}: only the scores of "
                    "the newest evaluation are kept",
                    *epoch + 1, recorded.name, recorded.epoch + 1));
  }
  Outcome outcome{line[2], std::nullopt};
  if (!line[column].empty()) {
    outcome.value = number_in<double>(line[column]);
    if (!outcome.value || !std::isfinite(*outcome.value)) {
      throw Error(fmt::format("'{}' is not a finite number", line[column]));
    }
  }
  if (line[1].empty()) throw Error("an observation has no name");
  if (!outcomes.emplace(line[1], std::move(outcome)).second) {
    throw Error(fmt::format("observation '{}' occurs twice", line[1]));
  }
}

void check_mean(const Outcomes& outcomes, const RecordedValue& recorded) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [name, outcome] : outcomes) {
    if (!outcome.value) continue;
    sum += *outcome.value;
    ++count;
  }
  if (count == 0) throw Error(fmt::format("no observation has a value of {}", recorded.name));
  const double mean = sum / static_cast<double>(count);
  constexpr double rounding = 1e-9;
  if (std::abs(mean - recorded.value) <= rounding * std::max(1.0, std::abs(recorded.value))) return;
  throw Error(
      fmt::format("the mean of its column {} is {}, but the run recorded {}: it belongs to a "
                  "different evaluation",
                  recorded.name, mean, recorded.value));
}

}  // namespace

fs::path outcome_file(const fs::path& run, const std::string& flow, const std::string& stage) {
  return run / "outcomes" / (flow + "." + stage + ".csv");
}

Outcomes read_outcomes(const fs::path& file, const RecordedValue& recorded) {
  if (!fs::exists(file)) {
    throw Error(fmt::format("'{}', which should hold the score of each observation, does not "
                            "exist: the stage does not write it, could not name its observations, "
                            "or the run was made with an earlier version of Seam",
                            file.string()),
                Fault::data);
  }
  const std::string text = read_text_file(file);
  std::size_t number = 0;
  try {
    CsvLines lines(text);
    number = 1;
    const auto head = lines.next();
    const std::size_t column = column_of(head.value_or(Cells()), recorded.name);
    Outcomes outcomes;
    for (++number;; ++number) {
      const auto line = lines.next();
      if (!line) break;
      if (line->size() != head->size()) {
        throw Error(fmt::format("it has {} values instead of {}", line->size(), head->size()));
      }
      add_line(*line, column, recorded, outcomes);
    }
    number = 0;
    check_mean(outcomes, recorded);
    return outcomes;
  } catch (const Error& error) {
    const std::string place = number == 0 ? std::string() : fmt::format(", line {}", number);
    throw Error(fmt::format("'{}'{}: {}", file.string(), place, error.what()), Fault::data);
  }
}

}  // namespace seam::host
