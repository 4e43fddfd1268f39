#include "config/printing/service.h"

#include "config/printing/parts.h"

namespace semel::config::printing {
namespace {

void print_allowed(Yaml& out, std::string_view key, const Allowed& allowed) {
  if (allowed.all) {
    out.text(key, "*");
  } else {
    out.texts(key, allowed.names);
  }
}

void print_service_client(Yaml& out, const ServiceClient& client) {
  out.text("name", client.name);
  out.text_if_any("token_file", client.token_file);
  out.text_if_any("token_env", client.token_env);
  print_allowed(out, "tenants", client.tenants);
  print_allowed(out, "operations", client.operations);
}

void print_service_operation(Yaml& out, const ServiceOperation& operation) {
  out.mapping(operation.name, [&] {
    out.duration("lease", operation.operation.lease);
    out.duration("ttl", operation.operation.ttl);
    out.duration("tombstone", operation.operation.tombstone);
    out.duration_or_never("hold_for", operation.operation.hold_for);
    out.text("unknown", text_of(operation.operation.unknown));
    print_limits(out, operation.limits);
  });
}

}  // namespace

void print_service(Yaml& out, const ServiceConfig& service) {
  out.mapping("service", [&] {
    out.text("listen", text_of(service.listen));
    out.size("max_body", service.max_body);
    out.sequence("clients", [&] {
      for (const ServiceClient& client : service.clients) {
        out.item([&] { print_service_client(out, client); });
      }
    });
    out.mapping("operations", [&] {
      for (const ServiceOperation& operation : service.operations) {
        print_service_operation(out, operation);
      }
    });
  });
}

}  // namespace semel::config::printing
