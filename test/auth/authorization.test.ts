import {
  A2AError,
  type Caller,
  EXTENSIONS,
  type OperationName,
  type Task,
} from "@convoke/protocol";
import { type Authorize, bearer, defineAgent, oidc } from "convoke";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../conformance/refusal.ts";
import { aRequest } from "../conformance/requests.ts";
import { jsonRpcSpeaker, speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { bodyOf, post, rpcText } from "../wire/rpc.ts";
import { useServer } from "../wire/wire-server.ts";
import { knowingAgent } from "./a-knowing-agent.ts";

const auth = [
  bearer("of-ann", { owner: "ann", scopes: ["read"] }),
  bearer("of-root", { owner: "root", scopes: ["read", "admin"] }),
];
const ann = { authorization: "Bearer of-ann" };
const root = { authorization: "Bearer of-root" };

const agent = defineAgent({
  name: "Careful",
  description: "Has a skill for administrators.",
  skills: [...knowingAgent.info.skills],
  scopes: { skills: { "admin-tools": ["admin", "write"] } },
  run: () => "done",
});

const ADMIN = {
  listApprovals: ["admin"],
  decideApproval: ["admin"],
  listPushes: ["admin"],
  replayPushes: ["admin"],
};

const server = useServer(agent, {
  auth,
  // One list less than in the definition.
  scopes: { skills: { "admin-tools": ["admin"] }, operations: { cancelTask: ["admin"], ...ADMIN } },
});

const SENTENCE = "Forbidden: Insufficient permissions for skill 'admin-tools'";

function asking(metadata: Record<string, unknown>) {
  const request = aRequest("hi");
  return { ...request, message: { ...request.message, metadata } } as typeof request;
}

describe.each(speakersTo(server))("over $binding $version", (speaker) => {
  verifies(["R117", "v1-S55", "v03-S19"], "a skill is for callers with its scopes", async () => {
    for (const metadata of [
      { skillId: "admin-tools" },
      { skill: "admin-tools" },
      { [EXTENSIONS.skill.uri]: { id: "admin-tools" } },
      { skillId: "say", [EXTENSIONS.skill.uri]: { id: "admin-tools" } },
    ]) {
      const request = asking(metadata);
      const refusal = await refusalOf(speaker.with(ann).sendTask(request));
      expect(refusal.message).toBe(SENTENCE);
      expect((await speaker.with(root).sendTask(request)).status.state).toBe("completed");
    }
    for (const metadata of [{}, { skillId: "say" }]) {
      const task = await speaker.with(ann).sendTask(asking(metadata));
      expect(task.status.state).toBe("completed");
    }
  });

  verifies(["R117", "v1-S55"], "a stream is denied like an answer", async () => {
    const request = asking({ skillId: "admin-tools" });

    const { message } = await refusalOf(speaker.with(ann).stream(request).next());

    expect(message).toBe(SENTENCE);
  });

  verifies(
    ["v1-S56", "v03-S19"],
    "an operation is denied before anything is looked up",
    async () => {
      const { id } = await speaker.with(ann).sendTask(aRequest("hi"));
      const cancel = (taskId: string) => refusalOf(speaker.with(ann).cancel({ taskId }));

      const own = await cancel(id);
      const unknown = await cancel("no-such-task");
      const allowed = await refusalOf(speaker.with(root).cancel({ taskId: "no-such-task" }));

      expect(own.message).toBe("Forbidden: Insufficient permissions for operation 'cancelTask'");
      expect(unknown).toEqual(own);
      expect(allowed.reason).toBe("TaskNotFound");
    },
  );
});

verifies(
  ["R117", "seed-C17"],
  "a denial over JSON-RPC is 403 with the id of the request",
  async () => {
    const params = {
      message: {
        messageId: "m1",
        role: "user",
        parts: [{ kind: "text", text: "hi" }],
        metadata: { skillId: "admin-tools" },
      },
    };

    for (const method of ["message/send", "message/stream"]) {
      const answer = await post(server.url, rpcText(method, params), ann);
      expect(answer.status).toBe(403);
      expect(bodyOf(answer)).toMatchObject({
        id: 1,
        error: {
          code: -32603,
          message: SENTENCE,
          data: { reason: "forbidden", missingScopes: "admin" },
        },
      });
    }
  },
);

describe("the challenge of a 403 for missing scopes (RFC 6750 §3.1)", () => {
  const challengeTo = async (path: string, init: RequestInit): Promise<string | null> => {
    const answer = await fetch(server.url + path, init);
    expect(answer.status).toBe(403);
    return answer.headers.get("www-authenticate");
  };
  const denial = 'Bearer realm="convoke", error="insufficient_scope", scope="admin"';
  const message = {
    messageId: "m1",
    role: "ROLE_USER",
    parts: [{ text: "hi" }],
    metadata: { skillId: "admin-tools" },
  };
  const json = { "content-type": "application/json" };

  test.each([
    ["JSON-RPC 0.3", "", rpcText("tasks/cancel", { id: "x" })],
    ["JSON-RPC 1.0", "", rpcText("SendMessage", { message })],
    ["REST 0.3", "v1/tasks/x:cancel", "{}"],
    ["REST 1.0", "message:send", JSON.stringify({ message })],
    ["/convoke/", "convoke/pushes:replay", "{}"],
  ])("names the scopes to a caller with a bearer token, over %s", async (_, path, body) => {
    const init = { method: "POST", headers: { ...ann, ...json }, body };
    expect(await challengeTo(path, init)).toBe(denial);
  });
});

verifies("v1-S56", "what is under /convoke/ needs the scopes of its operation", async () => {
  const answer = JSON.stringify({ decision: "once" });
  for (const [path, init, allowed] of [
    ["convoke/approvals", {}, 200],
    ["convoke/approvals/x:answer", { method: "POST", body: answer }, 400],
    ["convoke/pushes", {}, 200],
    ["convoke/pushes:replay", { method: "POST", body: "{}" }, 200],
  ] as const) {
    const as = async (headers: Record<string, string>): Promise<number> => {
      const type = { "content-type": "application/json" };
      const sent = { ...init, headers: { ...headers, ...type } };
      return (await fetch(server.url + path, sent)).status;
    };
    expect([await as(ann), await as(root)]).toEqual([403, allowed]);
  }
});

describe("a policy of the operator", () => {
  const seen: unknown[] = [];
  const authorize: Authorize = async (caller: Caller, { operation, skills, request }) => {
    await Promise.resolve();
    seen.push([caller.owner, operation, skills]);
    if (operation === "listTasks") return false;
    if (operation === "getTask") throw new A2AError("TooManyRequests", "ann has asked enough");
    const { message } = request as { readonly message: Task["status"]["message"] };
    // Not a word that could be in a random id, such as "bad".
    const isRude = JSON.stringify(message).includes("rude");
    return isRude ? { allow: false, reason: "no rude words" } : true;
  };
  const guarded = useServer(
    defineAgent({ name: "One", description: "One skill.", run: () => "done" }),
    { auth, authorize },
  );

  describe.each(speakersTo(guarded))("over $binding $version", (speaker) => {
    test("allows, denies and says why", async () => {
      const as = speaker.with(ann);

      expect((await as.sendTask(aRequest("good"))).status.state).toBe("completed");
      expect(seen.at(-1)).toEqual(["ann", "sendMessage" satisfies OperationName, ["one"]]);
      expect((await refusalOf(as.sendTask(aRequest("rude")))).message).toBe(
        "Forbidden: no rude words",
      );
      expect((await refusalOf(as.get({ taskId: "x" }))).message).toContain("ann has asked enough");
    });
  });
});

describe("the cards of an agent whose skill needs scopes", () => {
  const identity = { issuer: "https://id.example", audience: "https://agent.example" };
  const withCards = useServer(agent, {
    auth: [oidc(identity), ...auth],
    scopes: { skills: { "admin-tools": ["admin"] } },
    extendedCard: () => ({
      skills: [...agent.info.skills, { ...agent.info.skills[0]!, id: "for-friends" }],
    }),
  });
  const ids = (card: unknown): readonly string[] =>
    (card as { skills: readonly { id: string }[] }).skills.map(({ id }) => id);

  describe.each(speakersTo(withCards))("over $binding $version", (speaker) => {
    verifies("R19", "the extended card has the skills that the caller may use", async () => {
      const ofAnn = await speaker.with(ann).call("getExtendedCard", {});
      const ofRoot = await speaker.with(root).call("getExtendedCard", {});

      expect(ids(ofAnn)).toEqual(["say", "for-friends"]);
      expect(ids(ofRoot)).toEqual(["say", "admin-tools", "for-friends"]);
    });
  });

  test("the public card has all skills, and says with which scopes they are used", async () => {
    const cardIn = async (headers: Record<string, string>): Promise<Record<string, unknown>> => {
      const answer = await fetch(`${withCards.url}/.well-known/agent-card.json`, { headers });
      const { skills } = (await answer.json()) as { skills: readonly Record<string, unknown>[] };
      expect(ids({ skills })).toEqual(["say", "admin-tools"]);
      expect(skills[0]).not.toHaveProperty("security");
      expect(skills[0]).not.toHaveProperty("securityRequirements");
      return skills[1]!;
    };
    const security = [{ oidc: ["admin"] }, { jwt: [] }, { bearer: [] }];
    const securityRequirements = [
      { schemes: { oidc: { list: ["admin"] } } },
      { schemes: { jwt: { list: [] } } },
      { schemes: { bearer: { list: [] } } },
    ];

    expect(await cardIn({ "a2a-version": "0.3" })).toMatchObject({ security });
    expect(await cardIn({ "a2a-version": "0.3" })).not.toHaveProperty("securityRequirements");
    expect(await cardIn({ "a2a-version": "1.0" })).toMatchObject({ securityRequirements });
    expect(await cardIn({ "a2a-version": "1.0" })).not.toHaveProperty("security");
    expect(await cardIn({})).toMatchObject({ security, securityRequirements });
  });
});

describe("a task that waits for an authorization", () => {
  const waiting = defineAgent({
    name: "Careful",
    description: "Asks for a credential.",
    run: async ({ authRequired }) => {
      await authRequired("May I read your calendar?", { credential: "calendar" });
      return "read";
    },
  });
  const guarded = useServer(waiting, { auth });
  const speaker = jsonRpcSpeaker(guarded, "1.0");

  verifies("v1-S60", "authorizes nobody: each message needs credentials of its own", async () => {
    const { id: taskId, status } = await speaker.with(ann).sendTask(aRequest("hi"));
    expect(status.state).toBe("auth-required");
    const answer = { ...aRequest("token"), message: { ...aRequest("token").message, taskId } };

    const { status: withoutToken } = await fetch(guarded.url, { method: "POST", body: "{}" });
    const ofAnother = await refusalOf(speaker.with(root).sendTask(answer));

    expect(withoutToken).toBe(401);
    expect(ofAnother.reason).toBe("TaskNotFound");
    expect((await speaker.with(ann).get({ taskId })).status.state).toBe("auth-required");
    expect((await speaker.with(ann).sendTask(answer)).status.state).toBe("completed");
  });
});
