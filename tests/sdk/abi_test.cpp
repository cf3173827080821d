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
#include <string_view>

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

/// The name as it is in namespace seam, which GCC does not always spell out.
std::string_view without_namespace(std::string_view name) {
  constexpr std::string_view prefix = "seam::";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// "Packet: 48 bytes, aligned to 8", a line per type.
template <class... Types>
std::string sizes() {
  std::string text;
  ((text += std::string(without_namespace(type_name<Types>())) + ": " +
            std::to_string(sizeof(Types)) + " bytes, aligned to " + std::to_string(alignof(Types)) +
            '\n'),
   ...);
  return text;
}

/// "Stage::open: virtual function 3". The C++ ABI of Linux keeps the offset in the table, plus one,
/// in a pointer to a virtual member function.
template <auto function>
std::string slot_line() {
  const std::string_view text = __PRETTY_FUNCTION__;  // "... function = &seam::Stage::open; ..."
  const std::size_t from = text.find('&', text.find("function = ")) + 1;
  const auto pointer = function;
  std::array<std::ptrdiff_t, 2> words{};
  static_assert(sizeof(pointer) == sizeof(words));
  std::memcpy(words.data(), &pointer, sizeof(words));
  const bool is_virtual = words[0] % 2 == 1;
  const auto slot = words[0] / static_cast<std::ptrdiff_t>(sizeof(void*));
  const std::string_view name = text.substr(from, text.find_first_of(";)]", from) - from);
  return std::string(without_namespace(name)) +
         (is_virtual ? ": virtual function " + std::to_string(slot)
                     : std::string(": not virtual")) +
         '\n';
}
template <auto... functions>
std::string slots() {
  return (slot_line<functions>() + ...);
}

std::string layout() {
  return sizes<AnyValue, Archive, Archive::Entry, CategoryNames, Collector, Configured, Context,
               Declaration, DescribesNetwork, Description, Emitter, Error, FieldBuilder, FieldInfo,
               FieldType, Gathering, GatheredField, Headline, Image, NetworkPart, NetworkTensor,
               OfferedInterface, Origin, Packet, ParallelTransform, ParameterBuilder, ParameterInfo,
               PluginDescriptor, Random, RunState, Services, Sink, Source, Stage, StageEntry,
               TensorContract, Transform, UpstreamReference, retrieval::Neighbours,
               retrieval::Ranking, retrieval::Rankings>() +
         slots<&CategoryNames::category_names, &Collector::end, &Collector::process,
               &DescribesNetwork::describe_network, &Emitter::drop, &Emitter::emit,
               &ParallelTransform::end, &ParallelTransform::process, &Services::log,
               &Services::metric, &Services::report, &Services::stop_requested, &Sink::end,
               &Sink::process, &Source::interrupt, &Source::produce, &Stage::around_call,
               &Stage::begin, &Stage::close, &Stage::declare, &Stage::enter_thread, &Stage::load,
               &Stage::on_compute_thread, &Stage::open, &Stage::pause, &Stage::save,
               &Transform::end, &Transform::process>();
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
