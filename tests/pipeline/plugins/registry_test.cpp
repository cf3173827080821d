#include "pipeline/plugins/registry.hpp"

#include <cstdlib>
#include <seam/error.hpp>

#include "tests/support/kept_environment.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::registry_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

const fs::path plugins = SEAM_TEST_PLUGINS;
const fs::path good = plugins / "good/seam_test_stages.so";

SearchEntry entry(const fs::path& path) {
  return {path, "the test"};
}

std::string failure_of(Registry& registry, const std::string& stage) {
  try {
    static_cast<void>(registry.make(stage, "instance"));
  } catch (const Error& error) {
    return error.full_message();
  }
  return "nothing was thrown";
}

/// A copy of a plugin with some bytes of its manifest replaced by as many others.
fs::path changed_copy(const TemporaryFolder& folder, const std::string& name,
                      const std::string& from, const std::string& to) {
  std::string bytes = seam::test::text_of_file(good);
  const std::size_t manifest = bytes.find("SEAM PLUGIN\n");
  const std::size_t at = bytes.find(from, manifest);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(from.size(), to.size());
  bytes.replace(at, from.size(), to);
  return folder.write(name, bytes);
}

TEST(Registry, FindsPluginsInAFolder) {
  const Registry registry({entry(plugins / "good")}, 1);
  ASSERT_THAT(registry.files(), SizeIs(1));
  EXPECT_EQ(registry.files().front().path, good);
  EXPECT_EQ(registry.files().front().refusal, "");
  EXPECT_THAT(registry.stage_names(), Contains("fixture.scale"));
  ASSERT_NE(registry.find("fixture.scale"), nullptr);
  EXPECT_EQ(registry.find("fixture.scale")->path, good);
  EXPECT_EQ(registry.find("fixture.sclae"), nullptr);
  EXPECT_THAT(registry.loaded(), IsEmpty());
}

TEST(Registry, MakesStagesAndLoadsOnce) {
  Registry registry({entry(good)}, 1);
  const auto scale = registry.make("fixture.scale", "half");
  EXPECT_EQ(scale->name(), "half");
  EXPECT_EQ(scale->type(), "fixture.scale");
  EXPECT_EQ(scale->kind(), StageKind::parallel_transform);
  const auto other = registry.make("fixture.scale", "double");
  EXPECT_NE(&scale->stage(), &other->stage());
  EXPECT_THAT(registry.loaded(), SizeIs(1));
}

TEST(Registry, FileReachedTwiceCountsOnce) {
  TemporaryFolder folder;
  fs::create_symlink(good, folder.path() / "link.so");
  const Registry registry({entry(plugins / "good"), entry(good), entry(folder.path())}, 1);
  EXPECT_THAT(registry.files(), SizeIs(1));
}

TEST(Registry, FolderSearchPassesOverOtherFiles) {
  TemporaryFolder folder;
  fs::copy_file(plugins / "helper/helper.so", folder.path() / "helper.so");
  folder.write("notes.txt", "hello");
  fs::create_directory(folder.path() / "folder");
  const Registry registry({entry(folder.path())}, 1);
  EXPECT_THAT(registry.files(), IsEmpty());
}

TEST(Registry, NamedLibraryThatIsNoPluginIsRefused) {
  const Registry registry({entry(plugins / "helper/helper.so")}, 1);
  ASSERT_THAT(registry.files(), SizeIs(1));
  EXPECT_THAT(registry.files().front().refusal,
              HasSubstr("it is a shared library but not a Seam plugin"));
}

TEST(Registry, MissingPathsAreRefusedUnlessOptional) {
  SearchEntry own = entry("/no/such/folder");
  own.optional = true;
  EXPECT_THAT(Registry({own}, 1).files(), IsEmpty());
  const Registry registry({entry("/no/such/folder")}, 1);
  ASSERT_THAT(registry.files(), SizeIs(1));
  EXPECT_THAT(registry.files().front().refusal, HasSubstr("no such file"));
}

TEST(Registry, UnknownStageTellsAllThatWasTried) {
  TemporaryFolder folder;
  folder.write("text.so", "not a library");
  Registry registry({entry(plugins / "good"), entry(folder.path()), entry("/no/such/folder")}, 1);
  EXPECT_THAT(
      failure_of(registry, "fixture.sclae"),
      AllOf(HasSubstr("no plugin provides stage 'fixture.sclae'"),
            HasSubstr("did you mean 'fixture.scale'"),
            HasSubstr("searched '" + (plugins / "good").string() + "' (the test): 1 plugin"),
            HasSubstr("searched '/no/such/folder' (the test): does not exist"),
            HasSubstr("rejected '" + (folder.path() / "text.so").string() +
                      "': it is not a shared library")));
}

TEST(Registry, PluginOfAnotherSdkIsRefusedByName) {
  Registry registry({entry(plugins / "other_sdk")}, 1);
  EXPECT_THAT(failure_of(registry, "no_entry.stage"),
              AllOf(HasSubstr("no plugin provides"), HasSubstr("which provides it"),
                    HasSubstr("SDK number 999")));
}

TEST(Registry, PluginOfAnotherCompilerIsRefused) {
  TemporaryFolder folder;
  const std::string compiler = "compiler=" + host_manifest().compiler.substr(0, 4);
  const fs::path file = changed_copy(folder, "other.so", compiler, "compiler=tcc ");
  const Registry registry({entry(file)}, 1);
  EXPECT_THAT(registry.files().front().refusal, HasSubstr("rebuild the plugin with"));
  EXPECT_THAT(registry.stage_names(), IsEmpty());
}

