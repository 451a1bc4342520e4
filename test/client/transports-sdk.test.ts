import { type BindingName, type RemoteAgent, connect } from "@convoke/client";
import type { A2APart, PublicEvent } from "@convoke/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import type { SdkServer } from "./sdk-server.ts";
import { startSdkV03 } from "./sdk-server-v03.ts";
import { startSdkV1 } from "./sdk-server-v1.ts";

const BINDINGS: readonly BindingName[] = ["jsonrpc", "rest", "grpc"];

const PARTS: readonly A2APart[] = [
  { kind: "text", text: "grüß dich 👋" },
  { kind: "data", data: { deep: { list: [1, "two", true] } } },
  { kind: "file", file: { name: "a.bin", mimeType: "application/x-test", bytes: "AAEC/w==" } },
  { kind: "file", file: { name: "b.txt", mimeType: "text/plain", uri: "https://files.test/b" } },
];

/** On REST and gRPC 0.3.14 loses the names of files: its proto model has no field for them. */
function asTold(version: string, binding: BindingName): readonly A2APart[] {
  if (version === "1.0" || binding === "jsonrpc") return PARTS;
  return PARTS.map((part) => {
    if (part.kind !== "file") return part;
    const { name: _, ...file } = part.file;
    return { ...part, file };
  });
}

describe.each([
  ["0.3.14", "0.3", startSdkV03],
  ["1.3.0", "1.0", startSdkV1],
] as const)("a server of @a2a-js/sdk %s", (_, version, start) => {
  let server: SdkServer;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(async () => {
    await server.close();
  });

  describe.each(BINDINGS)("via %s", (binding) => {
    let remote: RemoteAgent;

    beforeAll(async () => {
      remote = await connect(server.url, { bindings: [binding], allow: server.allow });
      return () => remote.close();
    });

    verifies(["v03-C1", "v03-C2"], "receives text, data and files, and returns them", async () => {
      expect(remote.version).toBe(version);

      const { task, text } = await remote.send(PARTS);

      expect(task?.status.state).toBe("completed");
      expect(task?.artifacts?.[0]?.parts).toEqual(asTold(version, binding));
      expect(text).toBe("grüß dich 👋");
      expect(await remote.get(task?.id ?? "")).toMatchObject({
        id: task?.id,
        status: { state: "completed" },
      });
    });

    test("streams the same", async () => {
      const seen: PublicEvent[] = [];
      const run = remote.stream(PARTS);
      for await (const event of run) seen.push(event);

      expect(seen.map(({ kind }) => kind)).toEqual([
        "task",
        "status-update",
        "artifact-update",
        "status-update",
      ]);
      const { task } = await run.result;
      expect(task?.artifacts?.[0]?.parts).toEqual(asTold(version, binding));
    });

    test("asks, is canceled, and rejects what it does not know", async () => {
      const { task } = await remote.send("ask");
      expect(task?.status.state).toBe("input-required");

      const canceled = await remote.cancel(task?.id ?? "");

      expect(canceled.status.state).toBe("canceled");
      await expect(remote.get("no-such-task")).rejects.toMatchObject({
        name: "RemoteError",
        code: -32001,
        reason: "TaskNotFound",
      });
    });

    test("stores push configs", async () => {
      const { task } = await remote.send("ask");
      const taskId = task?.id ?? "";
      const url = "https://hooks.test/a";

      const set = await remote.push.set(taskId, { id: "one", url, token: "t" });

      expect(set).toMatchObject({ taskId, id: "one", url });
      expect(await remote.push.get(taskId, "one")).toMatchObject({ taskId, id: "one", url });
      expect(await remote.push.list(taskId)).toHaveLength(1);
      await remote.push.delete(taskId, "one");
      expect(await remote.push.list(taskId)).toEqual([]);
    });

    test("streams an existing task", async () => {
      const { task } = await remote.send("ask");
      const taskId = task?.id ?? "";

      const seen: PublicEvent[] = [];
      for await (const event of remote.subscribe(taskId)) {
        seen.push(event);
        break;
      }

      expect(seen).toMatchObject([
        { kind: "task", id: taskId, status: { state: "input-required" } },
      ]);
    });

    if (version === "1.0") {
      test("lists tasks", async () => {
        const { task } = await remote.send("listed");
        const contextId = task?.contextId;

        const { tasks } = await remote.list({ contextId: contextId ?? "" });

        expect(tasks.map(({ id }) => id)).toEqual([task?.id]);
      });
    }
  });
});
