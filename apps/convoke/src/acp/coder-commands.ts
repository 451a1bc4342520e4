import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { listField, objectField, textField } from "../terminal/json-fields.ts";

/** A request to a route of the server that is not part of A2A. A body makes it a POST. */
export type AskServer = (path: string, body?: object) => Promise<unknown>;

/** What is in effect in a conversation with a coding agent. */
export interface CoderStatus {
  readonly title: string;
  readonly mode: string;
  readonly modes: readonly string[];
  readonly model: string;
  readonly models: readonly string[];
  /** The tokens in the context of the model, and how many it can have. */
  readonly context?: { readonly used: number; readonly size: number };
  /** In US dollars. */
  readonly cost?: number;
}

/** Of an agent that has modes, but does not say which one is in effect. */
const ANY_MODE: CoderStatus = {
  title: "",
  mode: "ask",
  modes: ["plan", "ask", "auto-edit", "full"],
  model: "",
  models: [],
};

/** A conversation, as the coding agent lists it. */
export interface CoderSession {
  readonly contextId: string;
  readonly title: string;
  readonly cwd: string;
  readonly updatedAt: string;
}

/** The commands of a coding agent. The user types them as messages: `/name arguments`. */
export class CoderCommands {
  readonly list: readonly AvailableCommand[];
  readonly #ask: AskServer;

  private constructor(ask: AskServer, list: readonly AvailableCommand[]) {
    this.#ask = ask;
    this.list = list;
  }

  static async open(ask: AskServer): Promise<CoderCommands> {
    const commands = listField(await ask("/listCommands"), "commands");
    return new CoderCommands(ask, commands.map(toCommand));
  }

  has(name: string): boolean {
    return this.list.some((command) => command.name === name);
  }

  /** Undefined if the agent has no modes. A conversation that does not exist has the defaults. */
  async status(contextId: string): Promise<CoderStatus | undefined> {
    if (!this.has("status")) return this.has("mode") ? ANY_MODE : undefined;
    const data = await this.#run("status", contextId);
    const { contextTokens: used, contextSize: size } = data;
    const { cost } = objectField(data, "usage");
    return {
      title: textField(data, "title"),
      mode: textField(data, "mode"),
      modes: textsField(data, "modes"),
      model: textField(data, "model"),
      models: textsField(data, "models"),
      ...(typeof used === "number" && typeof size === "number" && { context: { used, size } }),
      ...(typeof cost === "number" && { cost }),
    };
  }

  /** The conversations of the caller, newest first. Undefined if the agent does not list them. */
  async sessions(): Promise<readonly CoderSession[] | undefined> {
    if (!this.has("sessions")) return undefined;
    const answer = await this.#ask("/executeCommand", { command: "sessions list" });
    return listField(answer, "data").map((session) => ({
      contextId: textField(session, "contextId"),
      title: textField(session, "title"),
      cwd: textField(session, "workspacePath"),
      updatedAt: textField(session, "updatedAt"),
    }));
  }

  async #run(command: string, contextId: string): Promise<Readonly<Record<string, unknown>>> {
    return objectField(await this.#ask("/executeCommand", { command, contextId }), "data");
  }
}

function toCommand(command: unknown): AvailableCommand {
  const names = listField(command, "subCommands").map((one) => textField(one, "name"));
  const words = listField(command, "arguments").map((one) => textField(one, "name"));
  const hint = [...(names.length > 0 ? [names.join(" | ")] : []), ...words].join(" ");
  return {
    name: textField(command, "name"),
    description: textField(command, "description"),
    ...(hint !== "" && { input: { hint } }),
  };
}

function textsField(value: unknown, name: string): readonly string[] {
  return listField(value, name).filter((one) => typeof one === "string");
}
