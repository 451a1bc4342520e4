import {
  A2AError,
  CODER_DIALECTS,
  CODECS,
  type Caller,
  type JsonRpcId,
  LEGACY_CODECS,
  type Metadata,
  type Task,
  idOf,
  invalidParams,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { type TaskRecord, createTask } from "@convoke/engine";
import { randomUUID } from "node:crypto";
import type { Admission } from "../../guard/admission.ts";
import { scopedCaller } from "../../guard/guard.ts";
import {
  type HttpResponse,
  checkNumbers,
  header,
  jsonResponse,
  parseJson,
  retryHeaders,
} from "../../http/exchange.ts";
import type { App } from "../app.ts";
import { listCommands, runCommand } from "../commands.ts";
import { activate, withHeaders } from "../extensions.ts";
import { checkContentType, rpcError, rpcStream } from "../jsonrpc/handle.ts";
import { performOperation } from "../operations.ts";
import { decodeTaskId, errorJson } from "../plain-json.ts";
import { readMessage, readSettings } from "./read-message.ts";
import type { CoderOperation, MatchedCoder } from "./routes.ts";

/** A request whose caller is known. */
interface CoderCall extends MatchedCoder {
  readonly caller: Caller;
}

/** The routes of a coding agent beside A2A. Their errors are `{ "error": text }`. */
export async function handleCoder(
  app: App,
  matched: MatchedCoder,
  admission: Admission,
): Promise<HttpResponse> {
  const { request, operation, method, rate } = matched;
  admission.name("coder", operation);
  try {
    const caller = scopedCaller(await admission.identify(), undefined, app.tenants);
    await admission.count(rate);
    if (request.method !== method) {
      return errorJson(405, `${request.path} takes ${method}`, { allow: method });
    }
    return await HANDLERS[operation](app, { ...matched, caller }, admission);
  } catch (thrown) {
    const error = admission.toError(thrown);
    return errorJson(error.row.http, error.message, retryHeaders(error));
  }
}

type Handler = (app: App, call: CoderCall, admission: Admission) => Promise<HttpResponse>;

const HANDLERS: Readonly<Record<CoderOperation, Handler>> = {
  createTask: async (app, { request, caller }) => {
    const body = await readBody(request);
    const { contextId, agentSettings } = body;
    const metadata = readSettings(agentSettings);
    const given = { contextId: readContextId(contextId), metadata };
    // As a message that names no skill, so that the scopes of an only skill apply.
    await app.authorization.check(caller, "sendMessage", { message: { metadata: {} }, ...given });
    const { id } = await createTask(given, { engine: app.engine, agent: app.agent, caller });
    return jsonResponse(201, JSON.stringify(id));
  },
  streamMessage,
  getTaskMetadata: async (app, { taskId: encoded, caller }) => {
    const taskId = decodeTaskId(encoded);
    await app.authorization.check(caller, "getTask", { taskId });
    const { task } = await app.engine.tasks.find(taskId, app.engine.scope(caller, app.agent));
    const metadata = taskMetadata(app, task, caller);
    return jsonResponse(200, JSON.stringify({ ...metadata, metadata }));
  },
  listTaskMetadata: async (app, { caller }) => {
    await app.authorization.check(caller, "listTasks", {});
    await app.engine.settled();
    const records = await listOwnRecords(app, caller);
    if (records.length === 0) return { status: 204, headers: {}, body: "" };
    const list = records.map((record) => withoutSchemas(taskMetadata(app, toTask(record), caller)));
    return jsonResponse(200, JSON.stringify(list));
  },
  listCommands: async (app) =>
    jsonResponse(200, JSON.stringify({ commands: await listCommands(app) })),
  executeCommand: async (app, call) => {
    const { command, args = [], contextId: context } = await readBody(call.request);
    const contextId = readContextId(context);
    if (typeof command !== "string" || command.trim() === "") {
      throw invalidParams("command", 'must be the name of a command, such as "memory show"');
    }
    if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
      throw invalidParams("args", "must be a list of strings");
    }
    const path = command.trim().split(/\s+/);
    const fields = { path: "command", args: "args" };
    const asked = { path, args, contextId, fields };
    const { name, result } = await runCommand(app, asked, call.caller);
    if (result.kind === "data")
      return jsonResponse(200, JSON.stringify({ name, data: result.data }));
    const parts = [{ kind: "text", text: result.text }];
    const { metadata } = result;
    const message = {
      kind: "message",
      role: "user",
      messageId: randomUUID(),
      parts,
      metadata,
      contextId,
    };
    return openStream(app, call, { params: { message } });
  },
};

