import { type Approval, type Message, type Task, textOfParts } from "@convoke/protocol";
import { type OpenRequest, requestsIn } from "../approvals/open-request.ts";
import { webUrl } from "../tools/web-url.ts";
import type { Interrupt } from "../tools/tool.ts";
import { UnfitQuestion, relayedApproval } from "./relayed-approval.ts";
import { relayedId } from "./relayed-id.ts";
import type { ChildQuestion, ChildRequest } from "../sub-agents/sub-agent-events.ts";

/** What a sub-agent asks for, as its call asks for it. */
export interface RelayedQuestion extends ChildQuestion {
  readonly interrupts: readonly Interrupt[];
}

export interface QuestionFacts {
  /** The name of the sub-agent here. */
  readonly name: string;
  readonly toolCallId: string;
  readonly number: number;
  readonly now: Date;
  /** What was wrong with the last answer. */
  readonly problem?: string | undefined;
}

const MAX_REQUESTS = 64;
const MAX_PROMPT = 16_384;
const MAX_OPTIONS = 100;

/**
 * Reads the question with which the task of a sub-agent waits: what it says for programs, or its
 * words. Throws an `UnfitQuestion` for what must not be put to anybody.
 */
export function relayedQuestion(task: Task, facts: QuestionFacts): RelayedQuestion {
  const { message } = task.status;
  const open = message === undefined ? [] : requestsIn(message);
  if (open.length > MAX_REQUESTS) {
    throw new UnfitQuestion(`it asked for ${open.length} things at once`);
  }
  const asked = open.map((request) => relayed(request, task, facts));
  const all = asked.length === 0 ? [inWords(task, message, facts)] : asked;
  return {
    number: facts.number,
    ...(message !== undefined && { messageId: message.messageId }),
    requests: all.map(({ request }) => request),
    interrupts: all.map(({ interrupt }) => interrupt),
  };
}

interface Relayed {
  readonly request: ChildRequest;
  readonly interrupt: Interrupt;
}

function relayed(open: OpenRequest, task: Task, facts: QuestionFacts): Relayed {
  const { name, toolCallId, number: question } = facts;
  const { requestId: childId } = open;
  const requestId = relayedId({ toolCallId, childTaskId: task.id, question, childId });
  if (open.kind === "approval") {
    const origin = { name, taskId: task.id };
    const approval = withProblem(
      relayedApproval(open.approval, { id: requestId, origin, now: facts.now }),
      facts,
    );
    const { digest } = approval;
    return {
      request: { requestId, kind: "approval", childId, digest },
      interrupt: { kind: "interrupt:approval", requestId, approval },
    };
  }
  if (open.kind === "tool-use") {
    throw new UnfitQuestion("it wants its caller to run a tool that was not offered to it");
  }
  const prompt = words(String(open.prompt ?? ""), facts);
  if (open.kind === "auth") {
    const url = webUrl(typeof open.url === "string" ? open.url : undefined);
    return {
      request: { requestId, kind: "auth", childId },
      interrupt: { kind: "interrupt:auth", requestId, prompt, ...(url !== undefined && { url }) },
    };
  }
  const options = optionsOf(open.options);
  const sensitive = open.sensitive === true;
  return {
    request: { requestId, kind: "input", childId },
    interrupt: {
      kind: "interrupt:input",
      requestId,
      prompt,
      ...(options && { options }),
      ...(sensitive && { sensitive }),
    },
  };
}

/** An agent that asks in words alone is answered in words. */
function inWords(task: Task, message: Message | undefined, facts: QuestionFacts): Relayed {
  const { toolCallId, number: question } = facts;
  const requestId = relayedId({ toolCallId, childTaskId: task.id, question, childId: "" });
  const said = message === undefined ? "" : textOfParts(message.parts).trim();
  if (task.status.state === "auth-required") {
    const prompt = words(said === "" ? "Sign in, so that it can go on." : said, facts);
    return {
      request: { requestId, kind: "auth" },
      interrupt: { kind: "interrupt:auth", requestId, prompt },
    };
  }
  const prompt = words(said === "" ? "How shall it go on?" : said, facts);
  return {
    request: { requestId, kind: "input" },
    interrupt: { kind: "interrupt:input", requestId, prompt },
  };
}

/** Whoever is asked must know by whom. */
function words(prompt: string, { name, problem }: QuestionFacts): string {
  const before = problem === undefined ? "" : `${name} did not take the answer: ${problem}\n`;
  return `${before}${name} asks: ${prompt}`.slice(0, MAX_PROMPT);
}

function withProblem(approval: Approval, { name, problem }: QuestionFacts): Approval {
  if (problem === undefined) return approval;
  const { prompt = "" } = approval;
  return { ...approval, prompt: `${name} did not take the answer: ${problem}\n${prompt}` };
}

function optionsOf(given: unknown): readonly string[] | undefined {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_OPTIONS) return undefined;
  return given.every((option) => typeof option === "string") ? given : undefined;
}
