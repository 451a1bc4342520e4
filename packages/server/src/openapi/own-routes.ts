import type { AdminOperation, AgentOperation } from "../guard/authorize.ts";
import { CODER_ROUTES, type CoderOperation } from "../bindings/coder/routes.ts";
import { INBOUND_ROUTES, type InboundOperation } from "../bindings/inbound/routes.ts";
import type { DocumentedRoute } from "./a2a-routes.ts";
import {
  type RouteFacts,
  anyObject,
  count,
  eventStream,
  json,
  list,
  object,
  text,
} from "./operation.ts";

/** What is said about one operation; its id and tag follow from the table. */
type Facts = Omit<RouteFacts, "id" | "tag">;

type Own = readonly [path: string, method: string, facts: Facts];

/** Paging and the tenant, as all lists below `/convoke/` have them. */
const PAGED = { pageSize: "integer", pageToken: "text", tenant: "text", owner: "text" } as const;

const SKILL = object({ id: text, name: text, description: text, tags: list(text) }, ["id"]);

/** Agents at other addresses may have an id and a URL only. */
const LISTED_AGENT = object(
  { id: text, name: text, description: text, url: text, cardUrl: text, skills: list(SKILL) },
  ["id", "url"],
);

const SERVED_AGENT = object({
  id: text,
  name: text,
  description: text,
  isEnabled: { type: "boolean" },
  isDefault: { type: "boolean" },
  running: count,
});

/** The operations below `/convoke/`. TypeScript says if one of `scopes` and `authorize` is missing. */
const ADMIN: Readonly<
  Record<
    | AdminOperation
    | AgentOperation
    | "listTasks"
    | "getTask"
    | "readLog"
    | "readTree"
    | "readFile"
    | "feed",
    Own
  >
