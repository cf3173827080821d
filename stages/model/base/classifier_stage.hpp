/// Base class of network stages whose outputs are numbered by category.
#pragma once

#include <seam/module.hpp>

#include "stages/class_vocabulary.hpp"

namespace seam::stages {

template <class M>
class ClassifierStage : public ModuleStage<M> {
 public:
  void open(Context& context) override {
    vocabulary_.open();
    ModuleStage<M>::open(context);
  }

 protected:
  /// Declares the vocabulary and the parameters of all networks; call it at the end of declare(),
  /// after the fields, which the vocabulary reads. Call it even if no classes are set yet: offers
  /// are read only once.
  void declare_classifier(Declaration& d) {
    vocabulary_.declare(d);
    this->declare_module(d);
  }

  [[nodiscard]] const ClassVocabulary& vocabulary() const { return vocabulary_; }

 private:
  ClassVocabulary vocabulary_;
};

}  // namespace seam::stages
