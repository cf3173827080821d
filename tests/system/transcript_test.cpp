/// Transcripts: the cases of tests/system/transcripts/*.run, each a test `FILE.Case`.
///
///     --- Case            a case; it runs in a separate folder
///     file NAME           writes the indented lines that follow
///     env NAME=VALUE      sets a variable of the following commands
///     needs COMMAND       skips the case if the command fails
///     $ COMMAND           runs a command of the shell, in which `seam` is the program
///     exit CODE TEXT      expects this exit code of the command, and texts in `err`; without this
///                         line 0
///     WHAT has TEXT       WHAT is `out`, `err`, `both` or a file
///     WHAT lacks TEXT
///     WHAT begins TEXT
///     WHAT ends TEXT
///     WHAT is TEXT
///     WHAT matches TEXT   an extended regular expression
///     same A B            expects the same bytes in these files
///     exists FILE
///     absent FILE
///
/// Indented lines continue a command. Without TEXT, each indented line is a text; those of `is` are
/// the lines of one text. A text may contain \n, \r, \e, \\ and, for a space at its end, \s.
/// Lines before the first case belong to every case. Lines that begin with `#` are comments.
///
/// $HERE is the folder of the case, $PLUGINS that of the test plugins, $SOURCE that of the sources
/// and $DATA that in SEAM_TEST_DATA. Texts and `env` write them as ${HERE}.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/text.hpp"
#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test::transcript_test {

namespace fs = std::filesystem;

struct Statement {
  int line = 0;
  std::string verb;  ///< or the subject of a check
  std::string rest;
  std::vector<std::string> block;  ///< the indented lines
};

struct Case {
  std::string name;
  int line = 0;
  std::vector<Statement> statements;
};

/// Separates the first word from the rest.
std::pair<std::string, std::string> divided(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {text, ""};
  return {text.substr(0, space), text.substr(space + 1)};
}

std::vector<Case> cases_of(const fs::path& file) {
  std::vector<Case> cases(1);  // the first one holds the lines before the first case
  std::istringstream lines(text_of_file(file));
  int number = 0;
  std::size_t empty = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::vector<Statement>& statements = cases.back().statements;
    if (line.empty()) {
      ++empty;
      continue;
    }
    if (line.starts_with("  ") && !statements.empty()) {
      std::vector<std::string>& block = statements.back().block;
      if (!block.empty()) block.resize(block.size() + empty);
      block.push_back(line.substr(2));
    } else if (line.starts_with("--- ")) {
      cases.push_back({line.substr(4), number, cases.front().statements});
    } else if (!line.starts_with('#')) {
      auto [verb, rest] = divided(line);
      statements.push_back({number, std::move(verb), std::move(rest), {}});
    }
    empty = 0;
  }
  cases.erase(cases.begin());
  return cases;
}

std::string joined(const std::vector<std::string>& lines, char after) {
  std::string text;
  for (const std::string& line : lines) text += line + after;
  return text;
}

std::string unescaped(const std::string& text) {
  const std::map<char, char> escapes{
      {'n', '\n'}, {'r', '\r'}, {'s', ' '}, {'e', '\x1b'}, {'\\', '\\'}};
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto escape =
        text[i] == '\\' && i + 1 < text.size() ? escapes.find(text[i + 1]) : escapes.end();
    if (escape != escapes.end()) ++i;
    plain += escape != escapes.end() ? escape->second : text[i];
  }
  return plain;
}

