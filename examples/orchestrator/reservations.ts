import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Stores a reservation and returns its number. The same key always gives the same reservation. */
export async function reserve(key: string, stay: object): Promise<string> {
  const folder = process.env["RESERVATIONS"] ?? join(".convoke", "trips", "reservations");
  const number = createHash("sha256").update(key).digest("hex").slice(0, 8);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${number}.json`), JSON.stringify(stay, undefined, 2));
  return number;
}
