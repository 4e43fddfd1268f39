#pragma once

#include "config/consume.h"
#include "config/printing/yaml.h"
#include "config/relay.h"

namespace semel::config::printing {

void print_relay(Yaml& out, const RelayConfig& relay);
// Writes the members of an entry of `consume`.
void print_consume(Yaml& out, const ConsumeConfig& entry);

}  // namespace semel::config::printing
