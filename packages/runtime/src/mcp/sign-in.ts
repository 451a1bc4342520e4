import { challengeFields } from "@convoke/client/oauth";
import { authRequired, webUrl } from "../tools/interrupts.ts";
import type { AuthRequired, Tool, ToolContext, ToolEvent } from "../tools/tool.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpError } from "./mcp-error.ts";
import type { McpServerSettings } from "./mcp-settings.ts";

const REQUEST_ID = "sign-in";

/** Asks the user to sign in to a server. */
export function signInInterrupt(server: string, challenge: Challenge = {}): AuthRequired {
  const { url, realm } = challenge;
  const where = realm === undefined ? "" : ` (${realm})`;
  return authRequired(`The MCP server ${server}${where} wants you to sign in.`, {
    requestId: REQUEST_ID,
    ...(url !== undefined && { url }),
  });
}

/**
 * The only tool of a server that lists no tools until the user signs in. Without it, no call could
 * ever ask for the sign-in.
 */
export function signInTool(server: McpServerSettings, connection: McpConnection): Tool {
  const name = `${server.prefix}__sign_in`;
  return {
    name,
    description:
      `Asks the user to sign in to the MCP server ${server.name}, whose tools cannot be used ` +
      "before. Call it only when they are needed.",
    inputSchema: { type: "object", properties: {} },
    confirm: "never",
    idempotent: true,
    timeoutMs: server.callTimeoutMs,
    check: async (input) => ({ ok: true, input }),
    run: (_, context) => signIn(server.name, connection, context),
  };
}

async function signIn(
  server: string,
  connection: McpConnection,
  { answers }: ToolContext,
): Promise<AuthRequired | ToolEvent> {
  try {
    await connection.ready();
    return { kind: "tool:result", value: `Signed in: the tools of ${server} can be used now.` };
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    if (error.kind === "sign-in" && !answers.has(REQUEST_ID)) {
      return signInInterrupt(server, error.challenge);
    }
    const why = error.kind === "sign-in" ? "it still refuses us" : error.message;
    return { kind: "tool:error", text: `The MCP server ${server} cannot be used: ${why}.` };
  }
}

/** What a server says about how to sign in. */
export interface Challenge {
  readonly url?: string;
  readonly realm?: string;
  readonly scope?: string;
}

const MAX_TEXT = 200;

/** Reads a `WWW-Authenticate` header (RFC 9728 §5.1). */
export function readChallenge(header: string): Challenge {
  const fields = challengeFields(header);
  const url = webUrl(fields.get("authorization_uri") ?? fields.get("resource_metadata"));
  const realm = fields.get("realm")?.slice(0, MAX_TEXT);
  const scope = fields.get("scope")?.slice(0, MAX_TEXT);
  return {
    ...(url !== undefined && { url }),
    ...(realm && { realm }),
    ...(scope && { scope }),
  };
}
