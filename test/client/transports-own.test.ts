import { randomUUID } from "node:crypto";
import {
  type A2APart,
  type Binding,
  EXTENSIONS,
  type ProtocolVersion,
  type PublicEvent,
  RemoteError,
} from "@convoke/protocol";
import { type BindingName, type ListOptions, type RemoteAgent, connect } from "@convoke/client";
import type { Interceptor } from "@convoke/server";
import { beforeAll, describe, expect, test } from "vitest";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

/** The requests that the server decoded, newest last. */
const seen: { operation: string; request: unknown; extensions: readonly string[] }[] = [];
const record: Interceptor = (next) => ({
  call(operation, request, context) {
    seen.push({ operation, request, extensions: [...context.extensions] });
    return next.call(operation, request, context);
  },
  stream(operation, request, context) {
    seen.push({ operation, request, extensions: [...context.extensions] });
    return next.stream(operation, request, context);
  },
});

const server = useServer(conformanceAgent(), {
  push: { allow: ["127.0.0.1"] },
  interceptors: [record],
});
const silent = useServer(conformanceAgent(), { push: false });

const WAYS: readonly (readonly [BindingName, ProtocolVersion, Binding])[] = [
  ["jsonrpc", "0.3", "JSONRPC"],
  ["rest", "0.3", "HTTP+JSON"],
  ["grpc", "0.3", "GRPC"],
  ["jsonrpc", "1.0", "JSONRPC"],
  ["rest", "1.0", "HTTP+JSON"],
  ["grpc", "1.0", "GRPC"],
];

const PARTS: readonly A2APart[] = [
  { kind: "text", text: "grüß dich 👋" },
  { kind: "data", data: { deep: { list: [1, "two", null, true] } } },
  { kind: "file", file: { name: "a.bin", mimeType: "application/x-test", bytes: "AAEC/w==" } },
  { kind: "file", file: { name: "b.txt", mimeType: "text/plain", uri: "https://files.test/b" } },
];

