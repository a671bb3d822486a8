import { paymentsCreate, transactionsRead, transactionsSearch } from "./client";
import type { ForcedOutcome } from "./client";

const { SANDBOX_KEY, SANDBOX_TERMINAL } = process.env;
const headers = { "x-service-apikey": SANDBOX_KEY! };

async function pay(outcome: ForcedOutcome) {
  const answer = await paymentsCreate(
    { amount: 1000, terminal_id: SANDBOX_TERMINAL! },
    { headers: { ...headers, "x-sandbox-outcome": outcome } },
  );
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.data));
  return answer.data;
}

async function main() {
  console.log((await pay("approved")).status);
  const decline = await pay("insufficient_funds");
  console.log(decline.status, decline.status_reason);
  const page = await transactionsSearch({ limit: 1, offset: 1 }, { headers });
  if (page.status !== 200) throw new Error(JSON.stringify(page.data));
  console.log(page.data.transactions.length, "of", page.data.total);
  const missing = await transactionsRead("none", { headers });
  console.log(missing.status, missing.status === 404 && missing.data.error);
}

main();
