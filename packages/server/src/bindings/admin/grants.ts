import { type Caller, type ToolGrant, invalidParams } from "@convoke/protocol";
import type { ServedAgent } from "@convoke/engine";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { type Admitted, admit } from "./admit.ts";

/** A grant and the agent whose tool it is for. */
interface AgentGrant extends ToolGrant {
  readonly agent: ServedAgent;
}

/** Lists which tools the caller, or all owners, have approved for always. */
export async function handleListGrants(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const admitted = await admit(app, "listGrants", { request, caller: identified });
  const grants: object[] = [];
  for (const agent of agentsFor(app, request)) {
    const all = (await agent.definition.grants?.list()) ?? [];
    const meant = all.filter(({ owner }) => isMeant(owner, admitted));
    grants.push(...meant.map((grant) => toJson({ ...grant, agent }, admitted)));
  }
  return jsonResponse(200, JSON.stringify({ grants }));
}

/** Takes a grant back: the next call of the tool needs an approval again. */
export async function handleRemoveGrant(
  app: App,
  id: string,
  { request, caller: identified }: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const { agentId, owner, toolName } = parseId(id);
  const params = { agentId, toolName };
  const admitted = await admit(app, "removeGrant", { request, caller: identified, params });
  const agent = agentsFor(app, request).find((one) => one.id === agentId);
  const grants = isMeant(owner, admitted) ? agent?.definition.grants : undefined;
  if ((await grants?.remove({ owner, toolName })) !== true) return notFound();
  const { owner: by, tenant } = identified;
  app.audit.record("grant.removed", {
    requestId: request.id,
    owner: by,
    tenant,
    agentId,
    tool: toolName,
    ...(owner !== admitted.caller.owner && { of: unscopedOwner(owner).owner }),
  });
  return jsonResponse(200, JSON.stringify({ removed: id }));
}

/** At the root all agents are meant. */
function agentsFor({ engine, agent }: App, { agentPath }: HttpRequest): readonly ServedAgent[] {
  return agentPath === undefined ? [...engine.agents] : [agent];
}

function isMeant(owner: string, { caller, owners }: Admitted): boolean {
  return owners?.(owner) ?? owner === caller.owner;
}

function toJson({ agent, owner, toolName, grantedAt }: AgentGrant, { owners }: Admitted): object {
  return {
    id: Buffer.from(JSON.stringify([agent.id, owner, toolName])).toString("base64url"),
    agentId: agent.id,
    tool: toolName,
    ...(grantedAt !== undefined && { grantedAt }),
    ...(owners && unscopedOwner(owner)),
  };
}

function parseId(id: string) {
  try {
    const parts = JSON.parse(Buffer.from(id, "base64url").toString()) as unknown[];
    const [agentId, owner, toolName] = parts.map(String);
    if (agentId !== undefined && owner !== undefined && toolName !== undefined) {
      return { agentId, owner, toolName };
    }
  } catch {
    // Rejected below.
  }
  throw invalidParams("id", "is not the id of a grant; GET /convoke/grants lists them");
}

function notFound(): HttpResponse {
  const message = "there is no such grant, or it cannot be taken back";
  return jsonResponse(404, JSON.stringify({ error: { code: 404, message } }));
}
