// The charge that every server of this folder makes: counted, with a number of its own. It takes a moment, as a database does, so
// that duplicates can meet it; and longer if asked.
import { setTimeout as pause } from "node:timers/promises";

let count = 0;

export async function charge(order) {
  count += 1;
  const made = { id: `ch_${count}`, amount: order.amount };
  await pause(order.slow ? 1200 : 20);
  return made;
}

export const counted = () => ({ count });

export function ready() {
  console.log("ready");
}
