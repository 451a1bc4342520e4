import { describe, expect, test } from "vitest";
import type { Backend, TaskQuery, TaskRecord } from "../../log/backend.ts";
import { type OpenBackend, aCreation, aStep, using } from "./fixtures.ts";

export interface AgentScopes {
  /**
   * Whether each agent has its own message ids and contexts even if a step does not say so. Default
   * false: a store that one agent has used alone can be used by several later.
   */
  readonly isAlwaysPerAgent?: boolean;
}

/** Several agents can share a store. What is asked for one of them does not show the others. */
export function describeAgents(
  open: OpenBackend,
  { isAlwaysPerAgent = false }: AgentScopes = {},
): void {
  describe("agents", () => {
    test(
      "a list of one agent has its tasks and their number, with every filter",
      using(open, async (backend) => {
        await aTask(backend, "g1", "greeter");
        await aTask(backend, "p1", "poet");
        await aTask(backend, "g2", "greeter", { state: "completed", contextId: "other" });
        await backend.commit(aCreation("old", { statusAt: 40 }));
        await backend.commit(aCreation("eve", {}, { owner: "eve", agentId: "greeter" }));

        expect(await list(backend, {})).toEqual([["old", "g2", "p1", "g1"], 4]);
        expect(await list(backend, { agentId: "greeter" })).toEqual([["g2", "g1"], 2]);
        expect(await list(backend, { agentId: "greeter", limit: 1 })).toEqual([["g2"], 2]);
        expect(await list(backend, { agentId: "poet" })).toEqual([["p1"], 1]);
        expect(await list(backend, { agentId: "none" })).toEqual([[], 0]);
        expect(await list(backend, { agentId: "greeter", state: "working" })).toEqual([["g1"], 1]);
        expect(await list(backend, { agentId: "poet", state: "completed" })).toEqual([[], 0]);
        expect(await list(backend, { agentId: "poet", contextId: "context" })).toEqual([["p1"], 1]);
        expect(await list(backend, { agentId: "greeter", since: 20 })).toEqual([["g2"], 1]);
      }),
    );

    test(
      "the totals of an agent follow its tasks when they change and when they are pruned",
      using(open, async (backend) => {
        await aTask(backend, "g1", "greeter");
        await aTask(backend, "p1", "poet");
        await backend.commit(aStep("g1", { state: "completed", statusAt: 50 }));

        expect(await list(backend, { agentId: "greeter", state: "completed" })).toEqual([
          ["g1"],
          1,
        ]);
        await backend.retention.prune({ endedBefore: 60, keep: 9, limit: 9 });
        expect(await list(backend, { agentId: "greeter" })).toEqual([[], 0]);
        expect(await list(backend, { agentId: "poet" })).toEqual([["p1"], 1]);
      }),
    );

    test(
      "the earlier and the changed tasks of one agent are read without those of others",
      using(open, async (backend) => {
        await aTask(backend, "g1", "greeter");
        await aTask(backend, "p1", "poet");
        const before = { createdAt: 2_000, taskId: "t9" };
        const context = { owner: "ann", contextId: "context", before, limit: 9 };
        const changed = { owner: "ann", at: 0 };
        for (const taskId of ["g1", "p1"]) {
          await backend.commit(aStep(taskId, { statusAt: 3_000 }));
        }

        expect(ids(await backend.tasks.ofContext(context))).toEqual(["p1", "g1"]);
        expect(ids(await backend.tasks.ofContext({ ...context, agentId: "poet" }))).toEqual(["p1"]);
        const since = { ...changed, agentId: "greeter", at: 2_000 };
        expect(ids(await backend.tasks.changedSince(since))).toEqual(["g1"]);
        const inContext = { ...since, contextId: "context" };
        expect(ids(await backend.tasks.changedSince(inContext))).toEqual(["g1"]);
      }),
    );

    test(
      "a messageId is used up for one agent if the step says so, also after its task was pruned",
      using(open, async (backend) => {
        const message = { messageId: "m1", digest: "d1" };
        const send = (taskId: string, agentId: string, perAgent?: true) =>
          backend.commit(
            aCreation(
              taskId,
              { message, state: "completed", ...(perAgent && { perAgent }) },
              { agentId },
            ),
          );
        const duplicate = { kind: "duplicate", taskId: "g1", digest: "d1" };
        await send("g1", "greeter", true);

        expect(await send("p1", "poet", true)).toMatchObject({ kind: "committed" });
        expect(await send("g2", "greeter", true)).toEqual(duplicate);
        const other = await send("g3", "another");
        expect(other.kind).toBe(isAlwaysPerAgent ? "committed" : "duplicate");
        await backend.retention.prune({ endedBefore: 9_000, keep: 9, limit: 9 });
        expect(await send("g4", "greeter", true)).toEqual(duplicate);
        expect(await backend.retention.forgetMessages(9_000, 9)).toBe(isAlwaysPerAgent ? 3 : 2);
        expect(await send("g5", "greeter", true)).toMatchObject({ kind: "committed" });
      }),
    );

    test(
      "a context has expired for the agent whose tasks were pruned, and for no other",
      using(open, async (backend) => {
        await aTask(backend, "g1", "greeter", { state: "completed" });
        await aTask(backend, "p1", "poet");
        await backend.retention.prune({ endedBefore: 9_000, keep: 9, limit: 9 });
        const opens = async (agentId: string, perAgent?: true) =>
          (
            await backend.commit(
              aCreation(`${agentId} ${perAgent}`, perAgent ? { perAgent } : {}, {
                agentId,
                unlessForgotten: true,
              }),
            )
          ).kind;

        expect(await opens("greeter", true)).toBe("forgotten");
        expect(await opens("poet", true)).toBe("committed");
        expect(await opens("another", true)).toBe("committed");
        expect(await opens("greeter")).toBe(isAlwaysPerAgent ? "forgotten" : "committed");
      }),
    );
  });
}

/** A task of an agent, each with a later status than the one before. */
async function aTask(
  backend: Backend,
  taskId: string,
  agentId: string,
  {
    state = "working",
    contextId = "context",
  }: Partial<Pick<TaskRecord, "state" | "contextId">> = {},
): Promise<void> {
  const statusAt = { g1: 10, p1: 20, g2: 30 }[taskId] ?? 40;
  const create = { agentId, contextId, createdAt: statusAt };
  await backend.commit(aCreation(taskId, { state, statusAt }, create));
}

async function list(
  backend: Backend,
  filter: Partial<TaskQuery>,
): Promise<[ids: readonly string[], total: number]> {
  const { records, total } = await backend.tasks.list({ owner: "ann", limit: 9, ...filter });
  return [ids(records), total];
}

function ids(records: readonly TaskRecord[]): readonly string[] {
  return records.map(({ taskId }) => taskId);
}
