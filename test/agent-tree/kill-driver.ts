import { isTerminal } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { Caller } from "../harness/caller.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import type { Plan } from "./kill-plan.ts";
import type { TreeAgent } from "./tree-agent.ts";
import { messageFor } from "./work.ts";

/** A client of the root that follows one task to its end, across any restart of the agents. */
export class KillDriver {
  readonly plan: Plan;
  readonly caller: Caller;
  /** How many approvals were requested. */
  asked = 0;

  constructor(root: TreeAgent, plan: Plan) {
    this.plan = plan;
    this.caller = new Caller(root, plan.work.id, messageFor(plan.work));
  }

  async run(): Promise<void> {
    const { cancelAfterMs } = this.plan;
    const canceled = cancelAfterMs === undefined ? undefined : this.#cancel(cancelAfterMs);
    while (!isTerminal(await this.caller.follow())) {
      const { id, approvals } = this.#open();
      this.asked += approvals.length;
      const parts = approvals.map((approval) => answerTo(approval, { option: "once" }));
      const answered = this.caller.answer(id, parts, approvals.map((one) => one.id).join());
      // The cancellation may be faster than the answer.
      await (canceled === undefined ? answered : answered.catch(() => undefined));
    }
    await canceled;
  }

  async #cancel(afterMs: number): Promise<void> {
    await this.caller.until(({ kind }) => kind === "task");
    await sleep(afterMs);
    await this.caller.cancel(this.caller.taskId!);
  }

  #open(): { readonly id: string; readonly approvals: ReturnType<typeof openApprovals> } {
    const { task } = this.caller;
    return { id: task.id, approvals: openApprovals(task) };
  }
}
