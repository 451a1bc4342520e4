import { type AgentEnvironment, type Metadata, type Metrics, NO_METRICS } from "@convoke/protocol";
import { randomBytes } from "node:crypto";

/**
 * Reports to the operator: failures of tools and models, which the agent survives or turns into the
 * end of a task, and measurements. Silent until the agent is served.
 */
export class OperatorLog {
  #logger: AgentEnvironment["logger"];

  #metrics: Metrics = NO_METRICS;

  prepare({ logger, metrics = NO_METRICS }: AgentEnvironment): void {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  get metrics(): Metrics {
    return this.#metrics;
  }

  /** Logs a failure, with its stack at level debug. Returns the id that both lines have. */
  failed(message: string, fields: Metadata, error: unknown): string {
    const errorId = randomBytes(6).toString("hex");
    const problem = error instanceof Error ? error.message : String(error);
    this.#logger?.warn(message, { ...fields, errorId, problem });
    if (error instanceof Error) this.#logger?.debug(message, { ...fields, errorId, error });
    return errorId;
  }
}
