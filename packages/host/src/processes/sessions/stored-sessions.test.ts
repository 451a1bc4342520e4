import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { StoredSessions, sessionKey } from "./stored-sessions.ts";

test("a deleted session is not found any more, also after a restart, and others are", () => {
  const folder = mkdtempSync(join(tmpdir(), "convoke-sessions-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [ann, bob] = ["ann", "bob"].map((owner) => sessionKey({ owner, contextId: "c" }));
  const sessions = new StoredSessions(folder);
  sessions.store(ann!, "session-a");
  sessions.store(bob!, "session-b");

  sessions.delete(ann!);

  for (const opened of [sessions, new StoredSessions(folder)]) {
    expect([opened.find(ann!), opened.find(bob!)]).toEqual([undefined, "session-b"]);
  }
});
