#include "stages/report/drawn_set.hpp"

#include "stages/counted.hpp"
#include "stages/export/exported_file.hpp"

namespace seam::stages {

DrawnSet::DrawnSet(const std::filesystem::path& folder, const Context& context)
    : folder_(export_path(folder, context)),
      epoch_("epoch-" + zero_padded(context.epoch(), 4)),
      flow_(context.flow()),
      number_(context.epoch()) {}

std::string DrawnSet::write_picture(const std::string& file,
                                    std::span<const std::uint8_t> bytes) const {
  export_file(folder_ / epoch_ / file, std::as_bytes(bytes));
  return name_of(file);
}

bool DrawnSet::has(const std::string& file) const {
  return std::filesystem::exists(folder_ / epoch_ / file);
}

void DrawnSet::write(const std::string& kind, nlohmann::ordered_json content) const {
  content["format"] = 1;
  content["kind"] = kind;
  content["flow"] = flow_;
  content["epoch"] = number_;
  using Json = nlohmann::ordered_json;
  export_file(folder_ / (epoch_ + ".json"),
              content.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace seam::stages