describe.each(WAYS)("an agent called via %s in %s", (name, version, binding) => {
  let remote: RemoteAgent;
  let mute: RemoteAgent;

  beforeAll(async () => {
    remote = await connect(server.url, { bindings: [name], version });
    mute = await connect(silent.url, { bindings: [name], version });
    return () => {
      remote.close();
      mute.close();
    };
  });

  verifies(["v1-C2", "v03-C1"], "is called at the matching interface of its card", () => {
    expect(remote).toMatchObject({ name: "Parrot", version, binding });
  });

  verifies(["v03-C2"], "returns text, data and files as they were sent", async () => {
    const { task, text } = await remote.send(PARTS);

    expect(task?.status.state).toBe("completed");
    expect(task?.artifacts?.[0]?.parts).toEqual(PARTS);
    expect(text).toBe("grüß dich 👋");
    expect(await remote.get(task?.id ?? "")).toMatchObject({ id: task?.id, artifacts: [{}] });
  });

  test("receives the output modes, the history length, the metadata and the extensions of a call", async () => {
    const extensions = [EXTENSIONS.skill.uri];
    const metadata = { tier: "gold", list: [1, { deep: true }] };
    const options = { acceptedOutputModes: ["text/plain"], historyLength: 1, metadata };
    const expected = {
      request: options,
      extensions: expect.arrayContaining(extensions) as unknown,
    };

    const { task } = await remote.send("ask", { ...options, extensions });
    expect(seen.at(-1)).toMatchObject({ operation: "sendMessage", ...expected });
    const { id: taskId = "", contextId } = task ?? {};
    await remote.stream("this", { ...options, extensions, taskId, contextId }).result;
    expect(seen.at(-1)).toMatchObject({ operation: "sendStreamingMessage", ...expected });
    await remote.conversation(options).say("ask", { metadata: { tier: "tin" }, extensions }).result;
    expect(seen.at(-1)).toMatchObject({
      ...expected,
      request: { ...options, metadata: { tier: "tin" } },
    });

    const got = await remote.get(taskId, { historyLength: 1, metadata, extensions });
    expect(got.history).toHaveLength(1);
    expect(seen.at(-1)).toMatchObject({ operation: "getTask", extensions: expected.extensions });
    const carriesMetadata = name === "jsonrpc" && version === "0.3";
    expect(seen.at(-1)?.request).toEqual({
      taskId,
      historyLength: 1,
      ...(carriesMetadata && { metadata }),
    });
    if (version === "1.0") {
      await remote.list({ historyLength: 1, contextId, extensions } as ListOptions);
      expect(seen.at(-1)).toMatchObject({
        operation: "listTasks",
        request: { historyLength: 1, contextId },
        extensions: expected.extensions,
      });
    }
  });

  test("streams, with a cursor for each event, and resumes after one", async () => {
    const seen: [PublicEvent, string | undefined][] = [];
    const run = remote.stream("count 4");
    for await (const event of run) seen.push([event, run.lastEventId]);
    const [, [, cursor] = []] = seen;
    const taskId = run.taskId ?? "";

    const rest: PublicEvent[] = [];
    for await (const event of remote.subscribe(taskId, { lastEventId: cursor })) rest.push(event);

    expect((await run.result).text).toBe("1 2 3 4");
    expect(new Set(seen.map(([, id]) => id)).size).toBe(seen.length);
    expect(rest).toEqual(seen.slice(2).map(([event]) => event));
  });

  test("asks, is answered, and can be canceled", async () => {
    const asked = await remote.send("ask");
    const { taskId, contextId } = { taskId: asked.task?.id, contextId: asked.task?.contextId };
    expect(asked.task?.status.state).toBe("input-required");

    const answered = await remote.send("this", { taskId, contextId });
    expect(answered.text).toBe("you said this");

    const waiting = await remote.send("ask", { wait: false });
    const canceled = await remote.cancel(waiting.task?.id ?? "");
    expect(canceled.status.state).toBe("canceled");
  });

  test("creates, returns, lists and deletes push configs with any id", async () => {
    const { task } = await remote.send("ask");
    const taskId = task?.id ?? "";
    const url = "http://127.0.0.1:9/hook";
    const target = { id: "a/b c%2F?ü#:cancel", url, token: "t" };

    const set = await remote.push.set(taskId, target);
    const unnamed = await remote.push.set(taskId, { url });

    expect(set).toEqual({ taskId, ...target });
    expect(await remote.push.get(taskId, target.id)).toEqual(set);
    expect((await remote.push.list(taskId)).map(({ id }) => id).toSorted()).toEqual(
      [target.id, unnamed.id].toSorted(),
    );
    await remote.push.delete(taskId, target.id);
    await remote.push.delete(taskId, target.id);
    expect(await remote.push.list(taskId)).toHaveLength(1);
    await remote.cancel(taskId);
  });

  verifies(["v03-C3"], "returns the same errors as every other binding", async () => {
    const { task } = await mute.send("done");
    const taskId = task?.id ?? "";
    const url = "https://hooks.test/";

    await expectError(mute.get("no-such-task"), { code: -32001, reason: "TaskNotFound" });
    await expectError(mute.cancel(taskId), { code: -32002, reason: "TaskNotCancelable" });
    await expectError(mute.push.set(taskId, { url }), {
      code: -32003,
      reason: "PushNotificationNotSupported",
    });
    await expectError(mute.send("again", { taskId }), {
      code: -32004,
      reason: "UnsupportedOperation",
    });
    await expectError(mute.send([]), { code: -32602, reason: "InvalidParams" });
  });

  test("lists tasks if its version can", async () => {
    const contextId = randomUUID();
    await remote.send("one", { contextId });
    if (version === "0.3") {
      await expect(remote.list({ contextId })).rejects.toThrow(/list/i);
      return;
    }

    const page = await remote.list({
      contextId,
      state: "completed",
      includeArtifacts: true,
      statusTimestampAfter: "2020-01-01T00:00:00.000Z",
    });

    expect(page.tasks).toMatchObject([{ contextId, artifacts: [{ artifactId: "echo" }] }]);
    expect(page).toMatchObject({ nextPageToken: "", totalSize: 1 });
  });

  test("an abort ends a call and a stream, and the task continues", async () => {
    const gate = randomUUID();
    const controller = new AbortController();
    const { signal } = controller;
    const run = remote.stream(`wait ${gate}`, { signal });
    const reading = (async () => {
      for await (const event of run)
        if (event.kind === "artifact-update") controller.abort(new Error("enough"));
    })();

    await expect(reading).rejects.toThrow("enough");
    expect((await remote.get(run.taskId ?? "")).status.state).toBe("working");
    await remote.cancel(run.taskId ?? "");
  });
});

describe.each(["jsonrpc", "rest", "grpc"] as const)("a tenant called via %s", (name) => {
  const shared = useServer(conformanceAgent(), { tenants: ["acme", "beta"] });

  verifies(["v1-C2"], "sees its own tasks and no other", async () => {
    const at = (tenant?: string) => connect(shared.url, { bindings: [name], tenant });
    const [acme, beta, nobody] = [await at("acme"), await at("beta"), await at()];
    const { task } = await acme.send("hello");
    const taskId = task?.id ?? "";

    expect((await acme.get(taskId)).id).toBe(taskId);
    await expectError(beta.get(taskId), { code: -32001, reason: "TaskNotFound" });
    await expectError(nobody.get(taskId), { code: -32001, reason: "TaskNotFound" });
    await expect(at("gamma")).rejects.toThrow(
      "no interface for " + name + ' for the tenant "gamma"',
    );
    for (const remote of [acme, beta, nobody]) remote.close();
  });
});

async function expectError(
  promise: Promise<unknown>,
  expected: Pick<RemoteError, "code" | "reason">,
): Promise<void> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RemoteError);
  expect(error).toMatchObject(expected);
}
