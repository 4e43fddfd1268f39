#pragma once

#include "config/printing/yaml.h"
#include "config/route.h"

namespace semel::config::printing {

void print_webhook(Yaml& out, const WebhookConfig& webhook);

}  // namespace semel::config::printing
