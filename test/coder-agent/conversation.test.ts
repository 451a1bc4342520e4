import { createMemoryBackend } from "@convoke/engine/memory";
import { type Metadata, type Task, textOfParts } from "@convoke/protocol";
import type { ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { verifies } from "../verifies.ts";
import { saying } from "../coder-wire/a-coder-client.ts";
import { calls } from "../loop/scripts.ts";
import { aFolder, inContext, serveCoder } from "./a-coder.ts";

const AUTO_EDIT = { mode: "auto-edit" } as const;

function answerOf({ artifacts = [], status }: Task): string {
  const text = artifacts.map(({ parts }) => textOfParts(parts)).join("");
  return text === "" ? textOfParts(status.message?.parts ?? []) : text;
}

/** Everything that the model was told. */
function toldIn({ transcript }: ModelRequest): string {
  return JSON.stringify(transcript);
}

describe("undo", () => {
  const script = [
    calls("write_file", { path: "a.txt", content: "one\n" }),
    "Wrote one.",
    calls("edit_file", { path: "a.txt", edits: [{ oldText: "one", newText: "two" }] }),
    "Wrote two.",
    "And now?",
  ];

  test("of both returns the files and the conversation to the state before the last change", async () => {
    const folder = aFolder();
    const model = scriptedModel(script);
    const client = await serveCoder(folder, { model, policy: AUTO_EDIT });
    await client.send(inContext("talk", "write one"));
    await client.send(inContext("talk", "now two"));

    const undone = await client.send(inContext("talk", "/undo"));
    await client.send(inContext("talk", "go on"));

    expect(undone.status.state).toBe("completed");
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("one\n");
    const told = toldIn(model.requests.at(-1)!);
    expect(told).toContain("Wrote one.");
    expect(told).not.toContain("Wrote two.");
    expect(told).not.toContain("now two");
    expect(told).not.toContain("/undo");
  });

  test("of the conversation leaves the files, and of the files leaves the conversation", async () => {
    const folder = aFolder();
    const model = scriptedModel(script);
    const client = await serveCoder(folder, { model, policy: AUTO_EDIT });
    await client.send(inContext("talk", "write one"));
    await client.send(inContext("talk", "now two"));

    await client.send(inContext("talk", "/undo conversation"));
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("two\n");
    await client.send(inContext("talk", "/undo files"));
    expect(readFileSync(join(folder.root, "a.txt"), "utf8")).toBe("one\n");
    await client.send(inContext("talk", "go on"));

    expect(toldIn(model.requests.at(-1)!)).not.toContain("Wrote two.");
  });

  test("restore lists the checkpoints, and takes only the ids in the list", async () => {
    const folder = aFolder({ "secret.json": "{}" });
    const client = await serveCoder(folder, { model: scriptedModel(script), policy: AUTO_EDIT });
    await client.send(inContext("talk", "write one"));

    const { json } = await client.post("/executeCommand", {
      command: "restore list",
      contextId: "talk",
    });
    const { data } = json as { data: readonly { id: string; label: string }[] };
    expect(data).toMatchObject([{ label: "write_file a.txt" }]);
    for (const wrong of ["../../secret", "../secret.json", `../checkpoints/${data[0]!.id}`]) {
      const task = await client.send(inContext("talk", `/restore ${wrong}`));
      expect(task.status.state).toBe("rejected");
      expect(answerOf(task)).toBe(`checkpoint: there is no ${JSON.stringify(wrong)}`);
    }
    const restored = await client.send(inContext("talk", `/restore ${data[0]!.id} files`));
    expect(answerOf(restored)).toBe("Deleted a.txt.");
    expect(existsSync(join(folder.root, "a.txt"))).toBe(false);
  });

  test("diff shows what the conversation has changed", async () => {
    const folder = aFolder({ "a.txt": "zero\n" });
    const model = scriptedModel([
      calls("edit_file", { path: "a.txt", edits: [{ oldText: "zero", newText: "one" }] }),
      "Done.",
    ]);
    const client = await serveCoder(folder, { model, policy: AUTO_EDIT });
    await client.send(inContext("talk", "go"));

    const diff = answerOf(await client.send(inContext("talk", "/diff")));

    expect(diff).toContain("--- a/a.txt");
    expect(diff).toContain("-zero\n+one");
  });
});

describe("modes", () => {
  test("change during a conversation, and never exceed the limit of the server", async () => {
    const folder = aFolder({ "a.txt": "one\n" });
    const write = calls("write_file", { path: "b.txt", content: "b\n" });
    const model = scriptedModel([write, "Denied.", write, "Done."]);
    const policy = { mode: "ask", maxMode: "auto-edit" } as const;
    const client = await serveCoder(folder, { model, policy });

    await client.send(inContext("talk", "/mode plan"));
    // A wish that exceeds the limit leaves the mode as it is: the call is denied, and not asked for.
    const metadata = { coderAgent: { kind: "agent-settings", autoExecute: true } };
    const denied = await client.send({ ...inContext("talk", "write"), metadata });
    expect(denied.status.state).toBe("completed");
    expect(existsSync(join(folder.root, "b.txt"))).toBe(false);

    const refused = await client.send(inContext("talk", "/mode full"));
    expect(refused.status.state).toBe("rejected");
    expect(answerOf(refused)).toContain("at most auto-edit");

    await client.send(inContext("talk", "/mode auto-edit"));
    await client.send(inContext("talk", "write"));
    expect(existsSync(join(folder.root, "b.txt"))).toBe(true);
  });

  verifies(
    ["R69"],
    "autoExecute runs without questions only if the policy allows full",
    async () => {
      const settings = { kind: "agent-settings", autoExecute: true };
      for (const maxMode of ["full", "auto-edit"] as const) {
        const folder = aFolder({ "a.txt": "one\n" });
        const model = scriptedModel([calls("delete_file", { path: "a.txt" }), "Done."]);
        const client = await serveCoder(folder, { model, policy: { mode: "ask", maxMode } });

        const task = await client.send({ ...saying("go"), metadata: { coderAgent: settings } });

        expect(task.status.state).toBe(maxMode === "full" ? "completed" : "input-required");
        expect(existsSync(join(folder.root, "a.txt"))).toBe(maxMode !== "full");
      }
    },
  );
});

test("a message can ask for one of the models, and a model that the agent does not have changes nothing", async () => {
  const model = {
    small: scriptedModel(["I am small."]),
    large: scriptedModel(["Large.", "Still."]),
  };
  const client = await serveCoder(aFolder(), { model });
  const send = (name: string) =>
    client.send({
      ...inContext("talk", "who are you?"),
      metadata: { coderAgent: { kind: "agent-settings", model: name } },
    });
  const status = async () => {
    const asked = { command: "status", contextId: "talk" };
    return ((await client.post("/executeCommand", asked)).json as { data: Metadata }).data;
  };

  expect(await status()).toMatchObject({ model: "small", models: ["small", "large"], mode: "ask" });
  expect(answerOf(await send("large"))).toBe("Large.");
  expect(answerOf(await send("huge"))).toBe("Still.");
  expect(await status()).toMatchObject({ model: "large", usage: { turns: 2 } });
});

describe("a workspace", () => {
  const settings = (workspacePath: string) => ({
    metadata: { coderAgent: { kind: "agent-settings", workspacePath, isTrusted: true } },
  });

  test("is the caller's wish if it is in an allowed root, and otherwise the server's", async () => {
    const [server, other, outside] = [aFolder(), aFolder({ "here.txt": "" }), aFolder()];
    const model = "demo";
    const client = await serveCoder(server, { model, allowedRoots: [other.root] });

    const allowed = await client.send({ ...saying("list"), ...settings(other.root) });
    const refused = await client.send({ ...saying("list"), ...settings(outside.root) });

    expect(answerOf(allowed)).toContain("here.txt");
    expect(refused.status.state).toBe("completed");
    expect(answerOf(refused)).not.toContain("here.txt");
    const { contextId } = allowed;
    const later = await client.send({ contextId, ...saying("list"), ...settings(server.root) });
    expect(answerOf(later)).toContain("here.txt");
  });

  test("that does not exist is the caller's error, and the next message may choose another", async () => {
    const [server, other] = [aFolder(), aFolder({ "here.txt": "" })];
    const client = await serveCoder(server, { allowedRoots: [other.root] });

    const missing = { ...inContext("talk", "list"), ...settings(join(other.root, "gone")) };
    const failed = await client.send(missing);
    const fixed = await client.send({ ...inContext("talk", "list"), ...settings(other.root) });

    expect(answerOf(failed)).toContain("workspacePath: ");
    expect(answerOf(fixed)).toContain("here.txt");
  });

  test("has its tools in the metadata of a task before the first message", async () => {
    const client = await serveCoder(aFolder());
    const { json: id } = await client.post("/tasks", {});

    await vi.waitFor(
      async () => {
        const { json } = await client.get(`/tasks/${String(id)}/metadata`);
        const { model, availableTools } = json as Metadata & { availableTools: { name: string }[] };
        expect(model).toBe("demo");
        expect(availableTools.map(({ name }) => name)).toContain("edit_file");
      },
      { timeout: 30_000 },
    );
  });

  test("that only a caller trusts is quoted to the model; one that the server trusts instructs it", async () => {
    const files = {
      "AGENTS.md": "Use tabs.",
      "src/CLAUDE.md": "Nested notes.",
      "src/a.ts": "a",
      ".convoke/commands/ship.md": "---\ndescription: Ship it\n---\nShip $1 now.",
    };
    for (const workspacePolicy of ["restrict", "trust"] as const) {
      const folder = aFolder(files);
      const model = scriptedModel([calls("read_file", { path: "src/a.ts" }), "Done.", "Shipped."]);
      const client = await serveCoder(folder, { model, policy: { workspacePolicy } });
      await client.send({ ...inContext("talk", "go"), ...settings(folder.root) });
      await client.send(inContext("talk", "/ship v1"));
      const [first, second, third] = model.requests;
      const isTrusted = workspacePolicy === "trust";

      expect(first!.instructions!.includes("Use tabs.")).toBe(isTrusted);
      expect(toldIn(first!).includes("Their authors are not trusted")).toBe(!isTrusted);
      const all = `${second!.instructions}${toldIn(second!)}`;
      expect(all).toContain("Nested notes.");
      expect(`${first!.instructions}${toldIn(first!)}`).not.toContain("Nested notes.");
      expect(toldIn(third!).includes("Ship v1 now.")).toBe(isTrusted);
    }
  });
});

test("images and documents of a message reach the model", async () => {
  const model = scriptedModel(["I see."]);
  const client = await serveCoder(aFolder(), { model });
  const image = { name: "a.png", mimeType: "image/png", bytes: "iVBORw0KGgo=" };
  const document = { name: "a.pdf", mimeType: "application/pdf", bytes: "JVBERi0=" };

  await client.send({
    parts: [
      { kind: "text", text: "look" },
      { kind: "file", file: image },
      { kind: "file", file: document },
    ],
  });

  const [entry] = model.requests[0]!.transcript;
  expect(entry).toMatchObject({
    role: "user",
    parts: [{ kind: "text" }, { kind: "file", file: image }, { kind: "file", file: document }],
  });
});

test("an answer to a question with choices reaches the tool that asked", async () => {
  const model = scriptedModel([
    calls("ask_user", { question: "Tabs or spaces?", options: ["tabs", "spaces"] }),
    "Fine.",
  ]);
  const client = await serveCoder(aFolder(), { model });

  const asked = await client.send(saying("go"));
  expect(asked.status.state).toBe("input-required");
  await client.send({ taskId: asked.id, ...saying("tabs") });

  expect(toldIn(model.requests[1]!)).toContain('"answer":"tabs"');
});

describe("a long conversation", () => {
  test("continues with a summary, and the log of the task says what was left out", async () => {
    const model = scriptedModel(["First answer.", "SUMMARY", "Second answer."]);
    const backend = createMemoryBackend();
    const serve = { openBackend: async () => backend };
    const client = await serveCoder(aFolder(), { model, compactAtTokens: 5, serve });
    const first = await client.send(
      inContext("talk", "a first message that is long enough to be summarized"),
    );

    const second = await client.send(inContext("talk", "and a second one"));

    expect(answerOf(second)).toBe("Second answer.");
    const told = toldIn(model.requests[2]!);
    expect(told).toContain("SUMMARY");
    expect(told).not.toContain("a first message");
    expect(told).toContain("and a second one");
    const log = await backend.read(second.id, 0, 1000);
    const events = log.map(({ json }) => JSON.parse(json) as Metadata);
    expect(events.find(({ kind }) => kind === "internal:coder/compacted")).toMatchObject({
      summary: "SUMMARY",
      messages: [expect.any(String), `${first.id}-answer`],
      usage: { inputTokens: expect.any(Number) as number },
    });
  });

  test("is summarized by /compact", async () => {
    const model = scriptedModel(["First answer.", "SUMMARY", "Second answer."]);
    const client = await serveCoder(aFolder(), { model });
    await client.send(inContext("talk", "first"));

    const compacted = await client.send(inContext("talk", "/compact"));
    await client.send(inContext("talk", "second"));

    expect(answerOf(compacted)).toContain("SUMMARY");
    expect(toldIn(model.requests[2]!)).not.toContain("First answer.");
    expect(toldIn(model.requests[2]!)).toContain("SUMMARY");
  });
});

describe("sessions", () => {
  test("are listed with their usage, renamed, forked and deleted", async () => {
    const folder = aFolder();
    const model = scriptedModel(["First answer.", "Forked answer."]);
    const client = await serveCoder(folder, { model });
    await client.send(inContext("talk", "first"));
    await client.send(inContext("talk", "/sessions rename My talk"));

    const forked = await client.send(inContext("talk", "/sessions fork"));
    const [, fork = ""] = /context (\S+)\.$/.exec(answerOf(forked)) ?? [];
    await client.send(inContext(fork, "and now?"));

    expect(toldIn(model.requests[1]!)).toContain("First answer.");
    const list = async () => {
      const { json } = await client.post("/executeCommand", { command: "sessions list" });
      return (json as { data: readonly { contextId: string }[] }).data;
    };
    const sessions = await list();
    const own = sessions.find(({ contextId }) => contextId === "talk");
    expect(own).toMatchObject({ title: "My talk", usage: { turns: 1 } });
    await client.send(inContext("talk", "/sessions delete talk"));
    expect((await list()).map(({ contextId }) => contextId)).not.toContain("talk");
  });
});
