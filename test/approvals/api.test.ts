import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createMemoryBackend } from "@convoke/engine/memory";
import { digestArguments, inputRequired, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { Webhook } from "../push/a-webhook.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { aGuardedTool } from "./a-guarded-tool.ts";
import { APPROVALS, Client, servedAgent, structuredClient, until } from "./a-served-agent.ts";

interface Listed {
  readonly id: string;
  readonly taskId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a client receives, page by page. */
async function listed(client: Client, query = ""): Promise<readonly (readonly Listed[])[]> {
  const pages: (readonly Listed[])[] = [];
  for (let token = ""; ;) {
    const { body } = await client.fetch(`/convoke/approvals?pageToken=${token}${query}`);
    pages.push(body["approvals"] as readonly Listed[]);
    token = String(body["nextPageToken"]);
    if (token === "") return pages;
  }
}

/** An agent that deletes what each of its tasks names, after an approval. */
function deletingModel(tasks: number) {
  const turns = Array.from({ length: tasks }, (_, place) => [
    calls("delete", { path: `a${place}` }),
    calls("delete", { path: `b${place}` }),
  ]);
  return scriptedModel([...turns, ...turns.map(() => "Done.")]);
}

describe("GET /convoke/approvals", () => {
  verifies(
    "G11",
    "lists every pending approval of the caller's tasks, also after a restart",
    async () => {
      const folder = temporaryFolder();
      const { guarded } = aGuardedTool({
        confirm: () => ({ title: "Delete it", prompt: "For ever.", risk: "danger" }),
      });
      const definition = {
        model: scriptedModel([calls("delete", { path: "a" })]),
        tools: [guarded],
        approvals: { expiresInMs: 3_600_000 },
      };
      const open = { openBackend: () => openSqliteBackend({ folder }) };
      const first = await servedAgent(definition, open);
      const task = await new Client(first).send("go");
      await first.close();
      const agent = await servedAgent(definition, open);

      const { status, body } = await new Client(agent).fetch("/convoke/approvals");

      expect(status).toBe(200);
      expect(body).toEqual({
        approvals: [
          {
            id: expect.stringContaining(task.id),
            taskId: task.id,
            contextId: task.contextId,
            agentId: expect.any(String),
            title: "Delete it",
            prompt: "For ever.",
            risk: "danger",
            tool: "delete",
            arguments: { path: "a" },
            digest: digestArguments({ path: "a" }),
            options: ["once", "reject", "edit"],
            createdAt: expect.stringMatching(/Z$/),
            expiresAt: expect.stringMatching(/Z$/),
          },
        ],
        nextPageToken: "",
      });
    },
  );

  test("keeps those of one task together, page by page, and omits tasks that wait for something else", async () => {
    const { guarded } = aGuardedTool();
    const asking = tool({ name: "asking", description: "Asks.", run: () => inputRequired("?") });
    const tasks = 5;
    const turns = Array.from({ length: tasks }, (_, place) => [
      calls("delete", { path: `a${place}` }),
      calls("delete", { path: `b${place}` }),
    ]);
    const model = scriptedModel([...turns, calls("asking"), "Nothing."]);
    const agent = await servedAgent({ model, tools: [guarded, asking] });
    const client = structuredClient(agent);
    for (let place = 0; place < tasks + 2; place++) await client.send("go");

    const pages = await listed(client, "&pageSize=3");

    expect(pages.map((page) => page.length)).toEqual([4, 4, 2]);
    expect(pages.flat().map(({ arguments: { path } }) => path)).toEqual(
      [4, 3, 2, 1, 0].flatMap((place) => [`a${place}`, `b${place}`]),
    );
  });

  test("also limits a page by bytes, and lists each approval once", async () => {
    const { guarded } = aGuardedTool();
    const paths = [4, 3, 2, 1, 0].map((place) => `${place}${"x".repeat(3000)}`);
    const model = scriptedModel(paths.toReversed().map((path) => calls("delete", { path })));
    const agent = await servedAgent({ model, tools: [guarded] }, { limits: { pageBytes: 16_000 } });
    const client = structuredClient(agent);
    for (const _ of paths) await client.send("go");

    const pages = await listed(client);

    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat().map(({ arguments: { path } }) => path)).toEqual(paths);
  });

  test("lists nothing of other owners, and nothing for callers that the guard rejects", async () => {
    const { guarded } = aGuardedTool();
    const model = deletingModel(1);
    const agent = await servedAgent(
      { model, tools: [guarded] },
      { token: "secret", tenants: ["acme"] },
    );
    const authorization = "Bearer secret";
    const owner = new Client(agent, { authorization, "a2a-version": "1.0" });
    await owner.rpc("SendMessage", {
      tenant: "acme",
      message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "go" }] },
    });

    expect(await listed(owner, "&tenant=acme")).toMatchObject([[{}, {}]]);
    expect(await listed(owner)).toEqual([[]]);
    expect(await owner.fetch("/convoke/approvals?tenant=other")).toMatchObject({ status: 400 });
    expect(await new Client(agent).fetch("/convoke/approvals")).toMatchObject({ status: 401 });
  });

  test.each([
    ["?pageSize=0", "pageSize must be a whole number from 1 to 100"],
    ["?pageToken=x", "pageToken is not a token of an earlier page"],
  ])("rejects %s: %s", async (query, problem) => {
    const agent = await servedAgent({ model: scriptedModel([]) });

    const { status, body } = await new Client(agent).fetch(`/convoke/approvals${query}`);

    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(problem);
  });
});

