import type { AgentPlace, InternalEvent } from "@convoke/protocol";
import { LoopJournal } from "../loop/loop-journal.ts";
import { ChildCancels } from "./child-cancels.ts";
import { SubAgentLink, type SubAgentReport } from "./sub-agent-link.ts";
import type { SubAgentSettings } from "./sub-agent-settings.ts";

/** The sub-agents of one agent: how each is reached, and what is to be canceled there. */
export class AgentSubAgents {
  readonly links: readonly SubAgentLink[];
  readonly cancels: ChildCancels;

  constructor(caller: string, settings: readonly SubAgentSettings[]) {
    this.links = settings.map((one) => new SubAgentLink(one));
    this.cancels = new ChildCancels(caller, (name) => this.find(name));
  }

  find(name: string): SubAgentLink | undefined {
    return this.links.find((link) => link.name === name);
  }

  /** Looks who they are, all at once. */
  async look(owner: string, waitMs: number): Promise<void> {
    await Promise.all(this.links.map((link) => link.look(owner, waitMs)));
  }

  report(): readonly SubAgentReport[] {
    return this.links.map((link) => link.report());
  }

  prepare(place: AgentPlace): void {
    for (const link of this.links) link.prepare(place);
    this.cancels.prepare(place);
  }

  /** Nobody works on the task any more: whatever its calls began is canceled. */
  abandon(journal: readonly InternalEvent[]): void {
    for (const { task, call } of new LoopJournal(journal).openSubAgents()) {
      if (task !== undefined) {
        const { agent, owner, childTaskId } = task;
        this.cancels.add({ agent, owner, childTaskId });
      } else {
        const { agent, owner, messageId, childContextId } = call;
        this.cancels.add({ agent, owner, message: { messageId, childContextId } });
      }
    }
  }

  async close(): Promise<void> {
    await this.cancels.close();
    await Promise.all(this.links.map((link) => link.close()));
  }
}
