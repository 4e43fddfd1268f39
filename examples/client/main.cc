#include <semel/client.h>

#include <cstdio>
#include <cstdlib>

// charge URL NAME: makes one charge, however often it is started with the same name.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  semel::ClientOptions options;
  options.base_url = argv[1];
  options.keys_file = "./keys";
  if (const char* token = std::getenv("SHOP_TOKEN")) options.headers = {{"Authorization", token}};
  try {
    semel::Client shop(options);
    // "order-1001": the same key after a crash.
    const auto sent = shop.post("/v1/charges", R"({"amount":4200})", semel::Key::named(argv[2]));
    std::printf("%d %s\n%s\n", sent.answer.status, sent.why.c_str(), sent.answer.body.c_str());
    switch (sent.end) {
      case semel::Sent::End::answered:
      case semel::Sent::End::replayed:
        return sent.answer.status < 400 ? 0 : 22;
      case semel::Sent::End::unknown:
        return 70;  // it may have happened: never again with a new key
      default:
        return 75;
    }
  } catch (const semel::Client::Error& error) {  // nothing was sent
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
