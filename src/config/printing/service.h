#pragma once

#include "config/printing/yaml.h"
#include "config/service.h"

namespace semel::config::printing {

void print_service(Yaml& out, const ServiceConfig& service);

}  // namespace semel::config::printing
