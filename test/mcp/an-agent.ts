import type { Agent, Metadata, StatusUpdateEvent } from "@convoke/protocol";
import type { ModelAgentDefinition } from "@convoke/runtime";
import type { RecoveryReport } from "@convoke/engine";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { LoopWorld, type LoopWorldOptions } from "../loop/a-loop-world.ts";

/** An agent with MCP servers on the real engine. What it starts is closed with the test. */
export class AgentWorld extends LoopWorld {
  constructor(definition: Partial<ModelAgentDefinition>, options: LoopWorldOptions = {}) {
    super(definition, options);
    this.#closeLater();
  }

  get agent(): Agent {
    return this.engine.agents.first.definition;
  }

  override async restart(changes: Partial<ModelAgentDefinition> = {}): Promise<RecoveryReport> {
    // The servers of a process that dies lose their calls with it.
    this.die();
    await this.agent[Symbol.asyncDispose]!();
    const recovered = await super.restart(changes);
    this.#closeLater();
    return recovered;
  }

  /** The metadata of the last status of a task. */
  async lastMetadata(taskId: string): Promise<Metadata> {
    const events = await this.events(taskId);
    const last = events.findLast(({ kind }) => kind === "status-update") as StatusUpdateEvent;
    return last.metadata ?? {};
  }

  #closeLater(): void {
    const { engine } = this;
    onTestFinished(async () => {
      engine.close();
      await engine.agents.first.dispose();
    });
  }
}

/** A folder by its real path: servers compare paths. */
export async function aFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "mcp-agent-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
