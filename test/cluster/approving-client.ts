import { type Approval, isTerminal } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { IsRejected, Plan } from "../agent-tree/kill-plan.ts";
import type { Notes } from "../agent-tree/notes.ts";
import { messageFor } from "../agent-tree/work.ts";
import { Caller, type Directory } from "../harness/caller.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";

export interface ApprovingClientOptions {
  readonly servers: Directory;
  readonly plan: Plan;
  /** What the agents did so far. */
  readonly notes: Notes;
  readonly isRejected: IsRejected;
}

/** How long it waits between two reads of the list of approvals. */
const PAUSE_MS = 200;

/**
 * The client of one task of several servers. It follows the task at any of them, finds what needs an
 * approval at another one, and decides at a third.
 */
export class ApprovingClient {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly problems: string[] = [];
  /** How many approvals were requested. */
  asked = 0;
  readonly #options: ApprovingClientOptions;

  constructor(options: ApprovingClientOptions) {
    const { plan, servers } = options;
    this.#options = options;
    this.plan = plan;
    this.caller = new Caller(servers, plan.work.id, messageFor(plan.work));
  }

  async run(): Promise<void> {
    while (!isTerminal(await this.caller.follow())) await this.#decide();
  }

  async #decide(): Promise<void> {
    const { task } = this.caller;
    const approvals = openApprovals(task);
    this.asked += approvals.length;
    const ids = approvals.map(({ id }) => id).join();
    await this.#compareList(task.id, ids);
    for (const path of approvals.map(pathOf)) {
      if (this.#hasRun(path)) this.problems.push(`${path} was deleted before it was approved`);
    }
    const parts = approvals.map((approval) =>
      answerTo(approval, { option: this.#isRejected(approval) ? "reject" : "once" }),
    );
    await this.caller.answer(task.id, parts, ids);
  }

  /** A server that has shown an approval to a client lists it, and so does every other one. */
  async #compareList(taskId: string, ids: string): Promise<void> {
    const listed = await this.#listed(taskId);
    if (listed !== ids) this.problems.push(`a server lists the approvals ${listed} and not ${ids}`);
  }

  async #listed(taskId: string): Promise<string> {
    for (;;) {
      const url = new URL(
        "/agents/root/convoke/approvals?pageSize=100",
        await this.#options.servers.url(),
      );
      const response = await fetch(url).catch(() => undefined);
      const list = response?.ok ? ((await response.json()) as ApprovalList) : undefined;
      if (list !== undefined) {
        const own = list.approvals.filter((approval) => approval.taskId === taskId);
        return own.map(({ id }) => id).join();
      }
      await sleep(PAUSE_MS);
    }
  }

  #hasRun(path: string): boolean {
    return this.#options.notes
      .all()
      .some(({ name, input }) => name === "delete" && (input as { path: string }).path === path);
  }

  #isRejected(approval: Approval): boolean {
    return this.#options.isRejected(pathOf(approval));
  }
}

interface ApprovalList {
  readonly approvals: readonly { readonly id: string; readonly taskId: string }[];
}

function pathOf({ tool }: Approval): string {
  return String(tool.arguments["path"]);
}
