#include "pipeline/report/settings_table.hpp"

#include "tests/support/matchers.hpp"

namespace seam::host::settings_table_test {

TEST(ReadSettings, TellsDefaultsFromWhatIsSetAndKeepsTheOrder) {
  EXPECT_THAT(read_settings("#: seam = \"0.1.0\"\n[pipeline]\nseed = 7\n# threads: not set\n"
                            "device = \"cpu\"  # default\n[stage.b]\nuse = \"model.x\"\n"
                            "[stage.a]\nmean = [0.5, 0.5]\n",
                            "resolved.toml"),
              ElementsAre(Setting{"pipeline", "seed", "7", SetBy::file},
                          Setting{"pipeline", "device", "\"cpu\"", SetBy::default_value},
                          Setting{"stage.b", "use", "\"model.x\"", SetBy::file},
                          Setting{"stage.a", "mean", "[0.5, 0.5]", SetBy::file}));
}

TEST(ReadSettings, AValueThatEndsLikeTheMarkIsNoDefault) {
  EXPECT_THAT(read_settings("[pipeline]\nname = \"x  # default\"\n", "f"),
              ElementsAre(Setting{"pipeline", "name", "\"x  # default\"", SetBy::file}));
}

TEST(ReadSettings, TakesValuesOfSeveralLines) {
  const auto settings = read_settings("[schedule]\neach_epoch = [\n  \"a\",\n]\nepochs = 2\n", "f");
  EXPECT_THAT(settings,
              ElementsAre(Setting{"schedule", "each_epoch", "[\n  \"a\",\n]", SetBy::file},
                          Setting{"schedule", "epochs", "2", SetBy::file}));
}

TEST(ReadSettings, NamesTheLineOfWhatIsNoToml) {
  EXPECT_REFUSED(read_settings("[pipeline]\nseed = = 1\n", "runs/a/resolved.toml"), Fault::data,
                 "runs/a/resolved.toml:2: ");
}

TEST(Differences, AreTheKeysThatDoNotHaveOneValue) {
  const std::vector<Setting> first{{"pipeline", "seed", "1", SetBy::file},
                                   {"stage.adam", "rate", "0.1", SetBy::file},
                                   {"stage.adam", "only", "true", SetBy::file}};
  // Equal values are equal whether or not a file sets them.
  const std::vector<Setting> second{{"pipeline", "seed", "1", SetBy::default_value},
                                    {"stage.adam", "rate", "0.2", SetBy::file}};
  EXPECT_THAT(differences({first, second}),
              ElementsAre(SettingDifference{"stage.adam.rate", {"0.1", "0.2"}},
                          SettingDifference{"stage.adam.only", {"true", std::nullopt}}));
  EXPECT_THAT(differences({first, first}), IsEmpty());
}

}  // namespace seam::host::settings_table_test
