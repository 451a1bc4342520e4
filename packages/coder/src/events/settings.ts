import {
  CODER_DIALECTS,
  EXTENSIONS,
  type Metadata,
  type Turn,
  invalidParams,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/**
 * How a caller wants the agent to work. These are requests: what takes effect is up to the server's
 * policy.
 */
export interface AgentSettings {
  readonly kind: "agent-settings";
  /** The root folder of the workspace. */
  readonly workspacePath?: string;
  /** Run tools without confirmation. */
  readonly autoExecute?: boolean;
  /** How much the agent may do without asking: plan, ask, auto-edit or full. */
  readonly mode?: string;
  /** The name of the model, one of those that the agent has. */
  readonly model?: string;
}

/** Where messages and tasks have the settings: under the names that each dialect uses. */
const NAMES = ["coderAgent", CODER_DIALECTS.developmentTool, EXTENSIONS.coder.uri] as const;

/** The settings that came with the message of a turn, or with the creation of its task. */
export function requestedSettings({
  message,
  task,
}: Pick<Turn, "message" | "task">): AgentSettings | undefined {
  return (
    settingsIn(message.metadata, "message.metadata") ?? settingsIn(task.metadata, "task.metadata")
  );
}

function settingsIn(metadata: Metadata | undefined, carrier: string): AgentSettings | undefined {
  for (const name of NAMES) {
    const data = metadata?.[name];
    if (isObject(data)) return readSettings(data, `${carrier}[${JSON.stringify(name)}]`);
  }
  return undefined;
}

/** Checks settings, in the spelling of any dialect. */
function readSettings(data: Metadata, field: string): AgentSettings {
  const path = data["workspacePath"] ?? data["workspace_path"];
  const autoExecute = data["autoExecute"] ?? data["auto_execute"];
  if (path !== undefined && typeof path !== "string") {
    throw invalidParams(`${field}.workspacePath`, "must be a string");
  }
  if (autoExecute !== undefined && typeof autoExecute !== "boolean") {
    throw invalidParams(`${field}.autoExecute`, "must be true or false");
  }
  const { mode, model } = data;
  if (mode !== undefined && typeof mode !== "string") {
    throw invalidParams(`${field}.mode`, "must be a string");
  }
  if (model !== undefined && typeof model !== "string") {
    throw invalidParams(`${field}.model`, "must be a string");
  }
  return {
    kind: "agent-settings",
    ...(path !== undefined && { workspacePath: path }),
    ...(autoExecute !== undefined && { autoExecute }),
    ...(mode !== undefined && { mode }),
    ...(model !== undefined && { model }),
  };
}
