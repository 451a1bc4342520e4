import type { EgressOptions } from "@convoke/egress";
import type {
  Budget,
  McpServerConfig,
  Model,
  ModelOptions,
  ModelSpec,
  SubAgentsDefinition,
  Tool,
} from "@convoke/runtime";
import { didYouMean } from "@convoke/protocol/internal";
import { resolve } from "node:path";
import {
  type CompletePolicy,
  type PolicyDefinition,
  parsePolicy,
} from "../policy/policy-definition.ts";
import { codingDemoModel } from "./demo-model.ts";

/** A coding agent, as its author writes it. Only `workspace` is required. */
export interface CoderOptions {
  /** The folder that it works in, unless a caller asks for another one in `allowedRoots`. */
  readonly workspace: string;
  /**
   * Folders in which a caller may choose a workspace of its own. Default: none, so that everybody
   * works in `workspace`.
   */
  readonly allowedRoots?: readonly string[];
  /** What it may do. Default: it asks before each change and each command. */
  readonly policy?: PolicyDefinition;
  /**
   * The model, or several by name, of which a conversation can choose one with `/model`; the first
   * is the default. Default "demo": no AI, but every tool can be tried with simple words.
   */
  readonly model?: ModelSpec | Readonly<Record<string, ModelSpec>>;
  readonly modelOptions?: ModelOptions;
  /** Added to its own instructions. */
  readonly instructions?: string;
  /** Tools in addition to its own. Their own `confirm` decides on them. */
  readonly tools?: readonly Tool[];
  /**
   * MCP servers whose tools it can use. The policy decides on each call, so `confirm` of a server
   * has no effect. Servers of a command start in the workspace unless `cwd` says otherwise.
   */
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>;
  /** Other agents that it can call. The policy decides on each call. */
  readonly subAgents?: SubAgentsDefinition;
  /** Limits of each turn. Default: those of an agent with a model. */
  readonly budget?: Budget;
  /**
   * The state in which a turn ends. Default "completed". "input-required" keeps the task open for
   * the next message, as clients of Gemini's coding agent expect.
   */
  readonly turnEndState?: "completed" | "input-required";
  /**
   * What `fetch_url` may reach in addition to public addresses; false removes the tool. Default:
   * public addresses only.
   */
  readonly fetch?: { readonly allow?: EgressOptions["allow"] } | false;
  /** Variables of the server that commands get. Default: only harmless ones such as PATH. */
  readonly passEnvironment?: readonly string[];
  /**
   * Summarizes a conversation that is longer than this many tokens before the next turn. Default:
   * two thirds of the model's context window, if it is known.
   */
  readonly compactAtTokens?: number;
  /** Identifies the agent to its stored tasks. Default: made of its name. */
  readonly id?: string;
  /** Default "Coder". */
  readonly name?: string;
  readonly description?: string;
}

/** A model that a conversation can choose. */
export interface NamedModel {
  readonly name: string;
  readonly model: ModelSpec;
}

/** The options, with all defaults. */
export interface CoderSettings extends Omit<CoderOptions, "model"> {
  readonly allowedRoots: readonly string[];
  readonly rights: CompletePolicy;
  readonly models: readonly NamedModel[];
  readonly turnEndState: "completed" | "input-required";
  readonly fetch: NonNullable<CoderOptions["fetch"]>;
  readonly name: string;
  readonly description: string;
}

const NAMES: Readonly<Record<keyof CoderOptions, true>> = {
  workspace: true,
  allowedRoots: true,
  policy: true,
  model: true,
  modelOptions: true,
  instructions: true,
  tools: true,
  mcpServers: true,
  subAgents: true,
  budget: true,
  turnEndState: true,
  fetch: true,
  passEnvironment: true,
  compactAtTokens: true,
  id: true,
  name: true,
  description: true,
};

/** Checks the options and adds the defaults. */
export function coderSettings(options: CoderOptions): CoderSettings {
  const names = Object.keys(NAMES);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`coder has no option ${unknown}.${didYouMean(unknown, names)}`);
  }
  const { workspace, allowedRoots = [], turnEndState = "completed" } = options;
  if (typeof workspace !== "string" || workspace === "") {
    throw new TypeError('coder needs a workspace: coder({ workspace: "/path/to/project" })');
  }
  if (turnEndState !== "completed" && turnEndState !== "input-required") {
    throw new TypeError('turnEndState must be "completed" or "input-required"');
  }
  return {
    ...options,
    workspace: resolve(workspace),
    allowedRoots: allowedRoots.map((root) => resolve(root)),
    rights: parsePolicy(options.policy ?? {}, "policy of coder"),
    models: namedModels(options.model ?? "demo"),
    turnEndState,
    fetch: options.fetch ?? {},
    name: options.name ?? "Coder",
    description: options.description ?? "Reads, writes and runs code in a workspace.",
  };
}

function namedModels(given: NonNullable<CoderOptions["model"]>): readonly NamedModel[] {
  if (typeof given === "string") return [{ name: given, model: ownDemo(given) }];
  if (isModel(given)) return [{ name: idOf(given), model: given }];
  const models = Object.entries(given).map(([name, model]) => ({ name, model: ownDemo(model) }));
  if (models.length === 0) throw new TypeError("model: name at least one model");
  return models;
}

/** The demo model of the runtime knows nothing of files. */
function ownDemo(model: ModelSpec): ModelSpec {
  return model === "demo" ? codingDemoModel() : model;
}

function isModel(given: object): given is Exclude<ModelSpec, string> {
  return "stream" in given || "doStream" in given;
}

function idOf(model: Exclude<ModelSpec, string>): string {
  return (
    (model as Partial<Model>).id ?? (model as { readonly modelId?: string }).modelId ?? "model"
  );
}
