"""A private RabbitMQ from Debian's package: free ports, a folder of its own, an unprivileged user,
its own name server (epmd), nothing left behind."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import pika

from harness.ports import free_port

PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"
START_SECONDS = 300  # beside other work an Erlang VM takes its time
START_TRIES = 3


def unprivileged():
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("rabbitmq")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class RabbitmqServer:
    """`start()` may be called again after `kill9()`: what was durable is kept until `discard()`."""

    def __init__(self, certificate=None, config=""):
        """With a certificate it takes TLS too, on `tls_port`. `config` is added to its configuration."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-rabbitmq-"))
        self.port = free_port()
        names, distribution = free_port(), free_port()
        (self.folder / "plugins").write_text("[].\n")
        (self.folder / "rabbitmq.conf").write_text("loopback_users = none\nlog.file = false\n"
                                                   "log.console = true\nlog.console.level = error\n" + config)
        if certificate:
            self.tls_port = free_port()
            for name, path in (("cert", certificate.cert), ("key", certificate.key)):
                shutil.copy(path, self.folder / name)
                os.chmod(self.folder / name, 0o644)
            with open(self.folder / "rabbitmq.conf", "a") as config:
                config.write(f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\n"
                             f"ssl_options.certfile = {self.folder}/cert\n"
                             f"ssl_options.keyfile = {self.folder}/key\n"
                             "ssl_options.verify = verify_none\n")
        self._environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(names), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"semel{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "logs"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            # Two idle schedulers that spin would take the tests' processors.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
        }
        if ids := unprivileged():
            for path in [self.folder, *self.folder.iterdir()]:
                os.chown(path, ids["user"], ids["group"])
        self._names = subprocess.Popen(["epmd", "-port", str(names), "-address", "127.0.0.1"],
                                       env=self._environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       **unprivileged())
        self.process = None

    @property
    def url(self):
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2f"

    @property
    def tls_url(self):
        return f"amqps://guest:guest@localhost:{self.tls_port}/%2f"  # rabbitmq-c verifies no addresses

    def start(self):
        deadline = time.monotonic() + START_SECONDS
        tries = 0
        while True:
            # A port of its many may be somebody's outgoing connection at this moment.
            if self.process is None or self.process.poll() is not None:
                tries += 1
                assert tries <= START_TRIES, self.log_tail()
                self._launch()
            try:
                self.connect().close()
                return self
            except pika.exceptions.AMQPError:  # nobody listens yet
                assert time.monotonic() < deadline, self.log_tail()
                time.sleep(0.05)  # the server says nowhere else that it takes connections

    def _launch(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([PROGRAM], cwd=self.folder, env=self._environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, **unprivileged())

    def version(self):
        """Its major version: 3 in Debian 12, 4 in Debian 13."""
        with self.connect() as connection:
            return int(connection._impl.server_properties["version"].split(".")[0])

    def connect(self):
        return pika.BlockingConnection(pika.URLParameters(self.url + "?heartbeat=0"))

    def log_tail(self):
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-40:])

    def kill9(self):
        """The server and the helpers that it has started, at once."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        # That was the script. While the node itself still ends, another of its name does not start.
        deadline = time.monotonic() + START_SECONDS
        while f"name semel{self.port} " in self._known_nodes():
            assert time.monotonic() < deadline, self.log_tail()
            time.sleep(0.02)

    def _known_nodes(self):
        return subprocess.run(["epmd", "-port", self._environment["ERL_EPMD_PORT"], "-names"],
                              env=self._environment, capture_output=True, text=True).stdout

    def discard(self):
        self.kill9()
        self._names.kill()
        self._names.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Queue:
    """A durable queue and the queue of its dead letters, as a test sees them."""

    def __init__(self, server, name, **arguments):
        self.server = server
        self.name = name
        self.dead = f"{name}.dead"
        with server.connect() as connection:
            channel = connection.channel()
            channel.queue_declare(name, durable=True, arguments=arguments or None)
        self.make_dead()

    def make_dead(self):
        with self.server.connect() as connection:
            channel = connection.channel()
            channel.queue_declare(self.dead, durable=True)
            # RabbitMQ confirms a queue before its database has written down that the transaction committed; killed
            # then, it comes back without the queue. The next transaction writes that down as well.
            channel.queue_declare(f"{self.dead}.next", durable=True)
            channel.queue_delete(f"{self.dead}.next")

    def delete_dead(self):
        with self.server.connect() as connection:
            connection.channel().queue_delete(self.dead)

    def publish(self, messages):
        """Each is (id or None, body) or (id, body, headers). Returns when the broker has them on its
        disk."""
        with self.server.connect() as connection:
            channel = connection.channel()
            channel.tx_select()
            for message_id, body, *more in messages:
                properties = pika.BasicProperties(
                    message_id=message_id, delivery_mode=2, content_type="application/json",
                    headers=more[0] if more else None)
                channel.basic_publish("", self.name, body, properties)
            channel.tx_commit()

    def return_first(self, times=1):
        """Takes the first message and returns it, as a consumer does that ends."""
        with self.server.connect() as connection:
            channel = connection.channel()
            for _ in range(times):
                until_there = time.monotonic() + START_SECONDS
                while True:
                    method, _, _ = channel.basic_get(self.name)
                    if method is not None:
                        break
                    assert time.monotonic() < until_there, "it is not there"
                    time.sleep(0.01)
                channel.basic_nack(method.delivery_tag, requeue=True)

    def counts(self):
        """Messages that wait in the queue, and in that of the dead letters."""
        with self.server.connect() as connection:
            channel = connection.channel()
            return tuple(channel.queue_declare(name, passive=True).method.message_count
                         for name in (self.name, self.dead))

    def left(self):
        """All that is not settled. Of what consumers hold, the broker says nothing here: they have to be
        gone. The queue takes it back as it notices that."""
        with self.server.connect() as connection:
            channel = connection.channel()
            deadline = time.monotonic() + START_SECONDS
            while True:
                about = channel.queue_declare(self.name, passive=True).method
                if about.consumer_count == 0:
                    return about.message_count
                assert time.monotonic() < deadline, f"{about.consumer_count} consumers are still there"
                time.sleep(0.02)

    def take_dead(self):
        """Empties the dead letters: (properties, body) of each."""
        return self.take(self.dead)

    def take(self, name=None):
        """Empties the queue: (properties, body) of each."""
        name = name or self.name
        with self.server.connect() as connection:
            channel = connection.channel()
            count = channel.queue_declare(name, passive=True).method.message_count
            found = []
            # One by one: a consumer would be given, and would lose, what comes while it goes.
            while len(found) < count:
                method, properties, body = channel.basic_get(name, auto_ack=True)
                if method is None:
                    break
                found.append((properties, body))
            return found
