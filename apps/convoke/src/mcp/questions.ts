import type { Answer, Question } from "@convoke/client";
import { type Approval, type Message, type Task, openApprovals } from "@convoke/protocol";
import { openRequestsOf } from "@convoke/runtime";

/** One thing that a task waits for. */
export type Asked = AskedApproval | AskedWords | AskedSecret | AskedSignIn;

interface AskedApproval {
  readonly kind: "approval";
  readonly id: string;
  readonly approval: Approval;
}

/** A question that words answer. */
export interface AskedWords extends AskedText {
  readonly kind: "words";
  readonly options?: readonly string[] | undefined;
}

/** A question whose answer is for the agent alone. */
interface AskedSecret extends AskedText {
  readonly kind: "secret";
}

/** Somebody must sign in somewhere. */
interface AskedSignIn extends AskedText {
  readonly kind: "sign-in";
  readonly url?: string | undefined;
}

interface AskedText {
  readonly id: string;
  readonly text: string;
  /** By what an answer names it, where several things are asked at once. */
  readonly requestId?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** What the agent waits for, if it does; what it asks at once is here at once. */
export function askedBy({ task, question }: Answer, now: Date): readonly Asked[] {
  if (task === undefined || question === undefined) return [];
  const approvals = openApprovals(task, now).map((approval): Asked => ({
    kind: "approval",
    id: approval.id,
    approval,
  }));
  const asked = [...approvals, ...questionsOf(task)];
  const [only, ...others] = asked;
  if (only === undefined) return [plainQuestion(question)];
  // The text says more than its only request: also what was wrong with the last answer.
  if (only.kind === "words" && others.length === 0) return [{ ...only, text: question.text }];
  return asked;
}

/** The question of an agent that has no more than words. */
function plainQuestion({ kind, text, options, message }: Question): Asked {
  const id = "answer";
  if (isSecret(message)) return { kind: "secret", id, text };
  if (kind === "auth-required") return { kind: "sign-in", id, text, url: addressIn(message) };
  return { kind: "words", id, text, options };
}

/** The questions that our own agents ask as data: each has an id. What others write there may be anything. */
function questionsOf(task: Task): readonly Asked[] {
  return openRequestsOf(task).flatMap((request): readonly Asked[] => {
    if (request.kind !== "input" && request.kind !== "auth") return [];
    const { requestId, prompt, options, sensitive, url }: Fields = { ...request };
    const id = String(requestId);
    const about = { id, requestId: id, text: typeof prompt === "string" ? prompt : "" };
    if (sensitive === true) return [{ kind: "secret", ...about }];
    if (request.kind === "auth") return [{ kind: "sign-in", ...about, url: webUrl(url) }];
    return [{ kind: "words", ...about, options: textsIn(options) }];
  });
}

/** Other agents may say it in any of their data. */
function isSecret(message: Message | undefined): boolean {
  const data = (message?.parts ?? []).map((part) => (part.kind === "data" ? part.data : undefined));
  return [message?.metadata, ...data].map(fieldsOf).some((fields) => {
    const inner = fieldsOf(fields["inputRequest"]);
    return fields["sensitive"] === true || inner["sensitive"] === true;
  });
}

function textsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.every((text) => typeof text === "string") ? value : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

const MAX_URL = 2000;

/** An address that a person may open. An agent could name others, such as `javascript:`. */
export function webUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_URL) return undefined;
  const url = URL.parse(value);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

/** A2A has no field for where to sign in; agents put the address into data or into the text. */
function addressIn(message: Message | undefined): string | undefined {
  const parts = message?.parts ?? [];
  const data = parts.flatMap((part) => (part.kind === "data" ? stringsIn(part.data) : []));
  const words = parts.flatMap((part) => (part.kind === "text" ? part.text.split(/\s+/) : []));
  return [...data, ...words].map(webUrl).find((url) => url !== undefined);
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
