import { A2AError, type Caller, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { AuditEvent } from "@convoke/engine";
import { type AgentOperation, denied } from "../../guard/authorize.ts";
import { ROLE_SCOPES } from "../../guard/roles.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import {
  AgentChangeError,
  type AgentManager,
  CHANGE_STATUSES,
  type JsonDefinition,
} from "../agent-manager.ts";
import type { App } from "../app.ts";
import { pathId } from "./admit.ts";
import type { AdminRoute } from "./handle.ts";

const PATH = "/convoke/agents";

const AGENT_PATH = /^\/convoke\/agents\/(?<id>[^/:]+)$/;

const ACTION_PATH = /^\/convoke\/agents\/(?<id>[^/:]+):(?<action>enable|disable)$/;

/** Finds the operation of a path of this API. Returns `undefined` for other paths, or if it is switched off. */
export function matchAgents(app: App, request: HttpRequest): AdminRoute | undefined {
  // All agents of a server share it, so it is at the root.
  if (app.agentManager() === undefined || request.agentPath !== undefined) return undefined;
  const routes = routesFor(request);
  const chosen = routes.find(({ method }) => method === request.method) ?? routes[0];
  return chosen && { ...chosen, methods: routes.map(({ method }) => method) };
}

/** The operations of a path, one for each method. */
function routesFor(request: HttpRequest): readonly AdminRoute[] {
  if (request.path === PATH) {
    return [
      { name: "listAgents", method: "GET", handle: listAgents },
      change("addAgent", "POST", async (manager, body) => {
        const { id, ...definition } = body;
        if (typeof id !== "string") throw invalidParams("id", "must be the id of the new agent");
        await manager.add(id, definition);
        return { id, event: "agent.added" };
      }),
    ];
  }
  const id = pathId(AGENT_PATH, request);
  if (id !== undefined) return agentRoutes(id);
  const action = ACTION_PATH.exec(request.path)?.groups?.["action"];
  const named = pathId(ACTION_PATH, request);
  if (named === undefined) return [];
  const isEnabled = action === "enable";
  return [
    change(isEnabled ? "enableAgent" : "disableAgent", "POST", async (manager) => {
      await manager.enable(named, isEnabled);
      return { id: named, event: isEnabled ? "agent.enabled" : "agent.disabled" };
    }),
  ];
}

function agentRoutes(id: string): readonly AdminRoute[] {
  return [
    change("editAgent", "PATCH", async (manager, changes) => {
      await manager.edit(id, changes);
      return { id, event: "agent.edited" };
    }),
    change("replaceAgent", "PUT", async (manager, definition) => {
      await manager.replace(id, definition);
      return { id, event: "agent.edited" };
    }),
    change("removeAgent", "DELETE", async (manager) => {
      await manager.remove(id);
      return { id, event: "agent.removed" };
    }),
  ];
}

/** What a change has done, for the audit log. */
interface Changed {
  readonly id: string;
  readonly event: AuditEvent;
}

function change(
  name: AgentOperation,
  method: AdminRoute["method"],
  perform: (manager: AgentManager, body: JsonDefinition) => Promise<Changed>,
): AdminRoute {
  const handle: AdminRoute["handle"] = async (app, request, caller) => {
    const body = parseBody(await request.body());
    const manager = await managerFor(app, caller, { operation: name, params: body });
    try {
      const { id, event } = await perform(manager, body);
      const { owner } = caller;
      app.audit.record(event, { requestId: request.id, owner, agentId: id });
      const agent = manager.list().find((one) => one.id === id);
      return jsonResponse(200, JSON.stringify(agent === undefined ? { removed: id } : agent));
    } catch (error) {
      if (!(error instanceof AgentChangeError)) throw error;
      const { reason, message } = error;
      const code = CHANGE_STATUSES[reason];
      return jsonResponse(code, JSON.stringify({ error: { code, reason, message } }));
    }
  };
  return { name, method, handle };
}

async function listAgents(app: App, _: HttpRequest, caller: Caller): Promise<HttpResponse> {
  const manager = await managerFor(app, caller, { operation: "listAgents", params: {} });
  return jsonResponse(200, JSON.stringify({ agents: manager.list() }));
}

/** Agents concern all callers of all tenants, so an operator of one tenant may not change them. */
async function managerFor(
  { agentManager, isOperator, authorization }: App,
  caller: Caller,
  { operation, params }: { readonly operation: AgentOperation; readonly params: object },
): Promise<AgentManager> {
  const manager = agentManager();
  if (manager === undefined) throw new A2AError("MethodNotFound", "there is no such path");
  if (isOperator(caller) && caller.tenant === undefined) {
    await authorization.check(caller, operation, params);
    return manager;
  }
  const missing = isOperator(caller) ? [] : [ROLE_SCOPES.operator];
  throw denied("the agents of a server are for its operators", { missing, required: missing });
}

function parseBody(body: Uint8Array): JsonDefinition {
  const value = body.length === 0 ? {} : parseJson(body);
  if (isObject(value)) return value;
  throw invalidParams("body", "must be a JSON object");
}
