import type { AgentSkill } from "@convoke/protocol";
import type { ModelAgentDefinition } from "@convoke/runtime";
import { type ScriptedModel, scriptedModel } from "@convoke/runtime/testing";
import { type ServeAgentOptions, type Server, defineAgent, serve } from "convoke";
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

const CARD = ".well-known/agent-card.json";

/** An agent with MCP servers on a real port, which is closed with the test. */
export class ServedAgent {
  readonly model: ScriptedModel;
  readonly logger = memoryLogger();
  #server: Server | undefined;

  private constructor(model: ScriptedModel) {
    this.model = model;
  }

  static async start(
    definition: Partial<ModelAgentDefinition>,
    options: ServeAgentOptions & { readonly model?: ScriptedModel } = {},
  ): Promise<ServedAgent> {
    const { model = scriptedModel(["Done."]), ...serving } = options;
    const served = new ServedAgent(model);
    const { logger } = served;
    const agent = defineAgent({ name: "Thinker", description: "Thinks.", ...definition, model });
    const server = await serve(agent, { port: 0, data: "memory", logger, ...serving });
    onTestFinished(() => server.close());
    served.#server = server;
    return served;
  }

  get url(): string {
    return this.#server!.url;
  }

  get(headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + CARD, { headers });
  }

  async card(version?: string): Promise<{ readonly skills: readonly AgentSkill[] }> {
    const answer = await this.get(version === undefined ? {} : { "a2a-version": version });
    return (await answer.json()) as { readonly skills: readonly AgentSkill[] };
  }

  async skillIds(): Promise<readonly string[]> {
    return (await this.card()).skills.map(({ id }) => id);
  }

  /** The response to one message, with headers and metadata if needed. */
  async say(
    headers: Readonly<Record<string, string>> = {},
    metadata: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const parts = [{ kind: "text", text: "go" }];
    const message = { kind: "message", role: "user", messageId: randomUUID(), parts, metadata };
    const answer = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }),
    });
    return answer.json();
  }

  /** The tools that were last offered to the model. */
  toldTools(): readonly string[] {
    return this.model.requests.at(-1)?.tools.map(({ name }) => name) ?? [];
  }
}
