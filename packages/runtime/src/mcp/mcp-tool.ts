import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { authRequired } from "../tools/interrupts.ts";
import { toolInput } from "../tools/tool-input.ts";
import type { ConfirmRule, Interrupt, Tool, ToolContext, ToolEvent } from "../tools/tool.ts";
import { isElicitationId } from "./elicitation.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpError } from "./mcp-error.ts";
import type { CallOptions } from "./mcp-session.ts";
import { isRule, type McpServerSettings } from "./mcp-settings.ts";
import type { OpenCalls } from "./open-call.ts";
import { resultEvents } from "./result-content.ts";
import { serverSchemaCheck } from "./server-schema.ts";
import { signInInterrupt } from "./sign-in.ts";

/** What the tools of one server share. */
export interface McpToolSurroundings {
  readonly server: McpServerSettings;
  readonly connection: McpConnection;
  readonly calls: OpenCalls;
  readonly maxResultSize: number;
}

const MAX_DESCRIPTION = 4000;
const PERHAPS_DONE = "It may or may not have done its work; check before you repeat it.";
const CUT = `Unknown: the call was cut while it waited for an answer. ${PERHAPS_DONE}`;

/** A tool of a server, for models. Throws when the server describes it in a way that cannot be. */
export function mcpTool(name: string, described: ServerTool, around: McpToolSurroundings): Tool {
  const { server } = around;
  const { annotations, description = described.title ?? described.name } = described;
  const { schema } = toolInput(name, described.inputSchema);
  const isReader = annotations?.readOnlyHint === true;
  const idempotent = isReader || annotations?.idempotentHint === true;
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    input: schema,
    confirm: confirmByAnnotations(server, described),
    idempotent,
    timeoutMs: server.callTimeoutMs,
    check: serverSchemaCheck(schema),
    run: (input, context) => run({ ...around, described, idempotent }, input, context),
  };
}

interface RunSurroundings extends McpToolSurroundings {
  readonly described: ServerTool;
  readonly idempotent: boolean;
}

type RunReturn = ToolEvent | readonly Interrupt[];

async function* run(
  around: RunSurroundings,
  input: unknown,
  context: ToolContext,
): AsyncGenerator<ToolEvent, RunReturn> {
  const { calls, idempotent, maxResultSize } = around;
  const kept = calls.find(context);
  const isCut = kept === undefined && [...context.answers.keys()].some(isElicitationId);
  if (isCut && !idempotent) return { kind: "tool:error", text: CUT };
  const call = kept ?? calls.begin(context, (options) => callServer(around, input, options));
  let isKept = false;
  try {
    const end = yield* call.round(context);
    if (end.kind === "result") return yield* resultEvents(end.result, context, maxResultSize);
    if (end.kind === "error") return failure(around, end.error, context);
    isKept = true;
    return end.interrupts;
  } finally {
    if (isKept) calls.keep(context);
    else calls.end(context);
  }
}

/** Asks once more when the server certainly did nothing the first time, such as after its restart. */
async function callServer(
  { connection, described }: RunSurroundings,
  input: unknown,
  options: CallOptions,
): ReturnType<Parameters<OpenCalls["begin"]>[1]> {
  const given = input as Readonly<Record<string, unknown>>;
  const session = await connection.ready();
  try {
    return await session.call(described.name, given, options);
  } catch (error) {
    if (!(error instanceof McpError) || !error.isUntouched) throw error;
    const next = await connection.ready();
    return next.call(described.name, given, options);
  }
}

function failure(
  { server, described }: RunSurroundings,
  error: unknown,
  { answers }: ToolContext,
): RunReturn {
  const { name } = server;
  if (!(error instanceof McpError)) throw error;
  if (error.kind === "sign-in") {
    const interrupt = signInInterrupt(name, error.challenge);
    // After a sign-in that did not help, the user is not sent there again.
    if (!answers.has(interrupt.requestId)) return [interrupt];
  }
  const visits = error.visits
    .map(({ url, prompt }, place) =>
      authRequired(`The MCP server ${name} asks: ${prompt}`, { requestId: `visit-${place}`, url }),
    )
    .filter(({ requestId }) => !answers.has(requestId));
  if (visits.length > 0) return visits;
  const why = (error.said ?? error.message).replace(/\.$/, "");
  const after = error.kind === "gone" ? ` ${PERHAPS_DONE}` : "";
  const text = `${described.name} of the MCP server ${name} failed: ${why}.${after}`;
  return { kind: "tool:error", text };
}

/**
 * Whether calls of a tool need approval. What the operator says counts; otherwise
 * a tool that only reads does not, and one that does not say what it does, does.
 */
function confirmByAnnotations(
  { name: server, confirm }: McpServerSettings,
  { name, annotations }: ServerTool,
): ConfirmRule {
  if (isRule(confirm)) return confirm;
  if (confirm !== undefined && Object.hasOwn(confirm, name)) return confirm[name]!;
  if (annotations?.readOnlyHint === true) return "never";
  const words = {
    // Its name, and not its title: that may promise anything.
    title: `${server}: ${name.slice(0, 100)}`,
    risk: annotations?.destructiveHint === false ? "info" : "warning",
  } as const;
  return () => words;
}
