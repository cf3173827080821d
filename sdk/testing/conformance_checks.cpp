#include "seam/conformance_checks.hpp"

#include <array>

#include "conformance_trial.hpp"

namespace seam::testing {

std::span<const Check> conformance_checks() {
  static constexpr std::array all{
      Check{"DescribesItself", &checks::describes_itself},
      Check{"RefusesBadParameters", &checks::refuses_bad_parameters},
      Check{"WorksOnItsExample", &checks::works_on_its_example},
      Check{"AccountsForEveryPacket", &checks::accounts_for_every_packet},
      Check{"LeavesItsThreadAsItWas", &checks::leaves_its_thread_as_it_was},
      Check{"EndsAnEmptyFlow", &checks::ends_an_empty_flow},
      Check{"EndsOnce", &checks::ends_once},
      Check{"GivesTheSameBytes", &checks::gives_the_same_bytes},
      Check{"KeepsItsState", &checks::keeps_its_state},
      Check{"OwnsUpToLabels", &checks::owns_up_to_labels},
      Check{"IsCancelledAnywhere", &checks::is_cancelled_anywhere},
      Check{"EachParameterMatters", &checks::each_parameter_matters},
  };
  return all;
}

void live_once(const Candidate& candidate) {
  checks::Trial trial(candidate, checks::modes(candidate).front());
  trial.flow();
}

}  // namespace seam::testing
