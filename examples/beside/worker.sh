#!/bin/sh
# worker.sh KEY AMOUNT: books an invoice once per key, whoever else tries, and prints its answer.
# SEMEL is the address of the service API, WORKER_TOKEN the token, LEDGER the file that must not get a line twice.
set -eu
key=$1 amount=$2
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')   # chosen here, so that every request can be repeated
reply=$(mktemp)
trap 'rm -f "$reply"' EXIT

post() {  # post PATH JSON: prints the status; the answer is in $reply. A lost reply is asked for again.
  curl -sS -o "$reply" -w '%{http_code}' --retry 10 --retry-connrefused --retry-all-errors --retry-delay 1 \
    -H "Authorization: Bearer $WORKER_TOKEN" -H 'Content-Type: application/json' -d "$2" "$SEMEL$1"
}
body() {  # the recorded answer's body; jq would do it better
  sed -n 's/.*"body":"\(\([^"\\]\|\\.\)*\)".*/\1/p' "$reply"
}

status=$(post /v1/claims "{\"operation\": \"invoices\", \"key\": \"$key\", \"token\": \"$token\",
  \"payload\": {\"amount\": $amount}, \"wait\": \"5s\"}")
case $status in
  201) ;;                                        # ours: execute
  200) body; exit 0 ;;                           # done before: the same answer
  *) cat "$reply" >&2; exit 1 ;;                 # in progress, unknown, another payload …
esac

record=$(sed -n 's/.*"record":"\([0-9a-f]*\)".*/\1/p' "$reply")
echo "$key $amount" >>"$LEDGER"                  # the effect
answer="booked $amount"
status=$(post "/v1/claims/$record/complete" \
  "{\"token\": \"$token\", \"answer\": {\"status\": 200, \"body\": \"$answer\"}}")
[ "$status" = 200 ] || { cat "$reply" >&2; exit 1; }
echo "$answer"
