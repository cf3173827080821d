#include "pipeline/plugins/manifest.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::manifest_test {

using seam::test::TemporaryFolder;
using seam::test::text_of_file;

namespace fs = std::filesystem;

const fs::path plugins = SEAM_TEST_PLUGINS;
const fs::path good = plugins / "good/seam_test_stages.so";
const fs::path small = plugins / "no_entry/no_entry.so";  // a manifest and little else

/// The ELF header of a library's bytes, to change.
Elf64_Ehdr header_of(const std::string& bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

std::string with_header(std::string bytes, const Elf64_Ehdr& header) {
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

class ReadManifest : public ::testing::Test {
 protected:
  std::string refusal_of(std::string_view bytes) {
    return read_manifest(folder_.write("odd.so", bytes)).refusal;
  }
  TemporaryFolder folder_;
};

TEST_F(ReadManifest, OfARealPlugin) {
  const ManifestReading reading = read_manifest(good);
  EXPECT_EQ(reading.refusal, "");
  EXPECT_FALSE(reading.other_library);
  EXPECT_THAT(reading.manifest.stages, Contains("fixture.numbers"));
  EXPECT_THAT(reading.manifest.stages, Contains("fixture.throwing_number"));
  EXPECT_EQ(reading.manifest.stages.size(), 29U);
  EXPECT_EQ(reading.manifest.libtorch, "none");
  EXPECT_EQ(mismatch(reading.manifest, host_manifest()), "");
}

TEST_F(ReadManifest, LibraryThatIsNoPlugin) {
  const ManifestReading reading = read_manifest(plugins / "helper/helper.so");
  EXPECT_TRUE(reading.other_library);
  EXPECT_EQ(reading.refusal, "");
}

TEST_F(ReadManifest, ThingsThatAreNoFiles) {
  EXPECT_THAT(read_manifest(folder_.path()).refusal, HasSubstr("folder"));
  EXPECT_THAT(read_manifest(folder_.path() / "no.so").refusal, HasSubstr("no such file"));
  EXPECT_THAT(read_manifest("/dev/zero").refusal, HasSubstr("not a regular file"));
  const fs::path pipe = folder_.path() / "pipe.so";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_manifest(pipe).refusal, HasSubstr("not a regular file"));  // and does not wait
  const fs::path loop = folder_.path() / "loop.so";
  fs::create_symlink(loop, loop);
  EXPECT_NE(read_manifest(loop).refusal, "");
}

TEST_F(ReadManifest, FileThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
  const fs::path file = folder_.write("secret.so", text_of_file(good));
  fs::permissions(file, fs::perms::none);
  EXPECT_THAT(read_manifest(file).refusal, HasSubstr("it cannot be read: Permission denied"));
}

TEST_F(ReadManifest, FilesThatAreNoLibraries) {
  EXPECT_THAT(refusal_of(""), HasSubstr("empty"));
  EXPECT_THAT(refusal_of("#!/bin/sh\necho hello\n"), HasSubstr("begins with '#!/bin/sh'"));
  EXPECT_THAT(refusal_of("\x7f"
                         "EL"),
              HasSubstr("not a shared library"));
  EXPECT_THAT(refusal_of("\x1b[2J"), HasSubstr("begins with '?[2J'"));
}

TEST_F(ReadManifest, WrongKindsOfElf) {
  const std::string bytes = text_of_file(good);
  const auto changed = [&](const auto& change) {
    Elf64_Ehdr header = header_of(bytes);
    change(header);
    return with_header(bytes, header);
  };
  EXPECT_THAT(refusal_of(changed([](auto& head) { head.e_ident[EI_CLASS] = ELFCLASS32; })),
              HasSubstr("32-bit"));
  EXPECT_THAT(refusal_of(changed([](auto& head) { head.e_ident[EI_DATA] = ELFDATA2MSB; })),
              HasSubstr("big-endian"));
  EXPECT_THAT(refusal_of(changed([](auto& head) { head.e_machine = EM_RISCV; })),
              HasSubstr("built for RISC-V"));
  EXPECT_THAT(refusal_of(changed([](auto& head) { head.e_type = ET_REL; })), HasSubstr("-shared"));
  const auto stripped = folder_.write("odd.so", changed([](auto& head) { head.e_shoff = 0; }));
  EXPECT_TRUE(read_manifest(stripped).other_library);
}

TEST_F(ReadManifest, EveryTruncationIsRefusedOrNoPlugin) {
  const std::string bytes = text_of_file(small);
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length < 130; ++length) lengths.push_back(length);
  for (std::size_t part = 1; part < 50; ++part) lengths.push_back(bytes.size() * part / 50);
  lengths.push_back(bytes.size() - 1);
  for (const std::size_t length : lengths) {
    const ManifestReading reading =
        read_manifest(folder_.write("cut.so", std::string_view(bytes).substr(0, length)));
    EXPECT_NE(reading.refusal, "") << "cut at " << length;
  }
  EXPECT_THAT(refusal_of(std::string_view(bytes).substr(0, bytes.size() / 2)),
              HasSubstr("truncated or damaged"));
}

