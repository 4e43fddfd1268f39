#pragma once

#include "config/printing/yaml.h"
#include "semel/driver/outcome_rules.h"

namespace semel::config::printing {

// Writes `outcomes`: the name of a preset, or the statuses that differ from the standard.
void print_outcomes(Yaml& out, const OutcomeRules& rules);

}  // namespace semel::config::printing
