import {
  type AgentEvent,
  type InternalEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  isMessageReceived,
  textOfParts,
} from "@convoke/protocol";
import { MUCH, type Program, UNKNOWN, said } from "./program.ts";

/** One turn of a task, according to its log. */
interface TurnFacts {
  readonly program: Program;
  /** Questions and sleeps, in order, and what ended each. */
  readonly waits: { readonly kind: "ask" | "sleep"; end?: string }[];
  readonly inbox: string[];
  /** By step: whether its outcome is known. */
  readonly steps: Map<string, "started" | "known" | "unknown">;
  isOver: boolean;
}

/** The position of a program. */
type Standing = "completed" | "failed" | "asking" | "sleeping" | "working" | "turn over";

/** What happened according to a log. Reading it checks that it is possible. */
export interface Account {
  readonly state: TaskState;
  readonly reason: unknown;
  readonly messageIds: readonly string[];
  readonly isCancelRecorded: boolean;
  /** A later process can resume its last turn. */
  readonly isDurable: boolean;
  /** What the agent must have emitted by now, unless it was aborted. */
  readonly text: string;
  readonly standing: Standing;
  /** How often the body of each step may have run: at most once. */
  readonly stepsKnown: number;
}

const ENDS: readonly TaskState[] = ["completed", "canceled", "failed", "rejected"];
const WAITS: readonly TaskState[] = ["input-required", "auth-required"];

/**
 * Reads a log in the simplest way, and derives what must be true. Throws if the log is impossible.
 */
export function accountOf(log: readonly AgentEvent[]): Account {
  const [first, ...rest] = log;
  if (first?.kind !== "task") throw new Error("a log starts with its task");
  const begun = first as Task;
  const reader = new LogReader(begun);
  for (const event of rest) reader.read(event);
  return reader.account();
}

class LogReader {
  #state: TaskState;
  #reason: unknown;
  #messageIds: string[];
  #isCancelRecorded = false;
  #turns: TurnFacts[];

  constructor({ status, history = [] }: Task) {
    this.#state = status.state;
    this.#messageIds = history.map(({ messageId }) => messageId);
    this.#turns = [aTurn(textOfParts(history[0]?.parts ?? []))];
  }

  read(event: AgentEvent): void {
    if (ENDS.includes(this.#state)) throw new Error(`${event.kind} after ${this.#state}`);
    if (event.kind === "task") throw new Error("a second task");
    if (event.kind === "status-update") this.#status(event as StatusUpdateEvent);
    else if (event.kind === "message") throw new Error("a reply of an agent that does not reply");
    else if (event.kind !== "artifact-update") this.#note(event as InternalEvent);
  }

  account(): Account {
    const last = this.#turns.at(-1)!;
    const told = this.#turns.map(foretell);
    return {
      state: this.#state,
      reason: this.#reason,
      messageIds: this.#messageIds,
      isCancelRecorded: this.#isCancelRecorded,
      isDurable: last.waits.length > 0 || last.steps.size > 0,
      text: told.map(({ text }) => text).join(""),
      standing: told.at(-1)!.standing,
      stepsKnown: this.#turns.flatMap(({ steps }) => [...steps.values()]).filter(isKnown).length,
    };
  }

  #status({ status, metadata }: StatusUpdateEvent): void {
    const { state } = status;
    if (state === "submitted") throw new Error(`${this.#state} became submitted again`);
    this.#state = state;
    this.#reason = metadata?.["reason"];
  }

  #note(event: InternalEvent): void {
    const turn = this.#turns.at(-1)!;
    const open = turn.waits.at(-1)?.end === undefined ? turn.waits.at(-1) : undefined;
    const waiting = WAITS.includes(this.#state);
    if (isMessageReceived(event)) {
      const { messageId, parts } = event.message;
      if (this.#messageIds.includes(messageId)) throw new Error(`${messageId} came twice`);
      this.#messageIds.push(messageId);
      const text = textOfParts(parts);
      if (turn.isOver) this.#turns.push(aTurn(text));
      else if (!waiting) turn.inbox.push(text);
      else if (open?.kind !== "ask") throw new Error("an answer to no question");
      else open.end = text;
      return;
    }
    switch (event.kind) {
      case "internal:ask":
      case "internal:sleep":
        if (open !== undefined) throw new Error("a second wait at a time");
        turn.waits.push({ kind: event.kind === "internal:ask" ? "ask" : "sleep" });
        return;
      case "internal:woken":
        if (open?.kind !== "sleep") throw new Error("woken without having slept");
        open.end = "";
        return;
      case "internal:expired":
        if (open?.kind !== "ask" || !waiting) throw new Error("expired without a question");
        open.end = "";
        return;
      case "internal:step-start":
        if (turn.steps.has(String(event["name"]))) throw new Error("a step began twice");
        turn.steps.set(String(event["name"]), "started");
        return;
      case "internal:step-end":
        if (turn.steps.get(String(event["name"])) !== "started") throw new Error("ended twice");
        turn.steps.set(String(event["name"]), event["error"] === undefined ? "known" : "unknown");
        return;
      case "internal:turn-end":
        turn.isOver = true;
        return;
      case "internal:cancel":
        this.#isCancelRecorded = true;
        return;
      case "internal:attempt":
        return;
      default:
        throw new Error(`an unknown note: ${event.kind}`);
    }
  }
}

function aTurn(program: Program): TurnFacts {
  return { program, waits: [], inbox: [], steps: new Map(), isOver: false };
}

function isKnown(outcome: string): boolean {
  return outcome === "known";
}

/** The output of a program and its position, for the given inputs. */
function foretell({ program, waits, inbox, steps }: TurnFacts): {
  readonly text: string;
  readonly standing: Standing;
} {
  let text = "";
  const waitsLeft = [...waits];
  const inboxLeft = [...inbox];
  for (const [n, letter] of program.split("").entries()) {
    if (letter === "s") text += said(letter, n);
    else if (letter === "b") text += said(letter, n, MUCH);
    else if (letter === "a" || letter === "z") {
      const wait = waitsLeft.shift();
      if (wait?.end === undefined)
        return { text, standing: letter === "a" ? "asking" : "sleeping" };
      text += said(letter, n, wait.end);
    } else if (letter === "t") {
      text += said(letter, n, steps.get(`${n}`) === "unknown" ? UNKNOWN : "");
    } else if (letter === "i") {
      const message = inboxLeft.shift();
      if (message === undefined) return { text, standing: "working" };
      text += said(letter, n, message);
    } else if (letter === "h" || letter === "g") return { text, standing: "working" };
    else if (letter === "x") return { text, standing: "failed" };
    else if (letter === "q") return { text, standing: "turn over" };
  }
  return { text, standing: "completed" };
}
