import {
  A2AError,
  type AgentEvent,
  type InternalEvent,
  type Message,
  type Task,
  type Turn,
  agentMessage,
  textOfParts,
} from "@convoke/protocol";
import { type CommandLine, type CommandScope, parseCommandLine } from "../commands/command.ts";
import type { Project } from "../project/project.ts";
import type { Session } from "../sessions/session.ts";
import { ModelError } from "@convoke/runtime";
import type { CoderHome } from "./coder-home.ts";

/** A turn whose message is a command, such as `/undo files`. */
export class CommandTurn {
  readonly #turn: Turn;
  readonly #line: CommandLine;
  readonly #scope: CommandScope;
  readonly #session: Session;
  readonly #home: CoderHome;
  readonly #events: InternalEvent[];

  private constructor(
    turn: Turn,
    line: CommandLine,
    parts: {
      readonly scope: CommandScope;
      readonly session: Session;
      readonly home: CoderHome;
      readonly events: InternalEvent[];
    },
  ) {
    this.#turn = turn;
    this.#line = line;
    this.#scope = parts.scope;
    this.#session = parts.session;
    this.#home = parts.home;
    this.#events = parts.events;
  }

  /** Undefined if the message is no command. */
  static async of(
    turn: Turn,
    home: CoderHome,
    { session, project }: { readonly session: Session; readonly project: Project },
  ): Promise<CommandTurn | undefined> {
    const commands = await home.commands(project);
    const line = parseCommandLine(textOfParts(turn.message.parts).trim(), commands);
    if (line === undefined) return undefined;
    const { caller, conversation } = turn;
    const events: InternalEvent[] = [];
    const scope = home.commandScope({
      caller,
      project,
      commands,
      session,
      conversation,
      turn,
      record: (event) => events.push(event),
    });
    return new CommandTurn(turn, line, { scope, session, home, events });
  }

  /** Runs the command. Returns the message for the model, if it has one. */
  async *run(): AsyncGenerator<AgentEvent | readonly AgentEvent[], Message | undefined> {
    const { command, args } = this.#line;
    const { message, task } = this.#turn;
    let text: string;
    let state: "completed" | "rejected" | "failed" = "completed";
    try {
      const outcome = await command.run!(args, this.#scope);
      if (outcome.kind === "prompt") {
        yield this.#events;
        return { ...message, parts: [{ kind: "text", text: outcome.text }] };
      }
      ({ text } = outcome);
    } catch (error) {
      this.#turn.signal.throwIfAborted();
      if (!A2AError.is(error) && !(error instanceof ModelError)) throw error;
      state = A2AError.is(error) ? "rejected" : "failed";
      text = A2AError.is(error) ? error.detail : error.message;
    }
    await this.#hide();
    yield [...this.#events, ...this.#answer(text, state, task)];
    return undefined;
  }

  /** The model does not get commands and their answers. */
  async #hide(): Promise<void> {
    const { task, message } = this.#turn;
    const ids = [message.messageId, `${task.id}-answer`, `${task.id}-end`];
    // The session may just have been deleted.
    if (this.#home.sessions.known(this.#session) === undefined) return;
    await this.#home.sessions.change(this.#session, ({ hidden }) => ({
      hidden: [...hidden, ...ids],
    }));
  }

  #answer(
    text: string,
    state: "completed" | "rejected" | "failed",
    { id: taskId, contextId }: Task,
  ): readonly AgentEvent[] {
    const facts = { taskId, contextId };
    const parts = [{ kind: "text", text } as const];
    const artifact = { artifactId: "answer-1", parts };
    const message = agentMessage(`${taskId}-end`, text);
    const isDone = state === "completed";
    return [
      ...(isDone
        ? [{ kind: "artifact-update", ...facts, artifact, lastChunk: true } as const]
        : []),
      {
        kind: "status-update",
        ...facts,
        status: { state, ...(!isDone && { message }) },
        final: true,
      } as const,
    ];
  }
}
