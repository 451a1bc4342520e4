import {
  type A2APart,
  EXTENSIONS,
  type Message,
  type Task,
  textOfParts,
  textPart,
  userMessage,
} from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { acceptAnswer, redactAnswer } from "./accept-answer.ts";
import { askApproval, digestArguments } from "./gate.ts";
import { type Answer, checkAnswer } from "./check-answer.ts";
import {
  type OpenRequest,
  approvalRequest,
  interruptRequest,
  openRequestsOf,
} from "./open-request.ts";
import { questionMessage } from "./question-message.ts";

const NOW = new Date("2026-01-31T12:00:00Z");

const approval = askApproval({
  id: "a1",
  toolCallId: "c1",
  toolName: "delete",
  arguments: { path: "a.txt" },
  words: {},
  now: NOW,
  expiresInMs: 60_000,
});
const decision = approvalRequest(approval);
const name = interruptRequest("c2", {
  kind: "interrupt:input",
  requestId: "name",
  prompt: "Name?",
});
const secret = interruptRequest("c3", {
  kind: "interrupt:input",
  requestId: "key",
  prompt: "Key?",
  sensitive: true,
});
const signIn = interruptRequest("c4", {
  kind: "interrupt:auth",
  requestId: "login",
  prompt: "Sign in.",
});

function data(value: object): A2APart {
  return { kind: "data", data: value };
}

function said(...parts: readonly (A2APart | string)[]): Message {
  return userMessage(
    "m1",
    parts.map((part) => (typeof part === "string" ? textPart(part) : part)),
  );
}

function check(open: readonly OpenRequest[], message: Message, now = NOW): Answer {
  return checkAnswer(open, message, { now });
}

const OTHER = digestArguments({ path: "b.txt" });
const approve = { approvalId: "a1", digest: approval.digest, option: "once" };

describe("a message", () => {
  test("answers with its data exactly what they name", () => {
    const answer = check(
      [decision, name, signIn],
      said(data(approve), data({ requestId: "c2:name", value: "Ann" }), "here you are"),
    );

    expect(answer).toMatchObject({ kind: "answers" });
    const { approvals, inputs } = answer as Extract<Answer, { kind: "answers" }>;
    expect([...approvals.values()]).toEqual([approve]);
    expect([...inputs].map(([id, { text }]) => [id, text])).toEqual([["c2:name", "Ann"]]);
  });

  test("without data answers the only question with its text, and supersedes more than one", () => {
    const answer = check([name], said("Ann")) as Extract<Answer, { kind: "answers" }>;
    expect(answer.inputs.get("c2:name")?.text).toBe("Ann");

    expect(check([name, signIn], said("Ann"))).toEqual({ kind: "superseded" });
    expect(check([], said("Ann"))).toEqual({ kind: "superseded" });
    expect(check([name, signIn], said(data({ note: "unrelated" })))).toEqual({
      kind: "superseded",
    });
  });

  test("never approves with text, unless that is enabled", () => {
    for (const word of ["approve", "yes", "Yes, do it", "ok"]) {
      expect(check([decision], said(word))).toEqual({ kind: "superseded" });
    }
    const approved = checkAnswer([decision], said("YES"), { now: NOW, acceptPlainText: true });
    expect(approved).toMatchObject({ kind: "answers" });
    expect(checkAnswer([decision], said("yes, but"), { now: NOW, acceptPlainText: true })).toEqual({
      kind: "superseded",
    });
    expect(checkAnswer([decision, name], said("yes"), { now: NOW, acceptPlainText: true })).toEqual(
      {
        kind: "superseded",
      },
    );
  });

  test("with text enabled rejects with the text after the word", () => {
    const words = (text: string): unknown =>
      checkAnswer([decision], said(text), { now: NOW, acceptPlainText: true });
    const reject = { approvalId: "a1", digest: approval.digest, option: "reject" };

    expect(words("Reject: not\ntoday")).toMatchObject({
      approvals: new Map([["a1", { ...reject, feedback: "not\ntoday" }]]),
    });
    expect(words(" reject ")).toMatchObject({ approvals: new Map([["a1", reject]]) });
    expect(words("rejected?")).toEqual({ kind: "superseded" });
    expect(words("no way")).toEqual({ kind: "superseded" });
    // A caller that cannot be asked in text is not answered in text.
    expect(check([decision], said("reject this"))).toEqual({ kind: "superseded" });
  });

  test("with more than text is not a plain decision", () => {
    const message = said("approve", data({ note: "unrelated" }));

    expect(checkAnswer([decision], message, { now: NOW, acceptPlainText: true })).toEqual({
      kind: "superseded",
    });
  });

  test.each<[object, string]>([
    [{ ...approve, approvalId: "a2" }, 'message.parts[0].data.approvalId "a2" is no open approval'],
    [{ ...approve, digest: OTHER }, "message.parts[0].data.digest is not that of the call"],
    [{ ...approve, digest: "sha-256:x" }, "message.parts[0].data.digest must match"],
    [{ ...approve, option: "maybe" }, "message.parts[0].data.option must be one of once, conv"],
    [{ ...approve, option: "edit" }, "message.parts[0].data.arguments is required"],
    [
      { ...approve, arguments: {} },
      "message.parts[0].data.arguments goes with the option edit alone",
    ],
    [{ ...approve, feedback: "x" }, "message.parts[0].data.feedback goes with the option reject"],
    [
      { requestId: "c9:x", value: 1 },
      "message.parts[0].data.requestId is nothing that this task waits for",
    ],
    [{ toolUseId: "c9", result: 1 }, "message.parts[0].data.toolUseId is nothing that this task"],
  ])("with %j is rejected: %s", (answer, problem) => {
    expect(() => check([decision, name], said(data(answer)))).toThrow(problem);
  });

  test("that answers twice, or too late, is rejected", () => {
    expect(() => check([decision], said(data(approve), data(approve)))).toThrow("answered twice");
    const late = new Date(NOW.getTime() + 60_000);
    expect(() => check([decision], said(data(approve)), late)).toThrow("has expired at");
  });
});

