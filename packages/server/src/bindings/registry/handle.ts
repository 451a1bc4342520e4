import { type CallCounts, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { RegistryRecord } from "@convoke/engine";
import type { App } from "../app.ts";
import { type Admitted, admit, parsePageSize, pathId } from "../admin/admit.ts";
import type { AdminRoute } from "../admin/handle.ts";
import { type AdminOperation, denied } from "../../guard/authorize.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import type { Registration, Registry } from "../../registry/registry.ts";

const PATH = "/convoke/registry";

const ENTRY_PATH = /^\/convoke\/registry\/(?<id>[^/:]+)$/;

const ACTION_PATH = /^\/convoke\/registry\/(?<id>[^/:]+):(?<action>heartbeat|report)$/;

/** Finds the operation of a path of the registry. Returns `undefined` for other paths, or if there is no registry. */
export function matchRegistry(app: App, request: HttpRequest): AdminRoute | undefined {
  const { registry } = app;
  // All agents of a server share its registry, which is at the root.
  if (registry === undefined || request.agentPath !== undefined) return undefined;
  const routes = routesFor(registry, request);
  const methods = routes.map(({ method }) => method);
  const chosen = routes.find(({ method }) => method === request.method) ?? routes[0];
  return chosen && { ...chosen, methods };
}

/** The operations of a path, one for each method. */
function routesFor(registry: Registry, request: HttpRequest): readonly AdminRoute[] {
  const route = (
    name: AdminOperation,
    method: AdminRoute["method"],
    perform: (call: RegistryCall) => Promise<object | undefined>,
  ): AdminRoute => ({
    name,
    method,
    handle: async (app, _, caller) => {
      const body = method === "POST" ? parseBody(await request.body()) : {};
      const admitted = await admit(app, name, { request, caller, params: body });
      const answer = await perform({ registry, request, body, admitted });
      return answer === undefined ? notFound() : jsonResponse(200, JSON.stringify(answer));
    },
  });
  if (request.path === PATH) {
    return [route("searchRegistry", "GET", search), route("registerAgent", "POST", register)];
  }
  if (pathId(ENTRY_PATH, request) !== undefined) {
    return [
      route("getRegisteredAgent", "GET", show),
      route("removeRegisteredAgent", "DELETE", remove),
    ];
  }
  switch (ACTION_PATH.exec(request.path)?.groups?.["action"]) {
    case "heartbeat":
      return [route("sendHeartbeat", "POST", heartbeat)];
    case "report":
      return [route("reportCall", "POST", report)];
    default:
      return [];
  }
}

interface RegistryCall {
  readonly registry: Registry;
  readonly request: HttpRequest;
  readonly body: Readonly<Record<string, unknown>>;
  readonly admitted: Admitted;
}

const STATES = ["active", "inactive"] as const;

async function search({ registry, request, admitted }: RegistryCall): Promise<object> {
  const { query } = request;
  const given = query.get("state");
  const state = STATES.find((name) => name === given);
  if (given !== null && state === undefined) {
    throw invalidParams("state", `must be one of ${STATES.join(", ")}, or left out for both`);
  }
  const { records, next } = await registry.search({
    skill: query.get("skill") ?? undefined,
    tags: query.getAll("tag"),
    text: query.get("text") ?? undefined,
    state,
    isVisible: (record) => isVisible(record, admitted),
    after: query.get("pageToken") ?? "",
    pageSize: parsePageSize(query),
  });
  const agents = records.map((record) => toJson(registry, record, admitted));
  return { agents, ...(next !== undefined && { nextPageToken: next }) };
}

async function register({ registry, body, admitted }: RegistryCall): Promise<object> {
  const { owner } = admitted.caller;
  const record = await registry.register({ owner, ...parseRegistration(body) });
  return toJson(registry, record, admitted);
}

async function show(call: RegistryCall): Promise<object | undefined> {
  const record = await findVisible(call);
  return record && toJson(call.registry, record, call.admitted);
}

async function heartbeat(call: RegistryCall): Promise<object | undefined> {
  const { registry, body, admitted } = call;
  const { openTasks } = body;
  if (openTasks !== undefined && !isCount(openTasks)) {
    throw invalidParams("openTasks", "must be a whole number, 0 or more");
  }
  const record = await findChangeable(call);
  const beating =
    record && (await registry.heartbeat(record.id, openTasks === undefined ? {} : { openTasks }));
  return beating && toJson(registry, beating, admitted);
}

const OUTCOMES = ["succeeded", "failed"] as const satisfies readonly (keyof CallCounts)[];

async function report(call: RegistryCall): Promise<object | undefined> {
  const { registry, body, admitted } = call;
  const outcome = OUTCOMES.find((name) => name === body["outcome"]);
  if (outcome === undefined)
    throw invalidParams("outcome", `must be one of ${OUTCOMES.join(", ")}`);
  const record = await findVisible(call);
  const { owner } = admitted.caller;
  if (record?.owner === owner)
    throw denied("the owner of an entry cannot report calls of its agent");
  const reported = record && (await registry.report(record.id, owner, outcome));
  return reported && toJson(registry, reported, admitted);
}

async function remove(call: RegistryCall): Promise<object | undefined> {
  const record = await findChangeable(call);
  return record && (await call.registry.remove(record.id)) ? { removed: record.id } : undefined;
}

/** The entry in the path, if the caller can see it. */
async function findVisible({
  registry,
  request,
  admitted,
}: RegistryCall): Promise<RegistryRecord | undefined> {
  const id = pathId(ENTRY_PATH, request) ?? pathId(ACTION_PATH, request) ?? "";
  const record = await registry.get(id);
  return record && isVisible(record, admitted) ? record : undefined;
}

/** The entry in the path, if the caller may change it. */
async function findChangeable(call: RegistryCall): Promise<RegistryRecord | undefined> {
  const record = await findVisible(call);
  const { caller, owners } = call.admitted;
  return record?.owner === caller.owner || owners !== undefined ? record : undefined;
}

/**
 * A registry is an address book: every caller sees the entries of its tenant. Operators that ask for
 * all owners see those of all tenants, unless they belong to one.
 */
function isVisible({ owner }: RegistryRecord, { caller, owners }: Admitted): boolean {
  if (owners !== undefined) return owners(owner);
  return unscopedOwner(owner).tenant === caller.tenant;
}

/** Only operators see who has registered an agent; others see whether it was they. */
function toJson(registry: Registry, record: RegistryRecord, { caller, owners }: Admitted): object {
  return {
    ...registry.toEntry(record),
    isOwn: record.owner === caller.owner,
    ...(owners && unscopedOwner(record.owner)),
  };
}

function parseBody(body: Uint8Array): Readonly<Record<string, unknown>> {
  const value = body.length === 0 ? {} : parseJson(body);
  if (isObject(value)) return value;
  throw invalidParams("body", "must be an object");
}

const MAX_URL_LENGTH = 2000;

const MAX_NAME_LENGTH = 200;

const MAX_TAGS = 20;

const MAX_TAG_LENGTH = 50;

function parseRegistration({
  url,
  name,
  tags = [],
}: Readonly<Record<string, unknown>>): Omit<Registration, "owner"> {
  if (name !== undefined && !isText(name, MAX_NAME_LENGTH)) {
    throw invalidParams("name", `must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
  }
  const isTag = (tag: unknown): tag is string => isText(tag, MAX_TAG_LENGTH);
  if (!Array.isArray(tags) || tags.length > MAX_TAGS || !tags.every(isTag)) {
    throw invalidParams(
      "tags",
      `must be at most ${MAX_TAGS} texts of 1 to ${MAX_TAG_LENGTH} characters`,
    );
  }
  return { url: parseAgentUrl(url), ...(name !== undefined && { name }), tags };
}

/** The base URL of an agent, in one spelling: it ends with a slash. */
function parseAgentUrl(text: unknown): string {
  const url = isText(text, MAX_URL_LENGTH) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search + url.hash !== "") {
    throw invalidParams(
      "url",
      'must be the base URL of an agent such as "https://agents.example.com/poet", without a query',
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url.href;
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= maxLength;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** `reason` tells a missing entry from a server without a registry. */
function notFound(): HttpResponse {
  const message = "there is no such agent in the registry, or another caller has registered it";
  const error = { code: 404, reason: "unknown-agent", message };
  return jsonResponse(404, JSON.stringify({ error }));
}