> = {
  describeServer: [
    "/convoke/about",
    "GET",
    {
      summary: "Describes the server, its agents and what the caller may do. Needs the read API.",
      answer: json(
        object({ version: text, agents: list(anyObject), caller: anyObject, features: anyObject }),
      ),
    },
  ],
  readMetrics: [
    "/convoke/metrics",
    "GET",
    {
      summary:
        "Returns what the server does, and its numbers of the last hour, for operators. Needs the read API.",
      answer: json(anyObject),
    },
  ],
  listTasks: [
    "/convoke/tasks",
    "GET",
    {
      summary: "Lists tasks with their first words and usage.",
      query: { ...PAGED, contextId: "text", status: "text", idPrefix: "text" },
      answer: json(object({ tasks: list(anyObject), nextPageToken: text }, ["tasks"])),
    },
  ],
  getTask: [
    "/convoke/tasks/{taskId}",
    "GET",
    {
      summary:
        "Returns a task in the form of A2A 0.3; with the read API also as it was at an event.",
      query: { owner: "text", tenant: "text", historyLength: "integer", at: "integer" },
      answer: json(object({ owner: text, tenant: text, task: anyObject }, ["task"])),
    },
  ],
  deleteTasks: [
    "/convoke/tasks:delete",
    "POST",
    {
      summary:
        "Deletes ended tasks: all that are named, or none. Unfinished ones are canceled first if `cancel` is true.",
      query: { owner: "text", tenant: "text" },
      body: object({ taskIds: list(text), cancel: { type: "boolean" } }, ["taskIds"]),
      answer: json(object({ deleted: list(text) }, ["deleted"])),
    },
  ],
  eraseData: [
    "/convoke/erasures",
    "POST",
    {
      summary:
        "Erases everything about an owner, or about one of its conversations, for operators. Unfinished tasks are canceled.",
      query: { owner: "text", tenant: "text" },
      body: object({ owner: text, contextId: text }),
      answer: json(object({ tasks: count }, ["tasks"])),
    },
  ],
  readLog: [
    "/convoke/tasks/{taskId}/log",
    "GET",
    {
      summary: "Returns or follows the log of a task. Needs the read API.",
      query: {
        after: "integer",
        limit: "integer",
        join: "text",
        notes: "boolean",
        owner: "text",
        tenant: "text",
      },
      answer: {
        ...json(
          object({ id: text, state: text, head: count, next: count, events: list(anyObject) }),
        ),
        ...eventStream(object({ seq: count, at: text, event: anyObject })),
      },
    },
  ],
  readTree: [
    "/convoke/tasks/{taskId}/tree",
    "GET",
    {
      summary: "Returns the tasks of all agents that work for a task. Needs the read API.",
      query: { owner: "text", tenant: "text" },
      answer: json(
        object({ rootId: text, nodes: list(anyObject), truncated: { type: "boolean" } }, ["nodes"]),
      ),
    },
  ],
  readFile: [
    "/convoke/files/{taskId}/{digest}",
    "GET",
    {
      summary:
        "Returns a file of a task, to everyone with a valid link and to the owner of the task.",
      query: {
        expires: "integer",
        signature: "text",
        name: "text",
        type: "text",
        owner: "text",
        tenant: "text",
      },
      answer: { "application/octet-stream": { type: "string", format: "binary" } },
    },
  ],
  feed: [
    "/convoke/feed",
    "GET",
    {
      summary: "Streams which tasks have a new status. Needs the read API.",
      query: { owner: "text", tenant: "text" },
      answer: eventStream(object({ id: text, state: text, head: count })),
    },
  ],
  listApprovals: [
    "/convoke/approvals",
    "GET",
    {
      summary: "Lists the open approvals, newest first.",
      query: PAGED,
      answer: json(object({ approvals: list(anyObject), nextPageToken: text }, ["approvals"])),
    },
  ],
  decideApproval: [
    "/convoke/approvals/{approvalId}:answer",
    "POST",
    {
      summary: "Decides an approval.",
      query: { owner: "text", tenant: "text" },
      body: object(
        {
          decision: { enum: ["once", "conversation", "always", "reject", "edit"] },
          feedback: text,
          arguments: anyObject,
          digest: text,
          taskId: text,
        },
        ["decision"],
      ),
      answer: json(object({ id: text, taskId: text, contextId: text, decision: text })),
    },
  ],
  listPushes: [
    "/convoke/pushes",
    "GET",
    {
      summary: "Lists push notification configs by their state: active, done or dead, the default.",
      query: { ...PAGED, state: "text" },
      answer: json(object({ pushes: list(anyObject), nextPageToken: text }, ["pushes"])),
    },
  ],
  testPush: [
    "/convoke/pushes:test",
    "POST",
    {
      summary: "Sends a test notification of a push config. Needs the read API.",
      query: { owner: "text", tenant: "text" },
      body: object({ taskId: text, id: text }, ["taskId", "id"]),
      answer: json(anyObject),
    },
  ],
  listGrants: [
    "/convoke/grants",
    "GET",
    {
      summary: "Lists what was approved for always. Needs the read API.",
      query: { owner: "text", tenant: "text" },
      answer: json(object({ grants: list(anyObject) }, ["grants"])),
    },
  ],
  removeGrant: [
    "/convoke/grants/{grantId}",
    "DELETE",
    {
      summary: "Takes back what was approved for always. Needs the read API.",
      query: { owner: "text", tenant: "text" },
      answer: json(anyObject),
    },
  ],
  replayPushes: [
    "/convoke/pushes:replay",
    "POST",
    {
      summary: "Tries again what was given up: all of it, of one task, or of one config.",
      query: { owner: "text", tenant: "text" },
      body: object({ taskId: text, id: text }),
      answer: json(object({ replayed: count }, ["replayed"])),
    },
  ],
  listAgents: [
    "/convoke/agents",
    "GET",
    {
      summary: "Lists the agents of the server, for operators.",
      answer: json(object({ agents: list(SERVED_AGENT) })),
    },
  ],
  enableAgent: [
    "/convoke/agents/{agentId}:enable",
    "POST",
    { summary: "Lets an agent accept new tasks again.", answer: json(SERVED_AGENT) },
  ],
  disableAgent: [
    "/convoke/agents/{agentId}:disable",
    "POST",
    { summary: "Lets an agent accept no new tasks.", answer: json(SERVED_AGENT) },
  ],
};

const POLLED_TASK = object(
  {
    id: text,
    state: { enum: ["submitted", "working", "completed", "failed"] },
    a2aState: text,
    messages: list(anyObject),
    sessionId: text,
    createdAt: text,
    updatedAt: text,
  },
  ["id", "state", "messages"],
);

const INBOUND: Readonly<Record<InboundOperation, Facts>> = {
  sendTask: {
    summary: "Sends a task in the polling protocol. The fields can also be below `params`.",
    body: object({
      message: text,
      skill: text,
      agent: text,
      timeoutMs: { type: "integer", minimum: 1000, maximum: 600_000 },
      depth: { type: "integer", minimum: 1, maximum: 10 },
      sourceAgent: text,
    }),
    answer: json(POLLED_TASK),
  },
  getTask: { summary: "Returns a task in the polling protocol.", answer: json(POLLED_TASK) },
};

