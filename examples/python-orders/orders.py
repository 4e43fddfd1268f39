#!/usr/bin/env python3
"""Takes orders, each of them once: the order and Semel's record of it commit in one transaction.

    orders.py --database postgresql://shop@127.0.0.1/shop [--port 3000]

Behind a gateway with `completes: executor` the claim comes with the request (Semel-Record, Semel-Token). Without
one the service claims by itself, under the Idempotency-Key. Needs python3 and python3-psycopg2, no more.
"""

import argparse
import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2

OPERATION = "orders"
BODY_BYTES_MAX = 1 << 20

# Answers to claims that may not execute.
REFUSALS = {
    "busy": (409, "this order is being made; ask again"),
    "unknown": (409, "what became of this order is not known yet"),
    "mismatch": (422, "this key was used for another order"),
    "expired": (410, "this key has expired"),
    "version-changed": (410, "this key has expired"),
}
JSON = [["Content-Type", "application/json"]]


def made(status, body):
    return status, JSON, json.dumps(body).encode()


def make_order(cursor, tenant, request):
    """The effect, and the answer about it. A request that can never succeed has an answer too."""
    try:
        order = json.loads(request)
        item, quantity = str(order["item"]), int(order["quantity"])
    except (ValueError, KeyError, TypeError):
        return made(400, {"error": "an order is {\"item\": …, \"quantity\": …}"})
    if not 0 < quantity < 1000:
        return made(422, {"error": "quantity must be between 1 and 999"})
    cursor.execute("INSERT INTO public.orders (tenant, item, quantity) VALUES (%s, %s, %s) RETURNING id",
                   (tenant, item, quantity))
    return made(201, {"order": cursor.fetchone()[0], "item": item, "quantity": quantity})


def execute(cursor, held, tenant, request):
    """The whole of it: whatever raises here undoes the order with its record."""
    # First of all, so that no error swallowed later (a savepoint, a library) can slip past it.
    cursor.execute("SELECT semel.guard(%s, %s)", held)
    status, headers, body = make_order(cursor, tenant, request)
    cursor.execute("SELECT semel.complete(%s, %s, %s, %s, %s)", (*held, status, json.dumps(headers), body))
    return status, headers, body


def by_itself(cursor, key, tenant, request):
    cursor.execute("SELECT verdict, record, token, status, headers, body FROM semel.claim(%s, %s, %s, %s)",
                   (tenant, OPERATION, key, hashlib.sha256(request).digest()))
    verdict, record, token, status, headers, body = cursor.fetchone()
    if verdict == "execute":
        return execute(cursor, (record, token), tenant, request)
    if verdict == "replay":
        return status, [*headers, ["Idempotency-Replayed", "true"]], bytes(body)
    status, why = REFUSALS[verdict]
    return made(status, {"error": why})


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    database = ""

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if self.path != "/orders" or length > BODY_BYTES_MAX:
            self.close_connection = True
            return self.answer(*made(404, {"error": "POST an order to /orders"}))
        request = self.rfile.read(length)
        try:
            self.answer(*self.once(request))
        except psycopg2.Error as error:
            # SM001: another attempt has the claim. SM003: it is committed already. Otherwise the
            # database is away, or the COMMIT's fate is not known. The record alone says what is true,
            # and whoever asks again with the same key is told.
            self.log_error("%s %s", error.pgcode, error)
            self.answer(*made(503, {"error": "ask again with the same key"}))

    def once(self, request):
        record, token = self.headers.get("Semel-Record"), self.headers.get("Semel-Token")
        key = self.headers.get("Idempotency-Key")
        tenant = self.headers.get("Authorization", "nobody")
        connection = psycopg2.connect(self.database)  # a pool would do as well
        try:
            with connection, connection.cursor() as cursor:  # commits, or rolls back what raised
                if record and token:
                    held = bytes.fromhex(record), bytes.fromhex(token)
                    return execute(cursor, held, tenant, request)
                if key:
                    return by_itself(cursor, key, tenant, request)
                return made(400, {"error": "an order needs an Idempotency-Key"})
        finally:
            connection.close()

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", required=True, help="postgresql://…, as the role of orders.sql")
    parser.add_argument("--port", type=int, default=3000, help="0: any that is free")
    options = parser.parse_args()
    Orders.database = options.database
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Orders)
    print(f"orders on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
