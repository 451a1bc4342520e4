import { expect } from "vitest";
import { DIALECTS } from "./dialect.ts";
import { WireClient } from "./wire-client.ts";

/** Asserts that an ordinary request still works in both versions. */
export async function expectHealthy(server: { readonly url: string }): Promise<void> {
  for (const dialect of DIALECTS) {
    const task = await new WireClient(server, dialect).sendTask("hello");

    expect(task.status.state).toBe("completed");
  }
}
