import {
  A2AError,
  CODECS,
  CODER_DIALECTS,
  type Caller,
  type CommandResult,
  type JsonRpcRequest,
  type Metadata,
  type Task,
  checkId,
  invalidParams,
  resultText,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { randomUUID } from "node:crypto";
import type { Admission } from "../../guard/admission.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import type { App } from "../app.ts";
import { type CommandSummary, listCommands, runCommand } from "../commands.ts";
import { activate } from "../extensions.ts";
import { performOperation } from "../operations.ts";

const METHODS = ["commands/get", "command/execute"] as const;

type CommandMethod = (typeof METHODS)[number];

/** Whether the method is one that the development-tool extension adds for commands. */
export function isCommandMethod(method: string): method is CommandMethod {
  return METHODS.some((one) => one === method);
}

interface CommandCall {
  readonly request: HttpRequest;
  readonly caller: Caller;
  readonly admission: Admission;
}

/** Performs a method of the development-tool extension. */
export async function handleCommandMethod(
  app: App,
  rpc: JsonRpcRequest,
  call: CommandCall,
): Promise<HttpResponse> {
  const isList = rpc.method === "commands/get";
  call.admission.name("jsonrpc", isList ? "listCommands" : "executeCommand");
  await call.admission.count(isList ? "read" : "write");
  checkId(rpc);
  const result = isList
    ? { commands: (await listCommands(app)).map(toSlashCommand) }
    : await execute(app, rpc.params, call);
  return jsonResponse(200, resultText(rpc.id ?? null, result));
}

function toSlashCommand(command: CommandSummary): Metadata {
  return {
    name: command.name,
    description: command.description,
    arguments: command.arguments.map(({ name, description, isRequired = false }) => ({
      name,
      description,
      is_required: isRequired,
    })),
    sub_commands: command.subCommands.map(toSlashCommand),
  };
}

/**
 * Runs a command. One that starts a task returns its id at once; the caller follows the task as any
 * other. One that cannot run is not an error of the request: the result says why.
 */
async function execute(
  app: App,
  params: unknown,
  call: Pick<CommandCall, "request" | "caller">,
): Promise<Metadata> {
  const { command_path: path, args = "" } = isObject(params) ? params : {};
  if (
    !Array.isArray(path) ||
    path.length === 0 ||
    !path.every((word) => typeof word === "string")
  ) {
    throw invalidParams(
      "params.command_path",
      'must be a list of names, such as ["memory", "show"]',
    );
  }
  if (typeof args !== "string") throw invalidParams("params.args", "must be a string");
  const fields = { path: "params.command_path", args: "params.args" };
  const words = args.split(/\s+/).filter((word) => word !== "");
  try {
    const { result } = await runCommand(app, { path, args: words, fields }, call.caller);
    if (result.kind === "data")
      return { execution_id: "", status: "STARTED", message: textOf(result.data) };
    return { execution_id: await startTask(app, result, call), status: "STARTED", message: "" };
  } catch (error) {
    if (!A2AError.is(error) || !STARTING_ERRORS.has(error.reason)) throw error;
    return { execution_id: "", status: "FAILED_TO_START", message: error.detail };
  }
}

/** Sends the message of a command, and resolves to the id of its task. */
async function startTask(
  app: App,
  { text, metadata }: Extract<CommandResult, { kind: "message" }>,
  { request, caller }: Pick<CommandCall, "request" | "caller">,
): Promise<string> {
  const parts = [{ kind: "text", text }];
  const message = { kind: "message", role: "user", messageId: randomUUID(), parts, metadata };
  const asked = await activate(app, { request, caller, version: "0.3" });
  const extensions = new Set([...asked.extensions, CODER_DIALECTS.developmentTool]);
  const outcome = await performOperation(app, {
    operation: "sendMessage",
    params: { message, configuration: { blocking: false } },
    codec: CODECS["0.3"],
    caller,
    activation: { ...asked, extensions },
    request,
    lastEventId: undefined,
  });
  const task = outcome.kind === "value" ? (outcome.value as Partial<Task>) : {};
  return task.id ?? "";
}

/** What is wrong with a command rather than with the request. */
const STARTING_ERRORS: ReadonlySet<string> = new Set(["MethodNotFound", "InvalidParams"]);

function textOf(data: unknown): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}
