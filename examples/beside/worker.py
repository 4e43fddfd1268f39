#!/usr/bin/env python3
"""worker.py KEY AMOUNT: books an invoice once per key, whoever else tries, and prints its answer.

SEMEL is the address of the service API, WORKER_TOKEN the token, LEDGER the file that must not get a line twice.
"""
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request


def post(path, body):
    """Asks until there is an answer: repeating any request of this API is safe."""
    request = urllib.request.Request(
        os.environ["SEMEL"] + path, json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["WORKER_TOKEN"], "Content-Type": "application/json"})
    for pause in (0.1, 0.2, 0.5, 1, 1, 2, 2, 5, 5, None):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503 or pause is None:
                return error.code, json.load(error)
        except OSError:  # the reply is lost, or Semel restarts
            if pause is None:
                raise
        time.sleep(pause)


def main(key, amount):
    token = secrets.token_hex(16)  # chosen here, so that every request can be repeated
    status, claim = post("/v1/claims", {"operation": "invoices", "key": key, "token": token,
                                        "payload": {"amount": amount}, "wait": "5s"})
    if status == 200:  # done before: the same answer
        return print(claim["answer"]["body"])
    if status != 201:  # in progress, unknown, another payload …
        sys.exit(json.dumps(claim))

    with open(os.environ["LEDGER"], "a") as ledger:  # the effect
        ledger.write(f"{key} {amount}\n")
    answer = f"booked {amount}"
    status, said = post(f"/v1/claims/{claim['record']}/complete",
                        {"token": token, "answer": {"status": 200, "body": answer}})
    if status != 200:
        sys.exit(json.dumps(said))
    print(answer)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