TEST(Registry, TwoPluginsWithOneStageNameBothFiles) {
  TemporaryFolder folder;
  fs::copy_file(good, folder.path() / "copy.so");
  Registry registry({entry(plugins / "good"), entry(folder.path())}, 1);
  EXPECT_THAT(failure_of(registry, "fixture.scale"),
              AllOf(HasSubstr("provided by 2 plugins"), HasSubstr(good.string()),
                    HasSubstr((folder.path() / "copy.so").string())));
  EXPECT_THAT(registry.loaded(), IsEmpty());
}

TEST(Registry, TwoVersionsOfALibraryCannotBeLoadedTogether) {
  TemporaryFolder folder;
  const std::string none = "libtorch=none\nopencv=none\nstages=fixture.numbers";
  changed_copy(folder, "a.so", none, "libtorch=2.13\nopencv=none\nstages=fixture.number1");
  changed_copy(folder, "b.so", none, "libtorch=1.13\nopencv=none\nstages=fixture.number2");
  // Only the changed names are certain; a.so is loaded before its false manifest is found.
  Registry registry({entry(folder.path())}, 1);
  EXPECT_THAT(failure_of(registry, "fixture.number1"), HasSubstr("does not provide it"));
  EXPECT_THAT(
      failure_of(registry, "fixture.number2"),
      AllOf(HasSubstr("LibTorch 1.13"), HasSubstr("2.13"), HasSubstr("a.so"), HasSubstr("b.so")));
}

TEST(Registry, LoaderErrorsAreShownWhole) {
  Registry registry({entry(plugins / "unresolved")}, 1);
  EXPECT_THAT(failure_of(registry, "unresolved.stage"),
              AllOf(HasSubstr("cannot be loaded"), HasSubstr("undefined symbol"),
                    HasSubstr("from_a_library_that_was_not_linked"), HasSubstr("link the plugin")));
}

TEST(Registry, PluginWithoutEntryPoint) {
  Registry registry({entry(plugins / "no_entry")}, 1);
  EXPECT_THAT(failure_of(registry, "no_entry.stage"), HasSubstr("no entry point 'seam_plugin'"));
}

TEST(Registry, WhatPluginsThrowBecomesAnError) {
  Registry registry({entry(good)}, 1);
  EXPECT_THAT(failure_of(registry, "fixture.throwing"),
              AllOf(HasSubstr("no weights in /nowhere"), HasSubstr("creating stage 'instance'")));
  EXPECT_THAT(failure_of(registry, "fixture.throwing_number"), HasSubstr("not a std::exception"));
}

TEST(Registry, ASharedFieldOfAnotherTypeIsADefectOfThePlugin) {
  Registry registry({entry(plugins / "wrong_field")}, 1);
  EXPECT_NE(registry.make("wrong_field.sound", "it"), nullptr);
  EXPECT_THAT(failure_of(registry, "wrong_field.stage"),
              AllOf(HasSubstr("field 'index' is shared by all plugins"),
                    HasSubstr("std::int64_t, not std::string"), HasSubstr("(wrong_field.stage)"),
                    HasSubstr("wrong_field.so")));
}

TEST(Registry, EarlierLayersHideLaterOnes) {
  TemporaryFolder folder;
  fs::copy_file(good, folder.path() / "copy.so");
  const fs::path odd = plugins / "sound/sound.so";
  const auto found = [](const std::vector<SearchEntry>& path, const std::string& stage) {
    return Registry(path, 1).find_all(stage).size();
  };
  EXPECT_EQ(found({{good, "a"}, {folder.path(), "b"}}, "fixture.scale"), 2U);
  std::vector<SearchEntry> resumed =
      resumed_search_path({good}, {{folder.path(), "b"}, {odd, "b"}});
  Registry registry(resumed, 1);
  ASSERT_EQ(registry.find_all("fixture.scale").size(), 1U);
  EXPECT_EQ(registry.find("fixture.scale")->path, good) << "the run's own";
  EXPECT_EQ(found(resumed, "sound.stage"), 1U) << "not provided by the run's own plugins";
  resumed = resumed_search_path({good}, {{folder.path(), "--plugin-path"}});
  EXPECT_EQ(Registry(resumed, 1).find("fixture.scale")->path, folder.path() / "copy.so")
      << "--plugin-path has priority";
  resumed = resumed_search_path({"/gone/plugin.so"}, {{folder.path(), "b"}});
  EXPECT_EQ(found(resumed, "fixture.scale"), 1U);
}

TEST(DefaultSearchPath, HasTheDocumentedOrder) {
  const seam::test::KeptEnvironment environment;
  ASSERT_EQ(setenv("SEAM_PLUGIN_PATH", "/one::/two", 1), 0);  // NOLINT(concurrency-mt-unsafe)
  const std::vector<SearchEntry> path = default_search_path({"/file"}, {"/option"});
  ASSERT_THAT(path, SizeIs(5));
  EXPECT_EQ(path[0].path, "/file");
  EXPECT_EQ(path[1].path, "/option");
  EXPECT_EQ(path[1].source, "--plugin-path");
  EXPECT_EQ(path[2].path, "/one");
  EXPECT_EQ(path[3].path, "/two");
  EXPECT_EQ(path[3].source, "SEAM_PLUGIN_PATH");
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(path[4].path, program.parent_path().parent_path() / "lib/seam/plugins");
  EXPECT_TRUE(path[4].optional);
}

}  // namespace seam::host::registry_test
