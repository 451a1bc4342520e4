import { type Caller, invalidParams } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { subjectDigest } from "@convoke/engine";
import type { App } from "../app.ts";
import { denied } from "../../guard/authorize.ts";
import { scopedCaller, unscopedOwner } from "../../guard/guard.ts";
import { ROLE_SCOPES, ownersFor } from "../../guard/roles.ts";
import {
  type HttpRequest,
  type HttpResponse,
  jsonResponse,
  parseJson,
} from "../../http/exchange.ts";
import { type Admitted, admit } from "./admit.ts";

/** What the body of a request names. */
interface ErasureRequest {
  readonly owner?: string;
  readonly contextId?: string;
}

/**
 * Erases everything about an owner, or about one of its conversations, for operators. Answers when it
 * is done; a request that is cut off before is finished all the same.
 */
export async function handleErasure(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const params = parseRequest(parseJson(await request.body()));
  const admitted = await admit(app, "eraseData", { request, caller: identified, params });
  const needed = [ROLE_SCOPES.operator];
  if (!app.isOperator(identified)) {
    throw denied("erasing data is for operators", { missing: needed, required: needed });
  }
  const owner = ownerIn(app, params, { ...admitted, request });
  const subject = { owner, contextId: params.contextId };
  app.audit.record("erasure.requested", {
    requestId: request.id,
    ...unscopedOwner(admitted.caller.owner),
    subject: subjectDigest(subject),
    isWholeOwner: params.contextId === undefined,
  });
  const tasks = await app.erasures.erase(subject);
  return jsonResponse(200, JSON.stringify({ tasks }));
}

function parseRequest(body: unknown): ErasureRequest {
  if (!isObject(body)) throw invalidParams("body", 'must be an object such as {"owner": "ann"}');
  for (const name of ["owner", "contextId"]) {
    const given = body[name];
    if (given !== undefined && (typeof given !== "string" || given === "")) {
      throw invalidParams(name, "must be a text that is not empty");
    }
  }
  const { owner, contextId } = body as ErasureRequest;
  if (owner === undefined && contextId === undefined) {
    throw invalidParams("owner", "is required, unless contextId names one of your conversations");
  }
  return {
    ...(owner !== undefined && { owner }),
    ...(contextId !== undefined && { contextId }),
  };
}

/** The owner as it is stored: of the caller's tenant, if it has one. Another owner needs the role. */
function ownerIn(
  { tenants, roles, audit }: App,
  { owner: name }: ErasureRequest,
  { caller, request, owners: named }: Admitted & { readonly request: HttpRequest },
): string {
  if (name === undefined) return caller.owner;
  const { tenant } = caller;
  const given = tenant === undefined ? { owner: name } : { owner: name, tenant };
  const { owner } = scopedCaller(given, undefined, tenants);
  if (owner === caller.owner || named !== undefined) return owner;
  ownersFor(caller, "eraseData", { asked: "*", roles });
  const { path, id: requestId } = request;
  const facts = { requestId, path, operation: "eraseData" };
  audit.record("access.elevated", { ...facts, ...unscopedOwner(caller.owner) });
  return owner;
}
