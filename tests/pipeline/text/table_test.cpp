#include "pipeline/text/table.hpp"

#include <gtest/gtest.h>

namespace seam::host::table_test {

const std::vector<TableColumn> columns{{"run", Align::left, Room::flexible},
                                       {"score", Align::right, Room::fixed}};
const std::vector<std::vector<std::string>> rows{{"margin=0.5,seed=1", "0.5"}, {"größer", "12"}};

TEST(Table, AlignsColumns) {
  EXPECT_EQ(table_text(columns, rows, std::nullopt),
            "run                score\n"
            "margin=0.5,seed=1    0.5\n"
            "größer                12\n");
  EXPECT_EQ(table_width(columns, rows), 24U);
}

TEST(Table, CutsFlexibleColumnsToTheWidth) {
  EXPECT_EQ(table_text(columns, rows, 17),
            "run         score\n"
            "margin=0.…    0.5\n"
            "größer         12\n");
}

TEST(Table, DoesNotCutBelowAFewCharacters) {
  EXPECT_EQ(table_text(columns, rows, 3),
            "run       score\n"
            "margin=…    0.5\n"
            "größer       12\n");
}

TEST(Table, WithoutTitlesOrLimit) {
  EXPECT_EQ(host::columns({{"a", "value", "end"}, {"long", "± 1"}}, {Align::left, Align::right}),
            "a     value  end\n"
            "long    ± 1\n");
  EXPECT_EQ(host::columns({}, {}), "");
}

}  // namespace seam::host::table_test
