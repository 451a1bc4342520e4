import { EXTENSIONS } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aFolder, inContext, startCoder } from "../coder-agent/a-coder.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls } from "../loop/scripts.ts";

const address = needsPostgres();

test("coding agents on one database share their sessions, with modes, and what is always approved", async () => {
  const folder = { ...aFolder(), database: await address() };
  const write = (path: string) => calls("write_file", { path, content: "x" });
  const a = await startCoder(folder, { model: scriptedModel([write("a.txt"), "Done."]) });
  const b = await startCoder(
    { ...folder, data: join(folder.data, "../other") },
    { model: scriptedModel([write("b.txt"), "Done."]) },
  );
  const [atA, atB] = [a, b].map(({ client }) => client.activating(EXTENSIONS.approvals.uri));

  const asked = await atA!.send(inContext("talk", "write"));
  const parts = [answerTo(openApprovals(asked)[0]!, { option: "always" })];
  await atA!.send({ taskId: asked.id, parts });
  const written = await atB!.send(inContext("other", "write"));
  await atB!.send(inContext("talk", "/mode plan"));
  const mode = await atA!.send(inContext("talk", "/mode"));
  const { json } = await atA!.post("/executeCommand", { command: "sessions list" });

  expect(asked.status.state).toBe("input-required");
  expect(written.status.state).toBe("completed");
  expect(JSON.stringify(mode)).toContain("The mode is plan.");
  expect((json as { data: readonly object[] }).data).toMatchObject([
    { contextId: "talk" },
    { contextId: "other" },
  ]);
});
