/**
 * Turns a valid JSON value into one that is nearly valid: structure-aware, so that it passes the
 * first check.
 */
export function mutated(value: unknown, random: () => number): unknown {
  const copy: unknown = structuredClone(value);
  const places = placesIn(copy);
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--) {
    const place = places[Math.floor(random() * places.length)];
    if (place !== undefined) change(place, random);
  }
  return copy;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): readonly Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

function change({ holder, key }: Place, random: () => number): void {
  const odd = ODD[Math.floor(random() * ODD.length)];
  switch (Math.floor(random() * 5)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      holder[key] = [holder[key], holder[key]];
      break;
    case 2:
      holder[`${key}${typeof odd === "string" ? odd.slice(0, 5) : "x"}`] = holder[key];
      break;
    default:
      holder[key] = odd;
  }
}

const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  "",
  " ",
  "a".repeat(5000),
  "\u0000",
  "\ud800",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "tasks/../x",
  "%00",
  "\r\nx: y",
  "🦊",
  [],
  {},
  [[[[]]]],
  { __proto__: null, toString: 1 },
  { kind: "task" },
  "TASK_STATE_WORKING",
  "2026-01-01T00:00:00Z",
];
