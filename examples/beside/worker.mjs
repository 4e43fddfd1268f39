#!/usr/bin/env node
// worker.mjs KEY AMOUNT: books an invoice once per key, whoever else tries, and prints its answer.
// SEMEL is the address of the service API, WORKER_TOKEN the token, LEDGER the file that must not get a line twice.
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { SEMEL, WORKER_TOKEN, LEDGER } = process.env;
const [key, amount] = [process.argv[2], Number(process.argv[3])];

// Asks until there is an answer: repeating any request of this API is safe.
async function post(path, body) {
  for (const pause of [100, 200, 500, 1000, 1000, 2000, 2000, 5000, 5000, null]) {
    try {
      const answer = await fetch(SEMEL + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${WORKER_TOKEN}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
      if (answer.status !== 503 || pause === null) return [answer.status, await answer.json()];
    } catch (error) { // the reply is lost, or Semel restarts
      if (pause === null) throw error;
    }
    await sleep(pause);
  }
}

function fail(said) {
  console.error(JSON.stringify(said));
  process.exit(1);
}

const token = randomBytes(16).toString('hex'); // chosen here, so that every request can be repeated
const [status, claim] = await post('/v1/claims', {
  operation: 'invoices', key, token, payload: { amount }, wait: '5s',
});
if (status === 200) { // done before: the same answer
  console.log(claim.answer.body);
} else if (status !== 201) { // in progress, unknown, another payload …
  fail(claim);
} else {
  appendFileSync(LEDGER, `${key} ${amount}\n`); // the effect
  const answer = `booked ${amount}`;
  const [done, said] = await post(`/v1/claims/${claim.record}/complete`,
                                  { token, answer: { status: 200, body: answer } });
  if (done !== 200) fail(said);
  console.log(answer);
}
