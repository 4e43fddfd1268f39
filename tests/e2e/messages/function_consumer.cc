// A program with functions of its own for messages, for test_consume_function.py. It uses public
// headers only. `function_consumer FILE NAME blocking|async|stopped [DATABASE]`; stopped: before it
// runs.
//
// Each call appends "id attempt" to the file `effects`; the header X-Test says what it does then:
// retry, throw, throw-other, forget (async), nap, gate=PATH (returns when the file is there),
// commit (an effect in the database, with its record), commit-nothing.
#include <fcntl.h>
#include <semel/consume.h>
#include <semel/pg.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

using namespace semel::consume;

namespace {

std::string database;

void take_effect(const Message& message, const Claim& claim) {
  const std::string line = message.id() + " " + std::to_string(claim.attempt) + "\n";
  const int file = open("effects", O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  close(file);
}

void wait_for(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void commit(const Message& message, const Claim& claim) {
  PGconn* connection = PQconnectdb(database.c_str());
  semel::pg::query(connection, "BEGIN");
  semel::pg::guard(connection, claim);
  semel::pg::query(connection, "INSERT INTO public.effects VALUES ('" + message.id() + "')");
  semel::pg::complete(connection, claim, {201, {}, "made"});
  semel::pg::query(connection, "COMMIT");
  PQfinish(connection);
}

semel::Outcome handle(const Message& message, const Claim& claim) {
  take_effect(message, claim);
  const std::string* given = message.header("x-test");
  const std::string told = given ? *given : "";
  if (told.starts_with("gate=")) wait_for(told.substr(5));
  if (told == "nap") std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (told == "retry") return retry("not now");
  if (told == "throw") throw std::runtime_error("it broke\r\nX-Forged: header \xff");
  if (told == "throw-other") throw 7;
  if (told == "commit") commit(message, claim);
  return done({201, {{"Content-Type", "text/plain"}}, message.content_type()});
}

void handle_elsewhere(Message message, Claim claim, Done done) {
  const std::string* given = message.header("X-Test");
  if (given && *given == "forget") return;
  if (given && *given == "throw") throw std::runtime_error("it broke");
  std::thread([message, claim, done] {
    done(handle(message, claim));
    done(retry("a second word, which does not count"));
  }).detach();
}

}  // namespace

int main(int count, char** arguments) {
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);

  if (count > 4) database = arguments[4];
  Entry entry{arguments[2], Handler(handle)};
  if (std::string(arguments[3]) == "async") entry.handler = AsyncHandler(handle_elsewhere);
  auto consumer = Consumer::open({.file = arguments[1]}, {entry});
  if (!consumer) {
    std::fprintf(stderr, "%s\n", consumer.error().c_str());
    return 2;
  }
  std::printf("listening admin %s\nready\n", consumer->admin().c_str());
  std::fflush(stdout);
  std::thread ending([&] {
    int signal = 0;
    sigwait(&endings, &signal);
    consumer->stop();
  });
  if (std::string(arguments[3]) == "stopped") {
    consumer->stop();
    kill(getpid(), SIGTERM);
  }
  consumer->run();
  std::puts("ended");
  std::fflush(stdout);
  ending.join();
}
