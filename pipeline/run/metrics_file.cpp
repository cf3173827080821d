#include "pipeline/run/metrics_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "pipeline/text/json.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

/// Infinity is 1e999 in the file, which readers of IEEE numbers turn back into infinity. This JSON
/// parser rejects it, so it is replaced with a string. No other key or string can contain
/// `"value":`, since quotes are escaped.
std::string with_readable_infinity(std::string line) {
  constexpr std::string_view key = "\"value\":";
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return line;
  const std::size_t from = at + key.size();
  for (const std::string_view infinity : {"1e999", "-1e999"}) {
    if (line.compare(from, infinity.size(), infinity) != 0) continue;
    return line.substr(0, from) + (infinity.front() == '-' ? "\"-inf\"" : "\"inf\"") +
           line.substr(from + infinity.size());
  }
  return line;
}

double number_of(const Json& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return infinity;
  if (value == "-inf") return -infinity;
  return value.get<double>();
}

MetricLine parsed(std::string line) {
  const Json json = parse_json(with_readable_infinity(std::move(line)));
  MetricLine metric;
  json.at("epoch").get_to(metric.epoch);
  json.at("flow").get_to(metric.flow);
  json.at("stage").get_to(metric.stage);
  json.at("name").get_to(metric.name);
  json.at("step").get_to(metric.step);
  metric.value = number_of(json.at("value"));
  metric.when = json.value("when", std::string());
  return metric;
}

}  // namespace

LastLine read_metrics(const std::filesystem::path& file,
                      const std::function<void(MetricLine&&)>& take, std::uint64_t size) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    if (size == 0) return LastLine::whole;
    throw Error("cannot open '" + file.string() + "'");
  }
  std::uint64_t read = 0;
  std::uint64_t number = 0;
  for (std::string line; read < size && std::getline(stream, line);) {
    ++number;
    if (stream.eof() && size == all_of_it) return LastLine::incomplete;
    read += line.size() + 1;
    try {
      take(parsed(std::move(line)));
    } catch (const Json::exception& error) {
      throw Error(
          fmt::format("line {} of '{}' is not a valid metric ({}); restore the "
                      "file, or start a new run",
                      number, file.string(), error.what()));
    }
  }
  if (stream.bad()) throw Error("cannot read '" + file.string() + "'");
  if (size != all_of_it && read != size) {
    throw Error(
        fmt::format("'{}' is damaged: it should contain complete lines up to byte {}; "
                    "restore the file, or start a new run",
                    file.string(), size));
  }
  return LastLine::whole;
}

}  // namespace seam::host
