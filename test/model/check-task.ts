import assert from "node:assert/strict";
import { type Task, isInterrupted, isTerminal, textOfParts } from "@convoke/protocol";
import type { TaskRecord } from "@convoke/engine";
import type { Setting } from "./commands.ts";
import { HOUR_MS } from "./program.ts";
import type { Account } from "./reference.ts";

/** What is known about a task in addition to its log. */
export interface TaskFacts {
  readonly task: Task;
  readonly record: TaskRecord;
  readonly account: Account;
  readonly setting: Setting;
  readonly now: number;
  /** A caller requested its cancellation; a caller received the canceled task. */
  readonly isCancelAsked: boolean;
  readonly isCanceled: boolean;
  readonly hasSeenCrash: boolean;
  /** How many runs are working on it. */
  readonly runs: number;
}

/** Checks that an idle task is in the state that it must be in. */
export function checkTask(facts: TaskFacts): void {
  const { task, record, account } = facts;
  const { state } = task.status;
  assert.equal(record.state, state);
  assert.equal(account.state, state);
  if (account.isCancelRecorded || facts.isCanceled) assert.equal(state, "canceled");
  const text = (task.artifacts ?? []).map(({ parts }) => textOfParts(parts)).join("");
  if (isTerminal(state)) {
    checkEnd(facts, text);
    assert.equal(facts.runs, 0, "a run continues after the end");
    assert.equal(record.wakeAt, undefined);
    return;
  }
  assert.equal(text, account.text);
  assert.ok(facts.now < deadlineOf(facts), "the task is past its deadline");
  assert.ok((record.wakeAt ?? Number.POSITIVE_INFINITY) > facts.now, "the task was not woken");
  if (isInterrupted(state)) {
    assert.ok(["asking", "turn over"].includes(account.standing), account.standing);
    assert.equal(facts.runs, 0);
    return;
  }
  assert.equal(state, "working");
  if (account.standing === "sleeping") assert.notEqual(record.wakeAt, undefined);
  else assert.equal(account.standing, "working");
  assert.equal(facts.runs, account.standing === "working" ? 1 : 0, "the number of active runs");
}

/** A task ends as its program says, or for a reason that must have existed. */
function checkEnd(facts: TaskFacts, text: string): void {
  const { account, setting, task } = facts;
  const { state, reason, standing } = account;
  if (state === "completed" || reason === "agent-error") {
    assert.equal(standing, state);
    assert.equal(text, account.text);
    return;
  }
  assert.ok(account.text.startsWith(text), `${text} is not a prefix of ${account.text}`);
  if (state === "canceled") return assert.ok(facts.isCancelAsked);
  assert.equal(state, "failed");
  switch (reason) {
    case "interrupted":
      assert.ok(facts.hasSeenCrash && !setting.restart && !account.isDurable);
      return;
    case "input-timeout":
      assert.equal(setting.inputTimeout, "fail");
      assert.ok(["asking", "turn over"].includes(standing), standing);
      return;
    case "timeout":
      assert.ok(facts.now >= deadlineOf(facts), "the task failed before its time");
      return;
    default:
      assert.fail(`task ${task.id} failed for ${String(reason)}`);
  }
}

function deadlineOf({ record, setting: { timeoutHours } }: TaskFacts): number {
  return timeoutHours === undefined
    ? Number.POSITIVE_INFINITY
    : record.createdAt + timeoutHours * HOUR_MS;
}
