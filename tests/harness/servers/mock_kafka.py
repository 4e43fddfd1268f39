"""librdkafka's own mock of a Kafka cluster, run by tests/e2e/messages/mock_kafka.cc."""

import json
import os
import pathlib
import subprocess
import uuid

from harness.semel import binary


class MockKafka:
    def __init__(self):
        program = pathlib.Path(binary()).parent / "tests" / "mock_kafka"
        assert os.access(program, os.X_OK), f"{program} is not built"
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        self.brokers = self._process.stdout.readline().strip()

    def ask(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def topic(self, partitions=1):
        name = f"t{uuid.uuid4().hex[:8]}"
        self.ask("topic", name, partitions)
        self.ask("topic", f"{name}.dead", 1)
        return name

    def produce(self, topic, key, body, **headers):
        pairs = [word for pair in headers.items() for word in pair]
        answer = self.ask("produce", topic, key or "-", body, *pairs)
        assert answer.get("flushed"), answer

    def dead(self, topic):
        return self.ask("read", f"{topic}.dead")

    def stop(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
