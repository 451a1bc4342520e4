import { EXTENSIONS, textOf } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "./dialect.ts";
import { faultOf } from "./rpc.ts";
import { countTo } from "./story.ts";
import { WireClient } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

for (const dialect of DIALECTS) {
  const { version, atOnce } = dialect;

  describe(`a send in ${version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    verifies(["R8", "R9"], "waits for the answer by default", async () => {
      const task = await client.sendTask("slow 5");

      expect(task.status.state).toBe("completed");
      expect(textOf(task)).toBe(countTo(5));
    });

    verifies("R9", "waits if requested", async () => {
      const waiting = version === "0.3" ? { blocking: true } : { returnImmediately: false };

      const task = await client.sendTask("slow 5", { configuration: waiting });

      expect(task.status.state).toBe("completed");
    });

    verifies("R9", "waits until the caller is needed", async () => {
      const asked = await client.sendTask("ask");
      const gated = await client.sendTask("auth");

      expect(asked.status).toMatchObject({
        state: "input-required",
        message: { role: "agent", parts: { 0: { text: "What is your name?" } } },
      });
      expect(gated.status.state).toBe("auth-required");
    });

    verifies("R9", "returns immediately if requested, with an unfinished task", async () => {
      const task = await client.sendTask("slow 30", { configuration: atOnce });

      expect(["submitted", "working"]).toContain(task.status.state);
      await expect
        .poll(async () => (await client.get(task.id)).status.state, { timeout: 20_000 })
        .toBe("completed");
      expect(textOf(await client.get(task.id))).toBe(countTo(30));
    });

    verifies(["R8", "R43"], "returns a single message if there is no task", async () => {
      for (const configuration of [{}, atOnce]) {
        const result = client.resultOf(await client.send("message", { configuration }));

        expect(result).toMatchObject({
          kind: "message",
          role: "agent",
          contextId: expect.any(String) as string,
          parts: [{ text: "This is one message, and there is no task behind it." }],
        });
        expect(result).not.toHaveProperty("taskId");
      }
    });

    verifies("R14", "returns as much history as requested", async () => {
      const { id: taskId } = await client.sendTask("ask");
      const answer = (historyLength: number | undefined) =>
        client.sendTask("Ann", {
          message: { taskId, messageId: `m-${version}` },
          configuration: { historyLength },
          headers: { "a2a-extensions": EXTENSIONS.idempotency.uri },
        });

      expect((await answer(undefined)).history?.map(({ role }) => role)).toEqual([
        "user",
        "agent",
        "user",
      ]);
      // The same message again is the same send, and each may request another length.
      expect((await answer(1)).history).toMatchObject([{ parts: [{ text: "Ann" }] }]);
      expect((await answer(2)).history).toHaveLength(2);
      expect((await answer(99)).history).toHaveLength(3);
      expect(await answer(0)).not.toHaveProperty("history");
    });

    verifies(["R14", "R15"], "is read again with as much history as requested", async () => {
      const { id: taskId } = await client.sendTask("ask");
      const task = await client.sendTask("Ann", { message: { taskId } });

      expect(await client.get(taskId)).toEqual(task);
      expect((await client.get(taskId, { historyLength: 1 })).history).toEqual(
        task.history?.slice(-1),
      );
      expect((await client.get(taskId, { historyLength: 99 })).history).toEqual(task.history);
      expect(await client.get(taskId, { historyLength: 0 })).not.toHaveProperty("history");
    });

    verifies("R13", "and every other method accepts metadata", async () => {
      const metadata = { from: "a test", nested: { list: [1] } };
      const { id } = await client.sendTask("slow 1000", { metadata, configuration: atOnce });

      const got = await client.call("get", { id, metadata });
      const stream = await client.open("subscribe", { id, metadata });
      const canceled = await client.call("cancel", { id, metadata });

      expect(got.text).toContain('"result"');
      expect(canceled.text).toContain('"result"');
      await stream.all;
    });
  });

  describe(`a context in ${version}`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    verifies("R11", "is generated if none is given, and returned", async () => {
      const first = await client.sendTask("hello");
      const second = await client.sendTask("hello");

      expect(first.contextId).toMatch(/^[0-9a-f-]{36}$/);
      expect(second.contextId).not.toBe(first.contextId);
      expect(first.history?.[0]).toMatchObject({ contextId: first.contextId, taskId: first.id });
    });

    verifies(["R10", "R11"], "is continued, and the conversation is remembered", async () => {
      const { contextId, id } = await client.sendTask("one");

      const second = await client.sendTask("two", { message: { contextId } });
      const third = await client.sendTask("three", { message: { contextId } });

      expect(second.contextId).toBe(contextId);
      expect(second.id).not.toBe(id);
      expect(textOf(second)).toContain("I remember 1 earlier message(s)");
      expect(textOf(third)).toContain("I remember 2 earlier message(s)");
    });

    verifies("R10", "is created with the id that the caller chose", async () => {
      const contextId = `my context/${version}?ä`;

      const first = await client.sendTask("one", { message: { contextId } });
      const second = await client.sendTask("two", { message: { contextId } });

      expect([first.contextId, second.contextId]).toEqual([contextId, contextId]);
      expect(textOf(first)).not.toContain("remember");
      expect(textOf(second)).toContain("I remember 1 earlier message(s)");
    });

    verifies("R10", "must match the task that the message names", async () => {
      const { id: taskId } = await client.sendTask("ask");

      const answer = await client.send("Ann", { message: { taskId, contextId: "another" } });

      expect(faultOf(answer)).toMatchObject({ code: -32602, field: "message.contextId" });
      expect((await client.get(taskId)).status.state).toBe("input-required");
    });

    verifies("R10", "is the task's own if only the task is named", async () => {
      const { id: taskId, contextId } = await client.sendTask("ask");

      const task = await client.sendTask("Ann", { message: { taskId } });

      expect(task).toMatchObject({ id: taskId, contextId, status: { state: "completed" } });
    });

    if (version === "1.0") {
      test("with an empty id counts as absent, as in ProtoJSON", async () => {
        const task = await client.sendTask("hello", { message: { contextId: "", taskId: "" } });

        expect(task.contextId).toMatch(/^[0-9a-f-]{36}$/);
      });
    }
  });

  describe(`a message in ${version} to a task`, () => {
    const server = useServer();
    const client = new WireClient(server, dialect);

    for (const verb of ["send", "stream"] as const) {
      const refusal = async (taskId: string) => {
        const message = { messageId: "x", role: dialect.user, parts: [dialect.text("more")] };
        const answer = await client.call(verb, { message: { ...message, taskId } });
        return faultOf(answer);
      };

      verifies("R29", `that is unknown is -32001 (${verb})`, async () => {
        expect(await refusal("no-such-task")).toMatchObject({
          code: -32001,
          details: { taskId: "no-such-task" },
        });
      });

      for (const [command, state] of [
        ["hello", "completed"],
        ["fail", "failed"],
        ["reject", "rejected"],
      ] as const) {
        verifies(["R29", "G5"], `that has ${state} is -32004 (${verb})`, async () => {
          const task = await client.sendTask(command);

          const fault = await refusal(task.id);

          expect(fault).toMatchObject({ code: -32004, details: { taskId: task.id, state } });
          expect(await client.get(task.id)).toEqual(task);
        });
      }

      verifies("R29", `that is working is -32004 (${verb})`, async () => {
        const { id } = await client.sendTask("slow 500", { configuration: dialect.atOnce });

        const fault = await refusal(id);

        expect(fault).toMatchObject({ code: -32004, details: { taskId: id, state: "working" } });
        expect((await client.get(id)).history).toHaveLength(1);
        await client.cancel(id);
      });
    }
  });
}