const CODER: Readonly<Record<CoderOperation, Facts>> = {
  createTask: {
    summary: "Creates a task without a message, at coding agents; returns its id.",
    body: object({ contextId: text, agentSettings: anyObject }),
    isBodyOptional: true,
    status: 201,
    answer: json(text),
  },
  streamMessage: {
    summary: "Sends a message to a coding agent and streams its events as JSON-RPC responses.",
    body: anyObject,
    answer: eventStream(anyObject),
  },
  listTaskMetadata: {
    summary:
      "Lists the metadata of the caller's newest tasks, at coding agents; 204 if there are none.",
    answer: json(list(anyObject)),
  },
  getTaskMetadata: {
    summary:
      "Returns id, context, state, model, MCP servers and tools of a task, at coding agents.",
    answer: json(anyObject),
  },
  listCommands: {
    summary: "Lists the commands of a coding agent.",
    answer: json(object({ commands: list(anyObject) }, ["commands"])),
  },
  executeCommand: {
    summary: "Runs a command of a coding agent, or streams the task that it starts.",
    body: object({ command: text, args: {}, contextId: text }, ["command"]),
    answer: { ...json(object({ name: text, data: {} })), ...eventStream(anyObject) },
  },
};

/** What every caller may read. */
const PUBLIC: Readonly<Record<string, Own>> = {
  getCard: [
    "/.well-known/agent-card.json",
    "GET",
    { summary: "Returns the agent card.", answer: json(anyObject) },
  ],
  getCardAlias: [
    "/.well-known/agent.json",
    "GET",
    { summary: "Returns the agent card, at its path before 0.3.", answer: json(anyObject) },
  ],
  getCardKeys: [
    "/.well-known/jwks.json",
    "GET",
    {
      summary: "Returns the public keys that verify the card.",
      answer: json(object({ keys: list(anyObject) }, ["keys"])),
    },
  ],
  listServedAgents: [
    "/.well-known/agents.json",
    "GET",
    {
      summary: "Lists the agents of the server, and those at other addresses that it names.",
      query: { pageToken: "text" },
      answer: json(
        object({ agents: list(LISTED_AGENT), default: text, nextPageToken: text }, [
          "agents",
          "default",
        ]),
      ),
    },
  ],
  getCardOfAgent: [
    "/api/agents/{agentId}/agent-card",
    "GET",
    { summary: "Returns the card of one of several agents.", answer: json(anyObject) },
  ],
  getOpenApi: [
    "/openapi.json",
    "GET",
    { summary: "Returns this document.", answer: json(anyObject) },
  ],
  getHealth: [
    "/health",
    "GET",
    { summary: "Answers as long as the process does.", answer: json(object({ status: text })) },
  ],
  getReadiness: [
    "/ready",
    "GET",
    { summary: "Answers 200 when requests are welcome.", answer: json(object({ status: text })) },
  ],
};

const METRICS: DocumentedRoute = [
  "/metrics",
  "GET",
  {
    id: "readMetrics",
    tag: "Convoke",
    summary: "Returns metrics in the format of Prometheus, for operators, where they are served.",
    answer: { "text/plain": text },
  },
];

/** All requests that are not A2A. */
export function ownRoutes(): readonly DocumentedRoute[] {
  const named = (table: Readonly<Record<string, Own>>, tag: string, more: Partial<Facts> = {}) =>
    Object.entries(table).map(([id, [path, method, facts]]): DocumentedRoute => [
      path,
      method,
      { id: `${tag}.${id}`.replaceAll(" ", ""), tag, ...facts, ...more },
    ]);
  const inbound = INBOUND_ROUTES.map(({ operation, path, method }): DocumentedRoute => {
    return [path, method, { id: `Polling.${operation}`, tag: "Polling", ...INBOUND[operation] }];
  });
  const coder = CODER_ROUTES.map(({ operation, path, method }): DocumentedRoute => {
    return [path, method, { id: `Coder.${operation}`, tag: "Coder", ...CODER[operation] }];
  });
  return [
    ...named(PUBLIC, "Public", { isPublic: true }),
    ...named(ADMIN, "Convoke"),
    METRICS,
    ...inbound,
    ...coder,
  ];
}