/// Whether the check holds; false as well if there is no such check, or nothing to look for.
bool holds(const std::string& text, const std::string& verb, const std::string& expected) {
  if (expected.empty() && verb != "is") return false;
  if (verb == "has") return text.find(expected) != std::string::npos;
  if (verb == "lacks") return text.find(expected) == std::string::npos;
  if (verb == "begins") return text.starts_with(expected);
  if (verb == "ends") return text.ends_with(expected);
  if (verb == "is") return text == expected;
  return verb == "matches" && ::testing::Matches(::testing::ContainsRegex(expected))(text);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

class Transcript : public ::testing::Test {
 public:
  Transcript(fs::path file, std::vector<Statement> statements)
      : file_(std::move(file)), statements_(std::move(statements)) {
    const std::string programs = fs::path(SEAM_PROGRAM).parent_path();
    environment_ = {{"PATH", programs + ":" + variable("PATH")},
                    {"HERE", folder_.path()},
                    {"PLUGINS", SEAM_SYSTEM_PLUGINS},
                    {"SOURCE", SEAM_SOURCE},
                    {"DATA", variable("SEAM_TEST_DATA")}};
  }

  void TestBody() override {
    const bool runs =
        std::ranges::any_of(statements_, [](const Statement& one) { return one.verb == "$"; });
    EXPECT_TRUE(runs) << "the case runs nothing";
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const Statement& one = statements_[i];
      if (one.verb == "$") {
        const bool coded = i + 1 < statements_.size() && statements_[i + 1].verb == "exit";
        run(one, coded ? std::stoi(statements_[i + 1].rest) : 0);
      } else if (one.verb == "needs") {
        const Finished tried =
            shell("{ " + one.rest + "; } || exit 2", folder_.path(), environment_);
        if (tried.exit_code != 0) GTEST_SKIP() << "needs " << one.rest;
      } else {
        check(one);
      }
      if (HasFatalFailure()) return;
    }
  }

 private:
  void run(const Statement& one, int expected) {
    const std::string command = one.rest + ' ' + joined(one.block, ' ');
    finished_ = shell(command, folder_.path(), environment_);
    if (finished_.exit_code == expected) return;
    GTEST_FAIL_AT(file_.c_str(), one.line)
        << "exit " << finished_.exit_code << ", not " << expected << "\n"
        << finished_.out << finished_.err;
  }

  /// A statement that says more than is checked would pass for nothing.
  void check(const Statement& one) {
    const auto [first, second] = divided(one.rest);
    const bool without_lines =
        std::set<std::string>{"env", "same", "exists", "absent"}.contains(one.verb);
    if (without_lines && !one.block.empty()) fail(one, "it takes no indented lines");
    if (one.verb == "file") {
      folder_.write(one.rest, joined(one.block, '\n'));
    } else if (one.verb == "env") {
      const std::size_t equals = one.rest.find('=');
      environment_[one.rest.substr(0, equals)] = placed(one.rest.substr(equals + 1));
    } else if (one.verb == "same") {
      const std::string text = text_of(one, first);
      if (text != text_of(one, second)) fail(one, first + " and " + second + " differ");
    } else if (one.verb == "exists" || one.verb == "absent") {
      if (one.rest.empty() || one.rest.find_first_of(" $") != std::string::npos) {
        fail(one, "it takes the name of one file");
      }
      const bool exists = fs::exists(folder_.path() / one.rest);
      if (exists != (one.verb == "exists")) fail(one, exists ? "it exists" : "it is missing");
    } else if (one.verb == "exit") {
      if (std::to_string(finished_.exit_code) != first) fail(one, "it must follow its command");
      if (!second.empty() || !one.block.empty()) check_text(one, "err", "has", second);
    } else {
      check_text(one, one.verb, first, second);
    }
  }

  void check_text(const Statement& one, const std::string& subject, const std::string& verb,
                  const std::string& text) const {
    const std::string actual = text_of(one, subject);
    if (!text.empty() && !one.block.empty()) fail(one, "it takes a text or indented lines");
    std::vector<std::string> texts = one.block;
    if (verb == "is" && !one.block.empty()) texts = {joined(one.block, '\n')};
    if (one.block.empty()) texts = {text};
    for (const std::string& expected : texts) {
      if (holds(actual, verb, placed(unescaped(expected)))) continue;
      fail(one, "not so: " + subject + ' ' + verb + ' ' + expected + "\nIt is:\n" + actual);
    }
  }

  [[nodiscard]] std::string text_of(const Statement& one, const std::string& what) const {
    if (what == "out") return finished_.out;
    if (what == "err") return finished_.err;
    if (what == "both") return finished_.out + finished_.err;
    if (!fs::exists(folder_.path() / what)) fail(one, "there is no file " + what);
    return text_of_file(folder_.path() / what);
  }

  [[nodiscard]] std::string placed(std::string text) const {
    for (const char* name : {"HERE", "PLUGINS", "SOURCE", "DATA"}) {
      text = replaced(std::move(text), std::string("${") + name + "}", environment_.at(name));
    }
    return text;
  }

  void fail(const Statement& one, const std::string& why) const {
    ADD_FAILURE_AT(file_.c_str(), one.line) << why;
  }

  fs::path file_;
  std::vector<Statement> statements_;
  TemporaryFolder folder_;
  std::map<std::string, std::string> environment_;
  Finished finished_;
};

const bool registered = [] {
  const fs::directory_iterator entries(SEAM_SOURCE "/tests/system/transcripts");
  for (const fs::path& file : std::set<fs::path>(fs::begin(entries), fs::end(entries))) {
    for (const Case& one : cases_of(file)) {
      ::testing::RegisterTest(file.stem().c_str(), one.name.c_str(), nullptr, nullptr, file.c_str(),
                              one.line, [file, statements = one.statements]() -> Transcript* {
                                return new Transcript(file, statements);
                              });
    }
  }
  return true;
}();

}  // namespace seam::test::transcript_test
