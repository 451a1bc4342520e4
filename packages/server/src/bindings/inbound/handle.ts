import { randomUUID } from "node:crypto";
import {
  A2AError,
  type A2ATaskParams,
  CODECS,
  type Caller,
  EXTENSIONS,
  INBOUND_TIMEOUT_MS,
  type InboundAgent,
  type Metadata,
  type Task,
  chooseAgent,
  invalidParams,
  readTaskRequest,
  toA2ATask,
} from "@convoke/protocol";
import { type NewTaskOptions, type ServedAgent, declaredExtensions } from "@convoke/engine";
import type { Admission } from "../../guard/admission.ts";
import { scopedCaller } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  checkNumbers,
  header,
  jsonResponse,
  parseJson,
  retryHeaders,
} from "../../http/exchange.ts";
import type { App } from "../app.ts";
import { NOTHING_ACTIVE, withHeaders } from "../extensions.ts";
import { checkContentType } from "../jsonrpc/handle.ts";
import { performOperation } from "../operations.ts";
import { decodeTaskId, errorJson } from "../plain-json.ts";
import type { InboundOperation, MatchedInbound } from "./routes.ts";

/** A request whose caller is known. */
interface InboundCall extends MatchedInbound {
  readonly caller: Caller;
  /** Headers that interceptors add to the response. */
  readonly added: Headers;
}

/**
 * The polling protocol: an agent posts a task and polls it. The tasks are those of A2A, with four
 * states and text messages. Errors are `{ "error": text }`.
 */
export async function handleInbound(
  app: App,
  matched: MatchedInbound,
  admission: Admission,
): Promise<HttpResponse> {
  const { request, operation, method, rate } = matched;
  admission.name("inbound", operation);
  try {
    const caller = scopedCaller(await admission.identify(), undefined, app.tenants);
    await admission.count(rate);
    if (request.method !== method) {
      return errorJson(405, `${request.path} takes ${method}`, { allow: method });
    }
    const added = new Headers();
    const task = await HANDLERS[operation](app, { ...matched, caller, added });
    const { createdAt } = await app.engine.tasks.record(task.id, caller);
    const shown = toA2ATask(task, new Date(createdAt).toISOString());
    return withHeaders(jsonResponse(200, JSON.stringify(shown)), { ...NOTHING_ACTIVE, added });
  } catch (thrown) {
    const error = admission.toError(thrown);
    return errorJson(error.row.http, error.message, retryHeaders(error));
  }
}

type Handler = (app: App, call: InboundCall) => Promise<Task>;

const HANDLERS: Readonly<Record<InboundOperation, Handler>> = {
  sendTask: async (app, call) => {
    const params = readParams(await readBody(call.request));
    const source = app.rates.sourceOf(call.request, call.caller);
    if (source !== undefined) await app.inboundRate.count(source);
    const chosen = chooseAgent(addressedAgents(app, call.request), params);
    const target = chosen && app.find(chosen.id);
    if (target === undefined) {
      const agent = JSON.stringify(params.agent);
      throw new A2AError("MethodNotFound", `there is no agent ${agent} here`, { field: "agent" });
    }
    return sendTask(target, call, params);
  },
  getTask: async (app, call) => {
    const params = { id: decodeTaskId(call.taskId) };
    return perform(await appOfTask(app, call, params.id), call, { operation: "getTask", params });
  },
};

/** The agents that may get a task: the one at the path of the request, or at the root all, in declared order. */
function addressedAgents({ engine, agent }: App, request: HttpRequest): readonly InboundAgent[] {
  const all = request.agentPath === undefined ? Array.from(engine.agents) : [agent];
  return all.filter(({ isEnabled }) => isEnabled).map(toInboundAgent);
}

function toInboundAgent({ id, info, definition }: ServedAgent): InboundAgent {
  const tools = definition.tools?.() ?? [];
  const skills = [...info.skills.map((skill) => skill.id), ...tools.map(({ name }) => name)];
  return { id, name: info.name, skills };
}

