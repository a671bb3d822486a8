// The health of an endpoint, from its known deliveries.

/** The last deliveries to an endpoint, oldest first: their status. */
export const deliveriesTo = (endpoint, messages, most = 18) =>
  messages
    .flatMap(({ deliveries }) => deliveries.filter((one) => one.endpoint_id === endpoint.id))
    .slice(0, most)
    .map(({ status, attempts }) => ({ status, tries: attempts }))
    .reverse();

/** Whether a delivery arrived, waits, or failed: "", "w", "x". */
export function tick({ status, tries }) {
  if (status === "delivered" || status === "succeeded" || status === "success") return "";
  if (status === "pending" && tries < 1) return "w";
  return "x";
}

/** Whether most of the last deliveries did not arrive. */
export function failing(endpoint, messages) {
  if (endpoint.disabled) return false;
  const last = deliveriesTo(endpoint, messages, 8).map(tick).filter((one) => one !== "w");
  return last.length > 0 && last.filter((one) => one === "x").length > last.length / 2;
}
