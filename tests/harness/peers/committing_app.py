"""A service that completes Semel's record in the transaction of its own effect:

    python3 committing_app.py DATABASE-URL

prints its port. What a request does is said in its X-Test header, by default `commit`. The body that
it answers with is never the one that it commits, so that a test sees which of them arrives."""

import http.server
import os
import sys
import time

import psycopg2


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        getattr(self, "do_" + self.headers.get("X-Test", "commit").replace("-", "_"))()

    def begin(self):
        """The effect, and the record, in a transaction that is still open."""
        connection = psycopg2.connect(sys.argv[1])
        self.effect(connection)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT semel.complete(decode(%s, 'hex'), decode(%s, 'hex'), 201, "
                "'[[\"Content-Type\", \"text/plain\"], [\"X-Made\", \"by the service\"]]', %s)",
                (self.headers["Semel-Record"], self.headers["Semel-Token"],
                 b"committed in attempt " + self.headers["Semel-Attempt"].encode()))
        return connection

    def effect(self, connection):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO effects (key, attempt) VALUES (%s, %s)",
                           (self.headers["Idempotency-Key"].strip('"'),
                            int(self.headers["Semel-Attempt"])))

    def answer(self, status, body=b"not what was committed"):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def cut(self):
        self.close_connection = True
        self.connection.close()

    def do_commit(self):
        connection = self.begin()
        connection.commit()
        self.answer(200)

    def do_stream(self):
        connection = self.begin()
        connection.commit()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"5\r\nhello\r\n0\r\n\r\n")

    def do_answer_before_commit(self):
        connection = self.begin()
        self.answer(200)
        time.sleep(0.3)  # the commit is late, as one is that waits for its disk
        connection.commit()

    def do_roll_back(self):
        connection = self.begin()
        connection.rollback()
        self.answer(200)

    def do_refuse(self):
        self.answer(422, b"refused")

    def do_commit_then_fail(self):
        connection = self.begin()
        connection.commit()
        self.answer(503)

    def do_try_later(self):
        self.answer(503)

    def do_cut_after_commit(self):
        connection = self.begin()
        connection.commit()
        self.cut()

    def do_cut_before_commit(self):
        connection = self.begin()
        connection.rollback()
        self.cut()

    def do_hold_open(self):
        connection = self.begin()
        time.sleep(3)
        connection.commit()
        self.answer(200)

    def do_die_before_commit(self):
        self.begin()
        os._exit(1)

    def do_die_after_commit(self):
        self.begin().commit()
        os._exit(1)

    def do_wait_for_takeover(self):
        """Works until another attempt has taken effect, and then tries to commit its own."""
        connection = psycopg2.connect(sys.argv[1])
        self.effect(connection)
        look = psycopg2.connect(sys.argv[1])
        look.autocommit = True
        with look.cursor() as cursor:
            while True:
                cursor.execute("SELECT count(*) FROM effects WHERE key = %s",
                               (self.headers["Idempotency-Key"].strip('"'),))
                if cursor.fetchone()[0] > 0:
                    break
                time.sleep(0.02)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT semel.complete(decode(%s, 'hex'), decode(%s, 'hex'), 201)",
                               (self.headers["Semel-Record"], self.headers["Semel-Token"]))
            connection.commit()
        except psycopg2.Error as error:
            connection.rollback()
            with look.cursor() as cursor:
                cursor.execute("INSERT INTO refusals VALUES (%s)", (error.pgcode,))
        self.cut()


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
