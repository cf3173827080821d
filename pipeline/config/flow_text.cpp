#include "pipeline/config/flow_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "pipeline/text/utf8.hpp"

namespace seam::host {
namespace {

constexpr int most_nested_braces = 16;  // braces within braces

bool starts_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool continues_name(char c) {
  return starts_name(c) || (c >= '0' && c <= '9') || c == '-';
}

class Parser {
 public:
  Parser(std::string_view text, TextKind kind) : text_(text), kind_(kind) {}

  FlowText parse() {
    skip_blanks();
    if (at_end()) {
      fault(0, text_.size(), "empty-flow", "the " + noun() + " is empty",
            {kind_ == TextKind::flow ? "name its stages: \"items -> decode -> report\""
                                     : "name its stages: \"decode -> resize -> batch\""});
      return std::move(flow_);
    }
    flow_.ends = chain({}, 0);
    if (ok() && !at_end()) expected("'->' or the end of the " + noun());
    if (ok()) check_names();
    return std::move(flow_);
  }

 private:
  using Ends = std::vector<std::size_t>;

  [[nodiscard]] bool ok() const { return flow_.faults.empty(); }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }

  [[nodiscard]] std::string noun() const { return kind_ == TextKind::flow ? "flow" : "path"; }

  void skip_blanks() {
    while (!at_end() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  void fault(std::size_t offset, std::size_t length, std::string code, std::string message,
             std::vector<std::string> notes = {}) {
    flow_.faults.push_back({offset, std::max<std::size_t>(1, length), std::move(code),
                            std::move(message), std::move(notes)});
  }

  void expected(const std::string& what) {
    if (at_end()) {
      fault(text_.empty() ? 0 : text_.size() - 1, 1, "flow-syntax",
            "the " + noun() + " ends where " + what + " is expected");
      return;
    }
    // All bytes of the character, so that it is never quoted in part.
    std::size_t end = at_ + 1;
    while (end < text_.size() && !begins_character(text_[end])) ++end;
    if (continues_name(peek())) {
      while (end < text_.size() && continues_name(text_[end])) ++end;
    }
    std::string note;
    if (peek() == '|' || peek() == '>' || peek() == '=' || peek() == '-' || text_[at_] == '\xe2') {
      note = "stages are joined by '->'";
    } else if (peek() == '.') {
      note = "a " + noun() + " names the stages of this file ([stage.NAME]), not their types";
    }
    fault(at_, 1, "flow-syntax",
          "expected " + what + ", not '" + std::string(text_.substr(at_, end - at_)) + "'", {note});
  }

  /// Reads a chain whose first step follows `inputs`; returns the positions of its last steps.
  Ends chain(Ends inputs, int depth) {
    Ends ends = step(std::move(inputs), depth);
    while (ok()) {
      skip_blanks();
      if (!text_.substr(at_).starts_with("->")) break;
      at_ += 2;
      ends = step(std::move(ends), depth);
    }
    return ends;
  }

  Ends step(Ends inputs, int depth) {
    skip_blanks();
    if (peek() == '{') return branches(inputs, depth);
    if (!starts_name(peek())) {
      expected("a stage's name");
      return {};
    }
    const std::size_t from = at_;
    // A minus belongs to the name unless it begins an arrow.
    while (!at_end() && continues_name(peek()) && !text_.substr(at_).starts_with("->")) ++at_;
    flow_.steps.push_back({std::string(text_.substr(from, at_ - from)), from, std::move(inputs)});
    return {flow_.steps.size() - 1};
  }

  Ends branches(const Ends& inputs, int depth) {
    const std::size_t open = at_++;
    if (depth >= most_nested_braces) {
      fault(open, 1, "flow-syntax",
            "braces are nested more than " + std::to_string(most_nested_braces) + " deep");
      return {};
    }
    if (inputs.empty() && kind_ == TextKind::flow) {
      fault(open, 1, "flow-head", "a flow begins with one source; branches can only follow it");
      return {};
    }
    Ends ends;
    while (ok()) {
      const Ends branch = chain(inputs, depth + 1);
      ends.insert(ends.end(), branch.begin(), branch.end());
      if (!ok()) break;
      skip_blanks();
      if (peek() == ',') {
        ++at_;
      } else if (peek() == '}') {
        ++at_;
        break;
      } else if (at_end()) {
        fault(open, 1, "flow-syntax", "this '{' is never closed");
      } else {
        expected("'->', ',' or '}'");
      }
    }
    return ends;
  }

  void check_names() {
    std::map<std::string_view, std::size_t> seen;
    for (const FlowStep& step : flow_.steps) {
      if (seen.emplace(step.stage, step.offset).second) continue;
      fault(step.offset, step.stage.size(), "stage-twice",
            "'" + step.stage + "' is already in this " + noun(),
            {"to run the same computation twice, add another stage with `like`"});
    }
  }

  std::string_view text_;
  TextKind kind_;
  std::size_t at_ = 0;
  FlowText flow_;
};

}  // namespace

bool is_flow_name(std::string_view name) {
  if (name.empty() || !starts_name(name.front())) return false;
  for (const char c : name) {
    if (!continues_name(c)) return false;
  }
  return true;
}

FlowText parse_flow(std::string_view text, TextKind kind) {
  return Parser(text, kind).parse();
}

}  // namespace seam::host
