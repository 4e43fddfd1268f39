"""Apache Kafka in KRaft mode, from the folder that scripts/interop fills: one broker, or three that replicate."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import uuid

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from harness.ports import free_port
from harness.servers.nats_server import unprivileged

START_SECONDS = 90
CLUSTER_ID = "c2VtZWwtaW50ZXJvcC0wMQ"

LOGGING = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


def jars():
    folder = pathlib.Path(os.environ["SEMEL_INTEROP"]) / "kafka"
    assert any(folder.glob("kafka_*.jar")), f"{folder} has no Kafka: run scripts/interop"
    return f"{folder}/*"


class Broker:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.port, self.controller_port = free_port(), free_port()
        self.folder = cluster.folder / f"node{number}"
        self.process = None

    def write_settings(self):
        nodes = self.cluster.brokers
        voters = ",".join(f"{one.number}@127.0.0.1:{one.controller_port}" for one in nodes)
        copies = min(3, len(nodes))
        self.folder.mkdir()
        self.settings = self.folder / "server.properties"
        self.settings.write_text("\n".join([
            "process.roles=broker,controller",
            f"node.id={self.number}",
            f"controller.quorum.voters={voters}",
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            f"log.dirs={self.folder / 'data'}",
            f"offsets.topic.replication.factor={copies}",
            f"transaction.state.log.replication.factor={copies}",
            f"transaction.state.log.min.isr={min(2, copies)}",
            "offsets.topic.num.partitions=4",
            "transaction.state.log.num.partitions=4",
            f"default.replication.factor={copies}",
            f"min.insync.replicas={min(2, copies)}",
            "group.initial.rebalance.delay.ms=0",
            "broker.session.timeout.ms=3000",
            "broker.heartbeat.interval.ms=500",
            "auto.create.topics.enable=false",
            ""]))
        if ids := unprivileged():
            for path in (self.folder, self.settings):
                os.chown(path, ids["user"], ids["group"])

    def java(self, *arguments):
        return ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars(),
                f"-Dlog4j2.configurationFile={self.cluster.logging}", *arguments]

    def format(self):
        with open(self.folder / "format.log", "wb") as log:
            subprocess.run(self.java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c",
                                     str(self.settings)),
                           check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                           **unprivileged())

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.java("kafka.Kafka", str(self.settings)),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=self.folder, **unprivileged())

    def kill9(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class KafkaCluster:
    """`start()` may be called again after `kill9()`: the topics are kept until `discard()`."""

    def __init__(self, nodes=1):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-kafka-"))
        os.chmod(self.folder, 0o755)
        self.logging = self.folder / "log4j2.properties"
        self.logging.write_text(LOGGING)
        self.brokers = []
        self.brokers = [Broker(self, number + 1) for number in range(nodes)]
        for broker in self.brokers:
            broker.write_settings()
            broker.format()
        self._producer = None

    @property
    def addresses(self):
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)

    def start(self):
        for broker in self.brokers:
            if broker.process is None:
                broker.start()
        self.wait_until_complete()
        return self

    def wait_until_complete(self):
        """Every broker of the cluster is known and takes part."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                # A new client each time: one that has lost its brokers waits longer and longer.
                found = self._admin().list_topics(timeout=5).brokers
                if len(found) == len(self.brokers):
                    return
            except Exception:
                pass
            for broker in self.brokers:
                assert broker.process.poll() is None, (broker.folder / "log").read_text()[-4000:]
            assert time.monotonic() < deadline, "Kafka did not start"
            time.sleep(0.2)  # Kafka says nowhere else that it is there

    def _admin(self):
        return AdminClient({"bootstrap.servers": self.addresses, "log_level": 0})

    def kill9(self):
        for broker in self.brokers:
            broker.kill9()

    def discard(self):
        self._producer = None
        self.kill9()
        shutil.rmtree(self.folder, ignore_errors=True)

    def topic(self, partitions=1):
        name = f"t{uuid.uuid4().hex[:8]}"
        copies = min(3, len(self.brokers))
        admin = self._admin()
        made = admin.create_topics([NewTopic(name, partitions, copies),
                                    NewTopic(f"{name}.dead", 1, copies)])
        for one in made.values():
            one.result(timeout=60)
        return name

    def produce(self, topic, messages):
        """Each is (key or None, body, headers). Returns when the brokers have them all."""
        if self._producer is None:
            self._producer = Producer({"bootstrap.servers": self.addresses, "acks": "all",
                                       "enable.idempotence": True, "log_level": 0})
        failed = []

        def report(error, _):
            if error:
                failed.append(error)

        for key, body, headers in messages:
            while True:
                try:
                    self._producer.produce(topic, body, key, headers=list(headers.items()), on_delivery=report)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self._producer.poll(0)
        assert self._producer.flush(120) == 0 and not failed, failed[:3]

    def read(self, topic, committed_only=True):
        """Everything in the topic: (key, body, headers), in order within each partition."""
        reader = Consumer({"bootstrap.servers": self.addresses, "group.id": "reader", "log_level": 0,
                           "enable.auto.commit": False, "enable.partition.eof": True,
                           "isolation.level": "read_committed" if committed_only else "read_uncommitted"})
        numbers = reader.list_topics(topic, timeout=30).topics[topic].partitions
        reader.assign([TopicPartition(topic, number, 0) for number in numbers])
        left, found, trouble = set(numbers), [], None
        deadline = time.monotonic() + 60
        while left:
            assert time.monotonic() < deadline, f"{topic} cannot be read: {trouble}"
            message = reader.poll(1)
            if message is None:
                continue
            if message.error():
                if message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
                else:
                    trouble = message.error()  # leaders may be elected just now
                continue
            headers = {name: value.decode() for name, value in message.headers() or ()}
            found.append((message.key(), message.value(), headers))
        reader.close()
        return found

    def committed(self, topic, group):
        """Offsets that the group has committed, and the ends: {partition: (committed, end)}."""
        reader = Consumer({"bootstrap.servers": self.addresses, "group.id": group, "log_level": 0})
        numbers = reader.list_topics(topic, timeout=30).topics[topic].partitions
        found = {}
        for one in reader.committed([TopicPartition(topic, number) for number in numbers], timeout=30):
            _, end = reader.get_watermark_offsets(TopicPartition(topic, one.partition), timeout=30)
            found[one.partition] = (one.offset, end)
        reader.close()
        return found

    def is_settled(self, topic, group):
        try:
            return all(done == end or end == 0 for done, end in self.committed(topic, group).values())
        except KafkaException:  # nobody can tell: after a kill, leaders are elected
            return False
