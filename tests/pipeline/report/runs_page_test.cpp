#include "pipeline/report/runs_page.hpp"

#include <string>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::runs_page_test {

RunsTable table() {
  RunsTable table;
  table.title = "a <sweep>";
  table.columns = {"run", "recall & more"};
  table.rows = {
      {{"m=1,s=\"2\"", {}, {}, "m=1,s=\"2\"/report.html"}, {"0.5 ± 0.1", 0.5, "chance <0.1>", {}}},
      {{"</td>"}, {}}};
  return table;
}

TEST(RunsPage, HasARowPerRunAndLoadsNothing) {
  const std::string html = runs_page_html(table());
  EXPECT_THAT(html, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<h1>a &lt;sweep&gt;</h1>"),
                          HasSubstr("2 runs."), HasSubstr("<th><button>recall &amp; more"),
                          Not(HasSubstr("src=")), Not(HasSubstr("<link")), Not(HasSubstr("{{"))));
  EXPECT_THAT(html, HasSubstr("<tr><td><a href=\"./m%3D1%2Cs%3D%222%22/report.html\">"
                              "m=1,s=&quot;2&quot;</a></td>"
                              "<td class=number data-sort=\"0.5\">0.5 ± 0.1"
                              "<small>chance &lt;0.1&gt;</small></td></tr>\n"
                              "<tr><td>&lt;/td&gt;</td><td></td></tr>\n"));
}

TEST(RunsPage, ReplacesOnlyAPage) {
  const test::TemporaryFolder folder;
  const auto page = folder.path() / "page.html";
  write_runs_page(table(), page);
  write_runs_page(table(), page);
  const auto other = folder.write("other.html", "<!DOCTYPE html>");
  EXPECT_REFUSED(write_runs_page(table(), other), Fault::configuration, "is not overwritten");
}

}  // namespace seam::host::runs_page_test
