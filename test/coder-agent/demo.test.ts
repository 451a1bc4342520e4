import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { textOfParts, type Task } from "@convoke/protocol";
import { expect, test } from "vitest";
import { saying } from "../coder-wire/a-coder-client.ts";
import { aFolder, inContext, serveCoder } from "./a-coder.ts";

function answerOf({ artifacts = [] }: Task): string {
  return artifacts.map(({ parts }) => textOfParts(parts)).join("");
}

test("without a key, the demo model lists, reads, searches, writes, edits and runs, with approvals", async () => {
  const folder = aFolder({ "README.md": "Hello foo\n" });
  const client = await serveCoder(folder);
  const file = join(folder.root, "a.txt");
  const approve = async (task: Task): Promise<Task> => {
    expect(task.status.state).toBe("input-required");
    return client.send({ taskId: task.id, ...saying("approve") });
  };

  expect(answerOf(await client.send(inContext("talk", "list")))).toContain("README.md");
  expect(answerOf(await client.send(inContext("talk", "read README.md")))).toContain("Hello foo");
  expect(answerOf(await client.send(inContext("talk", "search foo")))).toContain("README.md");
  await approve(await client.send(inContext("talk", "write a.txt: hello")));
  expect(readFileSync(file, "utf8")).toBe("hello\n");
  await approve(await client.send(inContext("talk", "edit a.txt: hello -> bye")));
  expect(readFileSync(file, "utf8")).toBe("bye\n");
  const ran = await approve(await client.send(inContext("talk", "run touch b.txt && cat a.txt")));
  expect(answerOf(ran)).toContain("bye");
  const undone = await client.send(inContext("talk", "/undo files"));
  expect(answerOf(undone)).toBe("Deleted b.txt.");
  expect(existsSync(join(folder.root, "b.txt"))).toBe(false);
});