TEST_F(ReadManifest, DamagedHeadersAreNeverBelieved) {
  const std::string bytes = text_of_file(small);
  const Elf64_Ehdr header = header_of(bytes);
  // Every byte of the section headers in turn takes its largest value; nothing may crash, and
  // nothing outside of the file may be read (which sanitizers detect).
  const std::size_t table = header.e_shnum * sizeof(Elf64_Shdr);
  for (std::size_t at = 0; at < table; at += 7) {
    std::string damaged = bytes;
    damaged[header.e_shoff + at] = '\xff';
    read_manifest(folder_.write("odd.so", damaged));
  }
  for (std::size_t at = EI_NIDENT; at < sizeof(header); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    read_manifest(folder_.write("odd.so", damaged));
  }
  Elf64_Ehdr huge = header;
  huge.e_shnum = 0;  // "the count is in the first section header", which says 2^60
  std::string damaged = with_header(bytes, huge);
  Elf64_Shdr first{};
  first.sh_size = std::uint64_t{1} << 60;
  std::memcpy(damaged.data() + header.e_shoff, &first, sizeof(first));
  EXPECT_THAT(refusal_of(damaged), HasSubstr("truncated or damaged"));
}

TEST(ParseManifest, ReadsWhatTheMacroWrites) {
  const std::string head =
      "SEAM PLUGIN\nsdk=3\ncompiler=gcc 12\nstdlib=libstdc++ abi1\nsanitizer=none\n"
      "libtorch=2.1.0\nopencv=4.6.0\n";
  const ManifestReading reading = parse_manifest(head + "stages=a.b c.d\nlater=unknown\n");
  EXPECT_EQ(reading.refusal, "");
  Manifest expected{"3", "gcc 12", "libstdc++ abi1", "none", "2.1.0", "4.6.0", {"a.b", "c.d"}};
  EXPECT_EQ(reading.manifest, expected);
  expected.stages.clear();
  EXPECT_EQ(parse_manifest(head + "stages=\n").manifest, expected);
}

TEST(ParseManifest, MissingLinesAreRefusedByName) {
  EXPECT_THAT(parse_manifest("SEAM PLUGIN\nsdk=1\n").refusal, HasSubstr("'compiler'"));
  EXPECT_THAT(parse_manifest("something else").refusal, HasSubstr("SEAM PLUGIN"));
  EXPECT_THAT(parse_manifest("").refusal, HasSubstr("SEAM PLUGIN"));
}

TEST(Mismatch, NamesBothValuesAndTheRemedy) {
  const Manifest host = host_manifest();
  EXPECT_EQ(mismatch(host, host), "");
  Manifest plugin = host;
  plugin.sdk = "999";
  EXPECT_EQ(mismatch(plugin, host),
            "it was built for SDK number 999, this program for SDK number " + host.sdk +
                "; rebuild the plugin against this program's SDK");
  plugin = host;
  plugin.compiler = "gcc 5";
  EXPECT_THAT(mismatch(plugin, host), HasSubstr("by gcc 5, this program by " + host.compiler));
  plugin = host;
  plugin.stdlib = "libstdc++ abi0";
  EXPECT_THAT(mismatch(plugin, host), HasSubstr("libstdc++ abi0"));
  plugin = host;
  plugin.sanitizer = "memory";
  EXPECT_THAT(mismatch(plugin, host), HasSubstr("sanitizer memory"));
}

TEST(LibraryConflict, MajorMinorAndTheBuildForCudaMustAgree) {
  Manifest a = host_manifest();
  Manifest b = a;
  a.libtorch = "2.13.0+cpu";
  b.libtorch = "2.13.1";
  EXPECT_EQ(library_conflict(a, "a.so", b, "b.so"), "");
  b.libtorch = "2.1.0";
  EXPECT_THAT(library_conflict(a, "a.so", b, "b.so"),
              ::testing::AllOf(HasSubstr("LibTorch 2.13.0+cpu"), HasSubstr("2.1.0"),
                               HasSubstr("'a.so'"), HasSubstr("'b.so'")));
  b.libtorch = "2.13.0+cuda";
  EXPECT_THAT(library_conflict(a, "a.so", b, "b.so"),
              ::testing::AllOf(HasSubstr("LibTorch 2.13.0+cpu"), HasSubstr("2.13.0+cuda")));
  b.libtorch = "none";
  EXPECT_EQ(library_conflict(a, "a.so", b, "b.so"), "");
  a.opencv = "4.6.0";
  b.opencv = "4.10.0";
  EXPECT_THAT(library_conflict(a, "a.so", b, "b.so"), HasSubstr("OpenCV 4.6.0"));
}

}  // namespace seam::host::manifest_test