/** One pending approval, and a client that supports data parts. */
async function waiting() {
  const { guarded, ran } = aGuardedTool();
  const model = scriptedModel([calls("delete", { path: "a" }), "Done."]);
  const agent = await servedAgent({ model, tools: [guarded] });
  const client = structuredClient(agent);
  const task = await client.send("go");
  const [approval] = openApprovals(task);
  const path = `/convoke/approvals/${encodeURIComponent(approval!.id)}:answer`;
  return { client, agent, task, approval: approval!, path, ran, model };
}

describe("POST /convoke/approvals/{id}:answer", () => {
  verifies(
    "G11",
    "is equivalent to the message with the answer, and is accepted once",
    async () => {
      const { client, task, approval, path, ran } = await waiting();

      const answered = await client.fetch(path, { decision: "once" });

      expect(answered).toEqual({
        status: 200,
        body: { id: approval.id, taskId: task.id, contextId: task.contextId, decision: "once" },
      });
      const done = await until(client, task.id, "completed");
      expect(ran).toEqual([{ path: "a" }]);
      expect(done.history?.at(-1)?.parts).toEqual([
        {
          kind: "data",
          data: { approvalId: approval.id, digest: approval.digest, option: "once" },
          metadata: { [APPROVALS]: { type: "approval-answer" } },
        },
      ]);
      const again = await client.fetch(path, { decision: "once" });
      expect(again.status).toBe(400);
      expect(JSON.stringify(again.body)).toContain(
        "is not a pending approval: it was decided or withdrawn",
      );
      expect(await listed(client)).toEqual([[]]);
    },
  );

  verifies(
    "loop-L13",
    "from a caller that was asked in text approves it, for the whole conversation",
    async () => {
      const { guarded, ran } = aGuardedTool();
      const script = ["a", "b"].map((path) => calls("delete", { path }));
      const model = scriptedModel([script[0]!, "Done.", script[1]!, "Again."]);
      const agent = await servedAgent({ model, tools: [guarded] });
      const client = new Client(agent);
      const task = await client.send("go");
      const [[one]] = (await listed(client)) as [[Listed]];

      await client.fetch(`/convoke/approvals/${one.id}:answer`, { decision: "conversation" });
      const done = await until(client, task.id, "completed");
      await client.send("more", { contextId: task.contextId });

      expect(ran).toEqual([{ path: "a" }, { path: "b" }]);
      // It is recorded as text as well, for readers that support only text.
      const parts = (done.history ?? []).flatMap((message) =>
        message.role === "agent" ? message.parts : [],
      );
      expect(new Set(parts.map(({ kind }) => kind))).toEqual(new Set(["text"]));
    },
  );

  test("rejects with the caller's text, and runs edited arguments instead", async () => {
    const rejected = await waiting();
    await rejected.client.fetch(rejected.path, { decision: "reject", feedback: "keep it" });
    await until(rejected.client, rejected.task.id, "completed");
    expect(resultsTold(rejected.model.requests)).toEqual([
      "Not run: the user rejected it, and says: keep it",
    ]);

    const edited = await waiting();
    await edited.client.fetch(edited.path, { decision: "edit", arguments: { path: "b" } });
    await until(edited.client, edited.task.id, "completed");
    expect(edited.ran).toEqual([{ path: "b" }]);
  });

  test.each<[unknown, string]>([
    [{}, "decision must be one of once, conversation, always, reject, edit"],
    [[], 'body must be an object such as {\\"decision\\": \\"once\\"}'],
    [{ decision: "yes" }, "decision must be one of once"],
    [{ decision: "reject", feedback: 7 }, "feedback must be a string"],
    [{ decision: "once", feedback: "x" }, "body.feedback goes with the option reject alone"],
    [{ decision: "edit" }, "body.arguments is required with the option edit"],
    [{ decision: "edit", arguments: "x" }, "body.arguments must be an object"],
    [{ decision: "once", taskId: "t9" }, "is not a pending approval"],
    [
      { decision: "once", digest: digestArguments({ path: "b" }) },
      "body.digest is not that of the call that waits",
    ],
  ])("with %j is rejected: %s", async (body, problem) => {
    const { client, task, path, ran } = await waiting();

    const refused = await client.fetch(path, body);

    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain(problem);
    expect(await client.get(task.id)).toEqual(task);
    expect(ran).toEqual([]);
  });

  test("of two concurrent ones accepts one", async () => {
    const { client, task, path, ran } = await waiting();

    const answers = await Promise.all([
      client.fetch(path, { decision: "once" }),
      client.fetch(path, { decision: "reject" }),
      client.fetch(path, { decision: "edit", arguments: { path: "b" } }),
    ]);

    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(["200", "400", "400"]);
    await until(client, task.id, "completed");
    expect(ran.length).toBeLessThanOrEqual(1);
  });

  test("accepts only POST, and requires a URL-encoded id", async () => {
    const { client, path } = await waiting();

    expect(await client.fetch(path)).toMatchObject({ status: 405 });
    expect(await client.fetch("/convoke/approvals", {})).toMatchObject({ status: 405 });
    expect(await client.fetch("/convoke/approvals/%zz:answer", {})).toMatchObject({ status: 400 });
  });
});

verifies(
  "G12",
  "an approval is pushed with its question, as data if the caller supports it",
  async () => {
    const webhook = await Webhook.start();
    const { guarded } = aGuardedTool();
    const agent = await servedAgent(
      { model: deletingModel(1), tools: [guarded] },
      { push: { allow: ["127.0.0.1"] }, openBackend: async () => createMemoryBackend() },
    );

    await structuredClient(agent).rpc("message/send", {
      message: {
        kind: "message",
        messageId: "m1",
        role: "user",
        parts: [{ kind: "text", text: "go" }],
      },
      configuration: { pushNotificationConfig: { url: webhook.url } },
    });

    await expect.poll(() => JSON.stringify(webhook.bodies)).toContain("input-required");
    const { status } = webhook.bodies.at(-1) as {
      readonly status: { readonly message: { readonly parts: readonly object[] } };
    };
    expect(status.message.parts).toMatchObject([
      { kind: "text" },
      { kind: "data", metadata: { [APPROVALS]: { type: "approval-request" } } },
      {
        kind: "data",
        metadata: { [APPROVALS]: { type: "approval-request" } },
        data: { tool: { name: "delete", arguments: { path: "b0" } } },
      },
    ]);
  },
);
