import { setTimeout as sleep } from "node:timers/promises";
import type { OperationName } from "@convoke/protocol";
import { type Attack, type AttackFamily, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import {
  Caller,
  TASK_OPERATIONS,
  UNKNOWN_ID,
  aCanary,
  aMessage,
  ann,
  callersOf,
  hasOperation,
  mainInterface,
  nameOf,
  pairs,
  taskIdIn,
} from "../wire/a2a.ts";

/** A task of ann with a text that nobody else may see. */
async function aSecretTask(
  target: Target,
): Promise<{ readonly id: string; readonly canary: string }> {
  const canary = aCanary();
  const caller = ann(target);
  const first = await caller.startTask(target.behaviors?.ask ?? canary);
  if (target.behaviors?.ask === undefined) return { id: first, canary };
  // The task stays open, so that there is something to cancel and to subscribe to.
  const message = aMessage(canary);
  const second = taskIdIn(await caller.send(message, { historyLength: 10 }));
  return { id: second ?? first, canary };
}

/** An operation of bob on a task of ann. It must fail, and show nothing. */
function foreign(id: string, sentence: string, operation: OperationName): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      callersOf(target);
      const open = await ann(target).startTask(target.behaviors?.ask ?? "hello");
      const { id: ended, canary } = await aSecretTask(target);
      for (const { at, bob } of pairs(target)) {
        if (!hasOperation(at, operation)) continue;
        for (const taskId of [open, ended]) {
          const answer = await bob.call(operation, TASK_OPERATIONS[operation]!(bob.codec, taskId));
          const where = nameOf(at);
          fellIf(answer.text.includes(canary), `${where} showed the task`);
          fellIf(answer.isResult, `${where} answered ${answer.text.slice(0, 100)}`);
        }
      }
      const own = await ann(target).get(open);
      fellIf(!own.isResult || own.text.includes("intruder"), "the task of its owner was changed");
      fellIf(/CANCELED|"canceled"/.test(own.text), "the task of its owner was canceled");
    },
  };
}

/** The same request for a foreign and an unknown id, without the ids. */
async function wordings(bob: Caller, operation: OperationName, foreignId: string) {
  const answers = [];
  for (const taskId of [foreignId, UNKNOWN_ID]) {
    const params = TASK_OPERATIONS[operation]!(bob.codec, taskId);
    const { text, http, grpc } = await bob.call(operation, params);
    const body = text
      .replaceAll(taskId, "<id>")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<uuid>")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
    answers.push(`${http} ${grpc} ${body}`);
  }
  return answers;
}

/** The median times of calls that take turns, so that other load of the machine hits all of them. */
async function mediansMs(
  times: number,
  calls: readonly (() => Promise<unknown>)[],
): Promise<readonly number[]> {
  const taken = calls.map((): number[] => []);
  for (let count = 0; count < times; count++) {
    for (const [place, call] of calls.entries()) {
      const start = performance.now();
      await call();
      taken[place]!.push(performance.now() - start);
    }
  }
  return taken.map((all) => all.toSorted((a, b) => a - b)[Math.floor(times / 2)]!);
}

const TIMED_CALLS = 40;

