import { isObject, oneLine } from "@convoke/protocol/internal";
import { artifact } from "@convoke/runtime";
import { createInterface } from "node:readline";
import type { ChildProgram } from "../program/child-program.ts";
import { EventQueue } from "../program/event-queue.ts";
import {
  type ProgramEvent,
  type ProgramPrompt,
  type ProgramSession,
  type PromptEnd,
  lostEnd,
} from "../program/program-event.ts";

/** A program that speaks JSON lines: each line of its input and output is one object. */
export class LineSession implements ProgramSession {
  readonly child: ChildProgram;
  readonly resumeId = undefined;
  readonly #warn: (message: string) => void;
  #queue: EventQueue<ProgramEvent> | undefined;
  #isPrompted = false;

  constructor(child: ChildProgram, warn: (message: string) => void) {
    this.child = child;
    this.#warn = warn;
    const lines = createInterface({ input: child.output, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on("line", (line) => this.#read(line));
  }

  get remembers(): boolean {
    return this.#isPrompted;
  }

  prompt({ taskId, parts, history, isContinued }: ProgramPrompt): EventQueue<ProgramEvent> {
    const queue = new EventQueue<ProgramEvent>();
    this.#queue = queue;
    this.#isPrompted = true;
    this.child.beginPrompt(() => queue.room());
    void this.child.ended.then((end) => {
      // A program for one message need not say that it is done.
      const isDone = end.reason === "process-exited" && end.exitCode === 0;
      queue.end(isDone ? { kind: "end", outcome: "completed" } : lostEnd(end));
    });
    const text = parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
    this.#write({ type: "message", taskId, text, parts, history, isRepeated: isContinued });
    return queue;
  }

  cancel(): void {
    this.#write({ type: "cancel" });
  }

  #write(line: object): void {
    if (this.child.input.writable) this.child.input.write(`${JSON.stringify(line)}\n`);
  }

  #read(line: string): void {
    if (line.trim() === "") return;
    try {
      const event = this.#parse(line);
      if (event.kind === "end") this.#queue?.end(event);
      else this.#queue?.push(event);
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      this.#warn(`a line of the program is ignored: ${error.message}: ${oneLine(line)}`);
    }
  }

  #parse(line: string): ProgramEvent {
    const data = parseJson(line);
    const { type, name, description, content, mediaType } = data;
    switch (type) {
      case "text":
      case "thought":
      case "status":
        return { kind: type, text: textField(data, "text") };
      case "artifact": {
        const options = {
          ...(typeof description === "string" && { description }),
          ...(typeof mediaType === "string" && { mediaType }),
        };
        if (content === undefined) throw new LineError("content is missing");
        const { parts } = artifact(textField(data, "name"), content, options);
        return { kind: "artifact", name: String(name), parts, ...options };
      }
      case "ask":
        return { kind: "question", question: this.#question(data) };
      case "done":
        return { kind: "end", outcome: "completed" };
      case "error":
        return errorEnd(data);
      default:
        throw new LineError(
          `type must be text, thought, status, artifact, ask, done or error, and is ${JSON.stringify(type)}`,
        );
    }
  }

  #question(data: Fields): Extract<ProgramEvent, { kind: "question" }>["question"] {
    const { id = "", options } = data;
    const isList = Array.isArray(options) && options.every((one) => typeof one === "string");
    if (options !== undefined && !isList) throw new LineError("options must be a list of texts");
    return {
      prompt: textField(data, "text"),
      ...(isList && { options: options as readonly string[] }),
      answer: (text) => this.#write({ type: "answer", id, text }),
    };
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** A line that the protocol does not have. */
class LineError extends Error {}

function parseJson(line: string): Fields {
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    throw new LineError("it is not JSON");
  }
  if (isObject(data)) return data;
  throw new LineError("it is not a JSON object");
}

function textField(data: Fields, name: string): string {
  const value = data[name];
  if (typeof value === "string" && value !== "") return value;
  throw new LineError(`${name} must be a text that is not empty`);
}

/** The program chose the words for its caller. */
function errorEnd(data: Fields): PromptEnd {
  const outcome = data["rejected"] === true ? "rejected" : "failed";
  return { kind: "end", outcome, reason: "program-error", text: textField(data, "text") };
}
