// Makes one call through semel/semel.h and prints its verdict and its answer:
//
//   library_caller URL OPERATION TENANT KEY FINGERPRINT [METHOD PATH CONTENT-TYPE]
//
// The function answers 201 with "inside".
#include <semel/semel.h>

#include <cstdio>

int main(int count, char** given) {
  semel::Call call;
  call.tenant = given[3];
  call.key = given[4];
  call.fingerprint = given[5];
  if (count > 8) call.http = {given[6], given[7], given[8]};
  auto engine = semel::open(given[1]);
  const auto result = engine.once({given[2]}, call, [] {
    return semel::Answer{201, {{"Content-Type", "text/plain"}}, "inside"};
  });
  std::printf("%s %d %s\n", std::string(semel::to_string(result.verdict())).c_str(),
              result ? result->status : 0, result ? result->body.c_str() : result.why().c_str());
}
