#include "pipeline/report/page.hpp"

#include <fstream>
#include <sstream>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::page_test {

TEST(Page, HoldsAllOfItAndNoLink) {
  const std::string html = page_html("a run", {{"runs", Json::array()}});
  EXPECT_THAT(html, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<title>a run</title>"),
                          HasSubstr("Chart.js v")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script src")), Not(HasSubstr("<link "))));
}

TEST(Page, TextsOfUsersEndNoElement) {
  const std::string hostile = "</script><script>alert(1)</script><!-- {{script}} \" ' &";
  const std::string html = page_html(hostile, {{"runs", {hostile}}, {hostile, "\xe2\x80\xa8\xff"}});
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("<title>&lt;/script&gt;"));
  const std::string mark = R"(id="data">)";
  const std::size_t begin = html.find(mark) + mark.size();
  const std::string text = html.substr(begin, html.find("</script>", begin) - begin);
  EXPECT_EQ(Json::parse(text).at("runs")[0], hostile);
}

TEST(WritePage, GoesToTheRunsFolderAndMayBeRepeated) {
  const test::TemporaryFolder run;
  run.write("resolved.toml", "[pipeline]\nname = \"x\"\n");
  const std::filesystem::path file = write_page({run.path().string()}, "");
  EXPECT_EQ(file, run.path() / "report.html");
  EXPECT_EQ(write_page({run.path().string()}, ""), file);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("There is no metrics.jsonl in the folder."));
}

TEST(WritePage, ReplacesNoOtherFile) {
  const test::TemporaryFolder run;
  run.write("resolved.toml", "[pipeline]\nname = \"x\"\n");
  const std::filesystem::path mine = run.write("thesis.html", "<!DOCTYPE html>\n<p>mine</p>");
  EXPECT_REFUSED(write_page({run.path().string()}, mine), Fault::configuration,
                 "is not overwritten");
  EXPECT_REFUSED(write_page({run.path().string()}, run.path()), Fault::configuration,
                 "is a folder");
}

TEST(WritePage, SeveralRunsNeedAFileAndAreNamedOnce) {
  const test::TemporaryFolder run;
  run.write("a/resolved.toml", "[pipeline]\nname = \"x\"\n");
  run.write("b/resolved.toml", "[pipeline]\nname = \"x\"\n");
  const std::string a = (run.path() / "a").string();
  const std::string b = (run.path() / "b").string();
  EXPECT_REFUSED(write_page({a, b}, ""), Fault::configuration, "--output");
  EXPECT_REFUSED(write_page({a, b + "/../a"}, run.path() / "x.html"), Fault::configuration,
                 "is given twice");
  EXPECT_EQ(write_page({a, b}, run.path() / "x.html"), run.path() / "x.html");
}

}  // namespace seam::host::page_test
