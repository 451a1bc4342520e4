import type { Task } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { TreeAgent } from "./tree-agent.ts";

/** A chain of agents, each of which can call the next. */
export class Tree implements AsyncDisposable {
  /** The root first. */
  readonly agents: readonly TreeAgent[];

  private constructor(agents: readonly TreeAgent[]) {
    this.agents = agents;
  }

  static async start(names: readonly string[]): Promise<Tree> {
    const agents: TreeAgent[] = [];
    for (const name of names.toReversed()) {
      const [below] = agents;
      const subAgents = below === undefined ? {} : { [below.name]: below.address };
      const agent = new TreeAgent(name, { subAgents });
      agents.unshift(agent);
      await agent.start();
    }
    return new Tree(agents);
  }

  get root(): TreeAgent {
    return this.agents[0]!;
  }

  get leaf(): TreeAgent {
    return this.agents.at(-1)!;
  }

  get(name: string): TreeAgent {
    return this.agents.find((agent) => agent.name === name)!;
  }

  /**
   * The tasks of all agents that a task of the root caused, agent by agent, found by the caller
   * that each references.
   */
  async tasksOf(rootTaskId: string): Promise<readonly (readonly Task[])[]> {
    const [root, ...others] = this.agents;
    const found: (readonly Task[])[] = [[await (await root!.client()).get(rootTaskId)]];
    for (const agent of others) {
      const above = found.at(-1)!;
      found.push((await Promise.all(above.map(({ id }) => agent.tasksFor(id)))).flat());
    }
    return found;
  }

  /** The state of the only task of each agent. */
  async statesOf(rootTaskId: string): Promise<readonly string[]> {
    const tasks = await this.tasksOf(rootTaskId);
    return tasks.map((own) => own.map(({ status }) => status.state).join(" and "));
  }

  /** How often each agent called its model or ran a tool. */
  get counts(): readonly number[] {
    return this.agents.map(({ notes }) => notes.filter(({ what }) => what !== "stopped").length);
  }

  /** Resolves when no agent has an unfinished task. */
  async isQuiet(): Promise<void> {
    for (const agent of this.agents.toReversed()) {
      while (await agent.isBusy()) await sleep(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.close()));
  }
}
