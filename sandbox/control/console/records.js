// The last payments whole, as receipts need them.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { route } from "./route.js";
import { revision, requests } from "./state.js";

/** The records of the last payments that requests were about, newest first. */
export function useLast(most) {
  const [found, setFound] = useState([]);
  const { world } = route.value;
  const asked = requests.value.map(({ payment }) => payment?.merchant && payment.id).filter(Boolean);
  const ids = [...new Set(asked)].slice(0, most);
  useEffect(() => {
    let over = false;
    Promise.all(ids.map((id) => ask("GET", inWorld(world, "payments", id)))).then((stories) => {
      if (!over) setFound(stories.map(({ payment }) => payment));
    }, () => {});
    return () => { over = true; };
  }, [world, ids.join(), revision.value]);
  return found;
}