/** More than a person looks through; bounds the answer. */
const MAX_LISTED = 1000;

async function listOwnRecords(
  { engine, agent }: App,
  { owner }: Caller,
): Promise<readonly TaskRecord[]> {
  const scope = engine.scope({ owner }, agent);
  const query = { owner, limit: MAX_LISTED, ...(scope.agent && { agentId: scope.agent.id }) };
  return (await engine.backend.tasks.list(query)).records;
}

/** An empty body is an empty object, because all fields of some requests are optional. */
async function readBody(request: CoderCall["request"]): Promise<Metadata> {
  const bytes = await request.body();
  if (bytes.length === 0) return {};
  checkContentType(header(request, "content-type"));
  const body = parseJson(bytes);
  if (!isObject(body)) throw invalidParams("body", "must be a JSON object");
  checkNumbers(body, "body");
  return body;
}

const MAX_CONTEXT_ID = 256;

function readContextId(contextId: unknown): string | undefined {
  if (contextId === undefined) return undefined;
  if (typeof contextId === "string" && contextId !== "" && contextId.length <= MAX_CONTEXT_ID) {
    return contextId;
  }
  throw invalidParams("contextId", `must be a text of 1 to ${MAX_CONTEXT_ID} characters`);
}

/** Errors are in the format of JSON-RPC, because the frames of the stream are. */
async function streamMessage(
  app: App,
  call: CoderCall,
  admission: Admission,
): Promise<HttpResponse> {
  let id: JsonRpcId = null;
  try {
    const body = await readBody(call.request);
    id = idOf(body);
    const { params } = readMessage(body);
    return await openStream(app, call, { params, id });
  } catch (thrown) {
    return rpcError(admission.toError(thrown), { id, codec: CODECS["0.3"], isStream: true });
  }
}

/** Sends a message, and streams its task in the dialect of these routes unless the caller asks for another. */
async function openStream(
  app: App,
  { request, caller }: CoderCall,
  given: { readonly params: Metadata; readonly id?: JsonRpcId },
): Promise<HttpResponse> {
  const asked = await activate(app, { request, caller, version: "0.3" });
  const extensions = new Set([...asked.extensions, CODER_DIALECTS.events]);
  const activation = { ...asked, extensions };
  const codec = LEGACY_CODECS["0.3"];
  const outcome = await performOperation(app, {
    operation: "sendStreamingMessage",
    params: given.params,
    codec,
    caller,
    activation,
    request,
    lastEventId: header(request, "last-event-id"),
  });
  if (outcome.kind !== "events") throw new A2AError("Internal", "the operation has no stream");
  const { id = outcome.source.taskId } = given;
  return withHeaders(rpcStream(app, outcome.source, { id, codec }), activation);
}

/** What works on a task. */
function taskMetadata({ agent }: App, task: Task, { owner }: Caller): Metadata {
  const { id, contextId, status } = task;
  const report = agent.definition.report?.(task, owner) ?? {};
  const known = { id, contextId, taskState: status.state };
  return { ...known, model: "", mcpServers: [], availableTools: [], ...report };
}

function toTask({ taskId: id, contextId, state }: TaskRecord): Task {
  return { kind: "task", id, contextId, status: { state } };
}

/** A list has many tasks, so the schemas of their tools are left out. */
function withoutSchemas(metadata: Metadata): Metadata {
  const brief = (tool: unknown): unknown => {
    if (!isObject(tool)) return tool;
    const { parameterSchema: _, ...rest } = tool;
    return rest;
  };
  const briefs = (tools: unknown): unknown => (Array.isArray(tools) ? tools.map(brief) : tools);
  const { availableTools, mcpServers } = metadata;
  return {
    ...metadata,
    availableTools: briefs(availableTools),
    mcpServers: Array.isArray(mcpServers)
      ? mcpServers.map((server: Metadata) => ({ ...server, tools: briefs(server["tools"]) }))
      : mcpServers,
  };
}