export const OWNERS: AttackFamily = {
  title: "Other callers' tasks",
  attacks: [
    foreign("owner-get", "Read the task of another caller.", "getTask"),
    foreign("owner-cancel", "Cancel the task of another caller.", "cancelTask"),
    foreign("owner-subscribe", "Subscribe to the task of another caller.", "subscribeToTask"),
    foreign("owner-send", "Send a message into the task of another caller.", "sendMessage"),
    foreign(
      "owner-stream",
      "Stream a message into the task of another caller.",
      "sendStreamingMessage",
    ),
    foreign(
      "owner-push-create",
      "Have the events of another caller's task pushed to oneself.",
      "createPushConfig",
    ),
    foreign(
      "owner-push-get",
      "Read a push config of another caller, with its token.",
      "getPushConfig",
    ),
    foreign("owner-push-list", "List the push configs of another caller.", "listPushConfigs"),
    foreign("owner-push-delete", "Delete a push config of another caller.", "deletePushConfig"),
    {
      id: "owner-list",
      sentence:
        "List the tasks of another caller, also by context and with a page token of that caller.",
      run: async (target) => {
        callersOf(target);
        const { id, canary } = await aSecretTask(target);
        for (const { at, ann: owner, bob } of pairs(target)) {
          if (!hasOperation(at, "listTasks")) continue;
          const page = { pageSize: 1, includeArtifacts: true };
          const own = await owner.call("listTasks", owner.codec.encodeListTasks(page));
          const token = /"nextPageToken":"([^"]+)"/.exec(own.text)?.[1];
          const context = /"contextId":"([^"]+)"/.exec(own.text)?.[1];
          const requests = [
            { pageSize: 100, includeArtifacts: true },
            { ...page, pageSize: 100, ...(context !== undefined && { contextId: context }) },
            { ...page, pageSize: 100, ...(token !== undefined && { pageToken: token }) },
          ];
          for (const request of requests) {
            const { text } = await bob.call("listTasks", bob.codec.encodeListTasks(request));
            fellIf(text.includes(canary) || text.includes(id), `${nameOf(at)} listed the task`);
          }
        }
      },
    },
    {
      id: "owner-context",
      sentence: "Continue the conversation of another caller by its context id.",
      run: async (target) => {
        callersOf(target);
        const { id, canary } = await aSecretTask(target);
        const { text } = await ann(target).get(id);
        const contextId = needed(/"contextId":"([^"]+)"/.exec(text)?.[1], "contexts");
        for (const { at, bob } of pairs(target)) {
          const answer = await bob.send(aMessage("What was said before?", { contextId }), {
            historyLength: 50,
          });
          fellIf(answer.text.includes(canary), `${nameOf(at)} showed the conversation`);
        }
      },
    },
    {
      id: "owner-reference",
      sentence: "Refer to the task of another caller in a message of one's own.",
      run: async (target) => {
        callersOf(target);
        const { id, canary } = await aSecretTask(target);
        for (const { at, bob } of pairs(target)) {
          const answer = await bob.send(aMessage("Summarize it.", { referenceTaskIds: [id] }), {
            historyLength: 50,
          });
          fellIf(answer.text.includes(canary), `${nameOf(at)} showed the task`);
        }
      },
    },
    {
      id: "owner-repeat",
      sentence: "Repeat the message id of another caller to get its task as a duplicate.",
      run: async (target) => {
        const callers = callersOf(target);
        const at = mainInterface(target);
        const canary = aCanary();
        const message = aMessage(canary);
        const extension = {
          "a2a-extensions": "https://convoke.dev/extensions/idempotency/v1",
          "x-a2a-extensions": "https://convoke.dev/extensions/idempotency/v1",
        };
        const first = taskIdIn(
          await new Caller(at, { ...callers.ann, ...extension }).send(message),
        );
        const copy = aMessage("mine", { messageId: message.messageId });
        const answer = await new Caller(at, { ...callers.bob, ...extension }).send(copy);
        fellIf(answer.text.includes(canary), "the task of the first message was shown");
        fellIf(first !== undefined && answer.text.includes(first), "its id was shown");
      },
    },
    {
      id: "owner-cursor",
      sentence: "Resume the stream of another caller's task with a cursor.",
      run: async (target) => {
        callersOf(target);
        const { id, canary } = await aSecretTask(target);
        for (const { at, bob } of pairs(target)) {
          const params = bob.codec.encodeSubscribe({ taskId: id });
          const answer = await bob.call("subscribeToTask", params, { "last-event-id": "1" });
          fellIf(answer.isResult || answer.text.includes(canary), `${nameOf(at)} resumed it`);
        }
      },
    },
    {
      id: "owner-claimed",
      sentence: "Claim to be another caller in the metadata, headers and fields of a request.",
      run: async (target) => {
        const { bob } = callersOf(target);
        const { id, canary } = await aSecretTask(target);
        const claims = { owner: "ann", user: "ann", userId: "ann", sub: "ann", tenant: "" };
        const headers = { ...bob, "x-user": "ann", "x-owner": "ann", "x-user-id": "ann" };
        const caller = new Caller(mainInterface(target), headers);
        const answer = await caller.call("getTask", { id, metadata: claims, ...claims });
        fellIf(answer.isResult || answer.text.includes(canary), "the task was shown");
      },
    },
    {
      id: "owner-wording",
      sentence: "Tell ids of other callers from unknown ids by the wording of the error.",
      run: async (target) => {
        callersOf(target);
        const id = await ann(target).startTask(target.behaviors?.ask ?? "hello");
        for (const { at, bob } of pairs(target)) {
          for (const operation of Object.keys(TASK_OPERATIONS) as OperationName[]) {
            const [theirs, unknown] = await wordings(bob, operation, id);
            const difference = `${operation} over ${nameOf(at)}: ${theirs?.slice(0, 80)}`;
            fellIf(theirs !== unknown, difference);
          }
        }
      },
    },
    {
      id: "owner-timing",
      sentence: "Tell ids of other callers from unknown ids by the time of the response.",
      run: async (target) => {
        const { bob } = callersOf(target);
        const text = target.behaviors?.large ?? "hello";
        const started = await ann(target).send(text, { blocking: false });
        const id = needed(taskIdIn(started), "tasks");
        await sleep(500);
        const at = mainInterface(target);
        const ask = (taskId: string) => (): Promise<unknown> =>
          fetch(at.url, {
            method: "POST",
            headers: { ...bob, "content-type": "application/json", "a2a-version": at.version },
            body: JSON.stringify({
              jsonrpc: "2.0",
              id: 1,
              method: at.version === "1.0" ? "GetTask" : "tasks/get",
              params: { id: taskId },
            }),
          }).then((response) => response.text());
        const calls = [ask(id), ask(UNKNOWN_ID)];
        await mediansMs(5, calls);
        const [theirs = 0, unknown = 0] = await mediansMs(TIMED_CALLS, calls);
        const isTold = theirs > unknown * 4 + 5;
        fellIf(
          isTold,
          `${theirs.toFixed(1)} ms for a foreign id, ${unknown.toFixed(1)} ms for an unknown one`,
        );
      },
    },
    {
      id: "owner-prefix",
      sentence: "Use wildcards, other spellings and parts of an id instead of the id itself.",
      run: async (target) => {
        callersOf(target);
        const { id, canary } = await aSecretTask(target);
        const spellings = [
          "*",
          "%",
          "_",
          id.slice(0, -1),
          `${id}%00`,
          id.toUpperCase(),
          `${id}/`,
          "' OR '1'='1",
        ];
        for (const { at, bob } of pairs(target)) {
          for (const taskId of spellings) {
            const { isResult, text } = await bob.get(taskId);
            const isShown = text.includes(canary) || (isResult && text.includes(id));
            fellIf(isShown, `${nameOf(at)} answered ${taskId}`);
          }
        }
      },
    },
  ],
};
