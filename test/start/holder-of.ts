import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What the process that serves a data folder reports about itself. */
interface Holder {
  readonly pid: number;
  readonly port: number;
}

export function holderOf(data: string): Holder {
  return JSON.parse(readFileSync(join(data, "holder.json"), "utf8")) as Holder;
}
