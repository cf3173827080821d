#include "seam/declaration.hpp"

#include "seam/error.hpp"

namespace seam {

ParameterBuilder& ParameterBuilder::range(double least, double most) {
  return at_least(least).at_most(most);
}

ParameterBuilder& ParameterBuilder::at_least(double least) {
  parameter_->least = least;
  return *this;
}

ParameterBuilder& ParameterBuilder::at_most(double most) {
  parameter_->most = most;
  return *this;
}

ParameterBuilder& ParameterBuilder::unit(std::string unit) {
  parameter_->unit = std::move(unit);
  return *this;
}

ParameterBuilder& ParameterBuilder::required() {
  parameter_->required = true;
  parameter_->default_value.reset();
  return *this;
}

ParameterBuilder& ParameterBuilder::from_field() {
  parameter_->from_field = true;
  parameter_->default_value.reset();
  parameter_->doc += "; default: that of the field that arrives";
  return *this;
}

ParameterBuilder& ParameterBuilder::optional() {
  parameter_->required = false;
  return *this;
}

ParameterBuilder& ParameterBuilder::choices(std::vector<std::string> choices) {
  parameter_->choices = std::move(choices);
  return *this;
}

ParameterBuilder& ParameterBuilder::renamed_from(std::string old_name) {
  parameter_->renamed_from.push_back(std::move(old_name));
  return *this;
}

ParameterBuilder& ParameterBuilder::folder_with(std::vector<std::string> names) {
  parameter_->folder_with = std::move(names);
  return *this;
}

ParameterBuilder& ParameterBuilder::must_exist(std::string folder) {
  parameter_->exists_in = std::move(folder);
  return *this;
}

ParameterBuilder& ParameterBuilder::initial() {
  parameter_->initial = true;
  return *this;
}

ParameterBuilder& ParameterBuilder::replicate() {
  parameter_->role = ParameterRole::replicate;
  return *this;
}

ParameterBuilder& ParameterBuilder::replicate(std::string unless, Value value) {
  parameter_->unused_with = {std::move(unless), {std::move(value)}};
  return replicate();
}

ParameterBuilder& ParameterBuilder::protocol() {
  parameter_->role = ParameterRole::protocol;
  return *this;
}

ParameterBuilder& ParameterBuilder::same_results() {
  parameter_->role = ParameterRole::same_results;
  return *this;
}

ParameterBuilder& ParameterBuilder::only_with(std::string parameter, const char* value) {
  return only_with(std::move(parameter), Value{std::string(value)});
}

ParameterBuilder& ParameterBuilder::only_with(std::string parameter, Value value) {
  parameter_->only_with = {std::move(parameter), {std::move(value)}};
  return *this;
}

ParameterBuilder& ParameterBuilder::only_with(std::string parameter,
                                              std::vector<std::string> values) {
  parameter_->only_with = {std::move(parameter), {values.begin(), values.end()}};
  return *this;
}

FieldBuilder& FieldBuilder::values(std::vector<std::string> values, std::string of) {
  field_->values = std::move(values);
  field_->values_of = std::move(of);
  return *this;
}

FieldBuilder& FieldBuilder::contract(std::string contract) {
  field_->contract = std::move(contract);
  return *this;
}

FieldBuilder& FieldBuilder::doc(std::string doc) {
  field_->doc = std::move(doc);
  return *this;
}

void Declaration::doc(std::string text) {
  description_.doc = std::move(text);
}

void Declaration::reads_label(std::string_view field) {
  description_.labels_read.emplace_back(field);
}

ParameterInfo& Declaration::add_parameter(std::string name, std::string doc) {
  ParameterInfo info;
  info.name = std::move(name);
  info.doc = std::move(doc);
  return description_.parameters.emplace_back(std::move(info));
}

FieldBuilder Declaration::add_field(std::vector<FieldInfo>& fields, FieldInfo field) {
  const std::string_view shared = shared_field_type(field.name);
  if (!shared.empty() && shared != field.type) {
    throw Error("field '" + field.name + "' is shared by all plugins and is of type " +
                    readable_type(shared) + ", not " + readable_type(field.type) +
                    "; rename your own field",
                Fault::internal);
  }
  return FieldBuilder(fields.emplace_back(std::move(field)));
}

}  // namespace seam
