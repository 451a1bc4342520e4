import { openTree } from "./open-tree.ts";
import type { StoreRecord } from "./store.ts";

/** Everything that is stored in a folder or a database, by the path of each store. */
export async function recordsIn(place: string): Promise<Record<string, readonly StoreRecord[]>> {
  const all: Record<string, StoreRecord[]> = {};
  for (const store of await openTree(place).stores()) {
    const source = await store.read();
    const records: StoreRecord[] = (all[store.path] = []);
    for await (const record of source.records()) records.push(record);
    await source.close();
    await store.close();
  }
  return all;
}