/** The agent of a task that is asked for at the root. Whether the caller may see it is decided there. */
async function appOfTask(app: App, { request }: InboundCall, taskId: string): Promise<App> {
  if (request.agentPath !== undefined) return app;
  const record = await app.engine.backend.tasks.record(taskId);
  const agent = record && app.engine.agents.of(record);
  return (agent && app.find(agent.id)) ?? app;
}

async function readBody(request: HttpRequest): Promise<unknown> {
  const bytes = await request.body();
  checkContentType(header(request, "content-type"));
  const body = parseJson(bytes);
  checkNumbers(body, "body");
  return body;
}

const TIMEOUT = { least: 1000, most: 600_000 };

function readParams(body: unknown): A2ATaskParams {
  const params = readTaskRequest(body);
  const { timeoutMs = INBOUND_TIMEOUT_MS } = params;
  const { least, most } = TIMEOUT;
  if (Number.isInteger(timeoutMs) && timeoutMs >= least && timeoutMs <= most) return params;
  throw invalidParams("timeoutMs", `must be a whole number from ${least} to ${most}`);
}

/** Starts a task. It exists, and is stored, when this resolves. */
function sendTask(app: App, call: InboundCall, params: A2ATaskParams): Promise<Task> {
  const { message: text, timeoutMs = INBOUND_TIMEOUT_MS } = params;
  const { metadata, extensions } = provenance(app, params);
  const message = {
    kind: "message",
    role: "user",
    messageId: randomUUID(),
    parts: [{ kind: "text", text }],
    metadata,
    extensions: [...extensions],
  };
  return perform(app, call, {
    operation: "sendMessage",
    params: { message, configuration: { blocking: false } },
    extensions,
    // Callers of this protocol poll, so that there must be a task.
    newTask: { timeoutMs, isAnnounced: true },
  });
}

/**
 * Marks the message as one of another agent: its text is data, and is passed on as it is. Work that an
 * agent asked for is not handed on to further agents, so its budget has no depth left.
 */
function provenance(
  { agent: { info } }: App,
  { skill, depth = 1, sourceAgent }: A2ATaskParams,
): { readonly metadata: Metadata; readonly extensions: ReadonlySet<string> } {
  const declared = new Set(declaredExtensions(info).map(({ uri }) => uri));
  const isOnCard = info.skills.some(({ id }) => id === skill);
  const data: Metadata = {
    [EXTENSIONS.budget.uri]: { depth: 0, ...(sourceAgent && { visited: [sourceAgent] }) },
    ...(isOnCard && { [EXTENSIONS.skill.uri]: { id: skill } }),
  };
  const active = Object.entries(data).filter(([uri]) => declared.has(uri));
  return {
    metadata: {
      source: "agent",
      depth,
      ...(skill !== undefined && { skill }),
      ...(sourceAgent !== undefined && { sourceAgent }),
      ...Object.fromEntries(active),
    },
    extensions: new Set(active.map(([uri]) => uri)),
  };
}

interface A2ARequest {
  readonly operation: "sendMessage" | "getTask";
  readonly params: Metadata;
  readonly extensions?: ReadonlySet<string>;
  readonly newTask?: NewTaskOptions;
}

/** Performs an operation of A2A 0.3, whose JSON has the fields of our model. */
async function perform(
  app: App,
  { request, caller, added }: InboundCall,
  { extensions = NOTHING_ACTIVE.extensions, ...given }: A2ARequest,
): Promise<Task> {
  const outcome = await performOperation(app, {
    ...given,
    codec: CODECS["0.3"],
    request,
    caller,
    activation: { ...NOTHING_ACTIVE, extensions, added },
    lastEventId: undefined,
  });
  if (outcome.kind === "value") return outcome.value as Task;
  throw new A2AError("Internal", "the operation has no value");
}
