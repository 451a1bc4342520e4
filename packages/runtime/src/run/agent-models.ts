import type { AgentEnvironment } from "@convoke/protocol";
import { ModelError } from "../model/model-error.ts";
import type { Model, ModelPrice } from "../model/model.ts";
import { isAiSdkModel } from "../models/ai-sdk/ai-sdk-model.ts";
import type { ModelChoice, ModelOptions, ModelSpec, ModelSpecs } from "../models/model-options.ts";
import { modelId, modelProblems, resolveModel } from "../models/resolve-model.ts";

/** Options that fit one model only, so that they cannot be given for a whole list. */
const OWN_OPTIONS = ["apiKey", "baseUrl", "contextTokens", "price"] as const;

/** The models of an agent, in the order in which they are tried. */
export class AgentModels {
  readonly #models: readonly AgentModel[];

  constructor(given: ModelSpecs, options: ModelOptions = {}) {
    if (isList(given)) {
      if (given.length === 0) throw new TypeError("model: the list is empty; name at least one");
      const own = OWN_OPTIONS.find((name) => options[name] !== undefined);
      if (own !== undefined) {
        throw new TypeError(
          `modelOptions.${own} is for one model: in a list, write { model: "<name>", ${own}: … }`,
        );
      }
    }
    const choices = isList(given) ? given.map(toChoice) : [{ model: given }];
    this.#models = choices.map(
      ({ model, ...own }) => new AgentModel(model, { ...options, ...own }),
    );
  }

  get first(): AgentModel {
    return this.#models[0]!;
  }

  /** The model with that id. The first one, if there is none or no id is given. */
  find(id: string | undefined): AgentModel {
    // The last one: of two models with the same id, a turn that has changed models uses the second.
    return this.#models.findLast((model) => model.id === id) ?? this.first;
  }

  /** The model that is tried after that one. */
  after(model: AgentModel): AgentModel | undefined {
    return this.#models[this.#models.indexOf(model) + 1];
  }

  /**
   * Throws if no model can be used in this process, with everything that is missing. Warns of a
   * model that cannot be used if another one can.
   */
  check(logger: AgentEnvironment["logger"]): void {
    const checked = this.#models.map((model) => ({ id: model.id, problems: model.problems() }));
    const broken = checked.filter(({ problems }) => problems.length > 0);
    if (broken.length === checked.length) {
      const all = broken.flatMap(({ problems }) => problems).join("; and ");
      throw new ModelError("refused", `the agent's model cannot be used: ${all}`);
    }
    for (const { id: model, problems } of broken) {
      const problem = problems.join("; and ");
      logger?.warn("a model of the agent cannot be used, and is skipped", { model, problem });
    }
  }
}

/** One model of an agent. */
export class AgentModel {
  readonly id: string;
  readonly #spec: ModelSpec;
  readonly #options: ModelOptions;
  #model: Promise<Model> | undefined;

  constructor(spec: ModelSpec, options: ModelOptions) {
    this.id = modelId(spec);
    this.#spec = spec;
    this.#options = options;
  }

  get price(): ModelPrice | undefined {
    const spec = this.#spec;
    const isOwn = typeof spec !== "string" && !isAiSdkModel(spec);
    return this.#options.price ?? (isOwn ? spec.price : undefined);
  }

  problems(): readonly string[] {
    return modelProblems(this.#spec, this.#options);
  }

  /**
   * Resolved on first use, so that a server can show its card before it loads a provider. A failure
   * is not cached, because its cause, such as a missing key, may be fixed in the meantime.
   */
  resolve(): Promise<Model> {
    this.#model ??= resolveModel(this.#spec, this.#options).catch((error: unknown) => {
      this.#model = undefined;
      throw error;
    });
    return this.#model;
  }
}

function isList(given: ModelSpecs): given is readonly (ModelSpec | ModelChoice)[] {
  return Array.isArray(given);
}

function toChoice(given: ModelSpec | ModelChoice): ModelChoice {
  const isChoice = typeof given === "object" && given !== null && "model" in given;
  return isChoice ? given : { model: given };
}
