import { onTestFinished } from "vitest";
import { DatabaseProxy } from "../../../../test/harness/database-proxy.ts";

/** A connection to the database that can be cut. It ends with the test. */
export async function aCutConnection(url: string): Promise<DatabaseProxy> {
  const proxy = await DatabaseProxy.start(url);
  onTestFinished(() => proxy.close());
  return proxy;
}