const ACTIVE: ReadonlySet<string> = new Set([EXTENSIONS.approvals.uri]);

/** A task that asks for that. */
function waitingFor(open: readonly OpenRequest[], extensions = ACTIVE): Task {
  const message = questionMessage(open, { messageId: "q1", extensions });
  return { kind: "task", id: "t1", contextId: "x1", status: { state: "input-required", message } };
}

test.each([
  [["once", "reject"], true],
  [["once", "reject"], false],
  [["conversation", "reject"], true],
] as const)(
  "a question with the options %j offers to approve it in words exactly if they do, with words accepted: %s",
  (options, acceptPlainText) => {
    const request = approvalRequest({ ...approval, options });
    const facts = { messageId: "q1", extensions: new Set<string>(), acceptPlainText };

    const text = textOfParts(questionMessage([request], facts).parts);
    const answer = checkAnswer([request], said("approve"), { now: NOW, acceptPlainText });

    expect(text.includes('"approve"')).toBe(answer.kind === "answers");
    expect(text).toContain('"reject"');
  },
);

describe("what a task waits for", () => {
  const task = waitingFor([decision, name, secret, signIn]);

  test("can be read from its status, so that a server can reject an answer before it is stored", () => {
    expect(openRequestsOf(task)).toEqual([decision, name, secret, signIn]);
    expect(() => acceptAnswer(task, said(data({ approvalId: "a2" })), { now: NOW })).toThrow(
      "is no open approval of this task",
    );
    const answer = said(data(approve));
    expect(acceptAnswer(task, answer, { now: NOW })).toBe(answer);
  });

  test("and is sensitive is not stored, with every text next to it", () => {
    const stored = acceptAnswer(
      task,
      said("my key is hunter2", data({ requestId: "c3:key", value: "hunter2" }), data(approve)),
      { now: NOW },
    );

    expect(JSON.stringify(stored)).not.toContain("hunter2");
    expect(stored.parts).toEqual([data({ requestId: "c3:key", redacted: true }), data(approve)]);
    expect(redactAnswer([secret], said("hunter2")).parts).toEqual([
      data({ requestId: "c3:key", redacted: true }),
    ]);
    expect(redactAnswer([name], said("Ann"))).toEqual(said("Ann"));
  });

  test("and is sensitive is not stored, whatever surrounds it", () => {
    const message: Message = {
      ...said("hunter2", data({ note: "hunter2" })),
      metadata: { copy: "hunter2" },
    };

    expect(redactAnswer([secret], message)).toEqual({
      ...said(),
      parts: [data({ requestId: "c3:key", redacted: true })],
    });
  });

  test("is in the metadata for a caller that supports only text", () => {
    const plain = waitingFor([decision], new Set());
    const { parts } = plain.status.message!;

    expect(parts).toEqual([textPart(expect.stringMatching(/^Approve: Run delete\?[^]*"approve"/))]);
    expect(openRequestsOf(plain)).toEqual([decision]);
    expect(acceptAnswer(plain, said("approve"), { now: NOW })).toEqual(said("approve"));
    expect(() => acceptAnswer(plain, said(data({ approvalId: "a2" })), { now: NOW })).toThrow(
      "is no open approval of this task",
    );
  });

  test("is nothing once the task continues, and an answer to it is rejected", () => {
    const working: Task = { ...task, status: { state: "working" } };

    expect(() => acceptAnswer(working, said(data(approve)), { now: NOW })).toThrow(
      '"a1" is no open approval of this task: it was decided or given up',
    );
    expect(acceptAnswer(working, said("hello"), { now: NOW })).toEqual(said("hello"));
  });

  test("a placeholder of a sensitive answer answers nothing", () => {
    const answer = check([secret], said(data({ requestId: "c3:key", redacted: true })));

    expect(answer).toEqual({ kind: "answers", approvals: new Map(), inputs: new Map() });
  });
});
