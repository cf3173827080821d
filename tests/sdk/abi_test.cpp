/// The layout that plugins of one SDK number are compiled against: sizes of the classes that cross
/// the boundary, and the order of virtual functions. abi/layout-NUMBER.txt holds it;
/// SEAM_UPDATE_EXPECTED=1 rewrites that file. A change needs a new SEAM_SDK_NUMBER
/// (docs/compatibility.md).
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "seam/archive.hpp"
#include "seam/category_names.hpp"
#include "seam/context.hpp"
#include "seam/contract.hpp"
#include "seam/declaration.hpp"
#include "seam/error.hpp"
#include "seam/field.hpp"
#include "seam/image.hpp"
#include "seam/network.hpp"
#include "seam/origin.hpp"
#include "seam/packet.hpp"
#include "seam/plugin.hpp"
#include "seam/random.hpp"
#include "seam/retrieval.hpp"
#include "seam/stage.hpp"
#include "tests/support/text.hpp"

namespace seam::abi_test {

/// "Packet: 48 bytes, aligned to 8".
template <class T>
std::string size_line(const char* name) {
  return std::string(name) + ": " + std::to_string(sizeof(T)) + " bytes, aligned to " +
         std::to_string(alignof(T)) + '\n';
}

/// "Stage::open: virtual function 3". The C++ ABI of Linux keeps the offset in the table, plus one,
/// in a pointer to a virtual member function.
template <class Function>
std::string slot_line(const char* name, Function function) {
  std::array<std::ptrdiff_t, 2> words{};
  static_assert(sizeof(function) == sizeof(words));
  std::memcpy(words.data(), &function, sizeof(words));
  const bool is_virtual = words[0] % 2 == 1;
  const auto slot = words[0] / static_cast<std::ptrdiff_t>(sizeof(void*));
  return std::string(name) +
         (is_virtual ? ": virtual function " + std::to_string(slot)
                     : std::string(": not virtual")) +
         '\n';
}

std::string layout() {
  std::string text;
#define SEAM_SIZE(...) text += size_line<__VA_ARGS__>(#__VA_ARGS__)  // NOLINT: it needs the name
  SEAM_SIZE(AnyValue);
  SEAM_SIZE(Archive);
  SEAM_SIZE(Archive::Entry);
  SEAM_SIZE(CategoryNames);
  SEAM_SIZE(Collector);
  SEAM_SIZE(Configured);
  SEAM_SIZE(Context);
  SEAM_SIZE(Declaration);
  SEAM_SIZE(DescribesNetwork);
  SEAM_SIZE(Description);
  SEAM_SIZE(Emitter);
  SEAM_SIZE(Error);
  SEAM_SIZE(FieldBuilder);
  SEAM_SIZE(FieldInfo);
  SEAM_SIZE(FieldType);
  SEAM_SIZE(Gathering);
  SEAM_SIZE(GatheredField);
  SEAM_SIZE(Headline);
  SEAM_SIZE(Image);
  SEAM_SIZE(NetworkPart);
  SEAM_SIZE(NetworkTensor);
  SEAM_SIZE(OfferedInterface);
  SEAM_SIZE(Origin);
  SEAM_SIZE(Packet);
  SEAM_SIZE(ParallelTransform);
  SEAM_SIZE(ParameterBuilder);
  SEAM_SIZE(ParameterInfo);
  SEAM_SIZE(PluginDescriptor);
  SEAM_SIZE(Random);
  SEAM_SIZE(RunState);
  SEAM_SIZE(Services);
  SEAM_SIZE(Sink);
  SEAM_SIZE(Source);
  SEAM_SIZE(Stage);
  SEAM_SIZE(StageEntry);
  SEAM_SIZE(TensorContract);
  SEAM_SIZE(Transform);
  SEAM_SIZE(UpstreamReference);
  SEAM_SIZE(retrieval::Neighbours);
  SEAM_SIZE(retrieval::Ranking);
  SEAM_SIZE(retrieval::Rankings);
#undef SEAM_SIZE
#define SEAM_SLOT(function) text += slot_line(#function, &function)  // NOLINT: it needs the name
  SEAM_SLOT(CategoryNames::category_names);
  SEAM_SLOT(Collector::end);
  SEAM_SLOT(Collector::process);
  SEAM_SLOT(DescribesNetwork::describe_network);
  SEAM_SLOT(Emitter::drop);
  SEAM_SLOT(Emitter::emit);
  SEAM_SLOT(ParallelTransform::end);
  SEAM_SLOT(ParallelTransform::process);
  SEAM_SLOT(Services::log);
  SEAM_SLOT(Services::metric);
  SEAM_SLOT(Services::report);
  SEAM_SLOT(Services::stop_requested);
  SEAM_SLOT(Sink::end);
  SEAM_SLOT(Sink::process);
  SEAM_SLOT(Source::interrupt);
  SEAM_SLOT(Source::produce);
  SEAM_SLOT(Stage::around_call);
  SEAM_SLOT(Stage::begin);
  SEAM_SLOT(Stage::close);
  SEAM_SLOT(Stage::declare);
  SEAM_SLOT(Stage::enter_thread);
  SEAM_SLOT(Stage::load);
  SEAM_SLOT(Stage::on_compute_thread);
  SEAM_SLOT(Stage::open);
  SEAM_SLOT(Stage::pause);
  SEAM_SLOT(Stage::save);
  SEAM_SLOT(Transform::end);
  SEAM_SLOT(Transform::process);
#undef SEAM_SLOT
  return text;
}

TEST(Abi, LayoutIsThatOfTheSdkNumber) {
#if !defined(__x86_64__) || !defined(__GLIBCXX__) || defined(_GLIBCXX_DEBUG)
  GTEST_SKIP() << "the file is of x86-64 with libstdc++";
#endif
  const std::filesystem::path file =
      std::filesystem::path(SEAM_SDK_TESTS) / ("abi/layout-" SEAM_SDK_NUMBER ".txt");
  if (std::getenv("SEAM_UPDATE_EXPECTED") != nullptr) std::ofstream(file) << layout();
  EXPECT_EQ(layout(), test::text_of_file(file))
      << "existing plugins would break; see docs/compatibility.md and " << file;
}

}  // namespace seam::abi_test
