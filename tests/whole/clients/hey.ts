import { paymentsCreate, transactionsRead, transactionsSearch } from "./client";
import { client } from "./client/client.gen";
import type { ForcedOutcome } from "./client";

const { SANDBOX_URL, SANDBOX_KEY, SANDBOX_TERMINAL } = process.env;
client.setConfig({ baseUrl: SANDBOX_URL!, headers: { "x-service-apikey": SANDBOX_KEY! } });

async function pay(outcome: ForcedOutcome) {
  const { data, error } = await paymentsCreate({
    body: { amount: 1000, terminal_id: SANDBOX_TERMINAL! },
    headers: { "x-sandbox-outcome": outcome },
  });
  if (!data) throw new Error(JSON.stringify(error));
  return data;
}

async function main() {
  console.log((await pay("approved")).status);
  const decline = await pay("insufficient_funds");
  console.log(decline.status, decline.status_reason);
  const page = await transactionsSearch({ query: { limit: 1, offset: 1 } });
  console.log(page.data?.transactions.length, "of", page.data?.total);
  const missing = await transactionsRead({ path: { transaction_id: "none" } });
  const error = missing.error;
  console.log(missing.response?.status, error && "error" in error && error.error);
}

main();
