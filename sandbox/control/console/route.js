// Where the reader is: all of it is in the fragment, so that a link leads back to it.
// #/world/room/id?name=value

import { signal } from "@preact/signals";

/** Whether this is the page of the documentation, where a bare fragment names an operation. */
const isDocs = location.pathname.endsWith("/docs");

const read = () => {
  const { hash } = location;
  const place = isDocs && !hash.startsWith("#/") ? `default/api/${hash.slice(1)}` : hash.replace(/^#\/?/, "");
  const [path, query = ""] = place.split("?");
  const [world, room, ...rest] = path.split("/").map(decoded);
  return {
    world: world || "default",
    room: room || "overview",
    id: rest.join("/"),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
};

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The token of a printed link, which is erased from the address at once; or "". */
export function tokenOfLink() {
  const found = /^#token=([^/]*)(\/.*)?$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", found[2] ? `#${found[2]}` : "#/");
  route.value = read();
  return decoded(found[1]);
}

export const route = signal(read());

/** The token of a printed link that was opened while the console is open; or "". */
export const linked = signal("");

addEventListener("hashchange", () => {
  // A token is not a place: it must not be requested.
  const token = tokenOfLink();
  if (token) linked.value = token;
  else route.value = read();
});

/**
 * The address of a room, of something in it, or of this room with another question.
 * @param {{ world?: string, room?: string, id?: string, query?: Record<string, any> }} [place]
 */
export function to({ world, room, id = "", query = {} } = {}) {
  const here = route.value;
  const parts = [world ?? here.world, room ?? here.room, ...(id ? [id] : [])];
  const asked = new URLSearchParams(
    Object.entries(query).filter(([, value]) => value !== "" && value != null),
  ).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

/** Goes there. The route changes at once: the browser reports the change later, when a fast typist has
 * pressed the next key. */
export const go = (place) => {
  location.hash = to(place);
  route.value = read();
};

/** Changes the question of this place, without a step in the history. */
export function refine(query) {
  const { id } = route.value;
  history.replaceState(null, "", to({ id, query: { ...route.value.query, ...query } }));
  route.value = read();
}
