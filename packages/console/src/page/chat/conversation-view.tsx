import {
  type A2AArtifact,
  type A2APart,
  type Task,
  openApprovals,
  textPart,
} from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import { useEffect, useRef } from "preact/hooks";
import { ApprovalCard } from "../kit/approval/approval-card.tsx";
import { Problem } from "../kit/notices.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { AgentSummary } from "../server/about.ts";
import { decide, toRequest } from "../server/approvals.ts";
import { inputModes } from "./attachments.ts";
import { type ChatSession, MAX_TURNS, type StreamNote } from "./chat-session.ts";
import { Composer } from "./composer.tsx";
import { type ToolConsent, consents } from "./page-tools.ts";
import { QuestionForm } from "./question-form.tsx";
import { openQuestions } from "./questions.ts";
import { TurnView } from "./turn-view.tsx";

interface ConversationViewProps {
  readonly session: ChatSession;
  readonly agent: AgentSummary;
  readonly onOpenArtifact: (artifact: A2AArtifact) => void;
}

const NOTES: Readonly<Record<StreamNote, string>> = {
  lost: "Connection lost, resuming…",
  resumed: "Resumed. Nothing was missed.",
  polling: "This agent does not stream. Its task is looked at again and again.",
};

/** The turns of a conversation, what the agent waits for, and where the next message is written. */
export function ConversationView({ session, agent, onOpenArtifact }: ConversationViewProps) {
  const turns = session.turns.value;
  const isRunning = session.isRunning.value;
  const waiting = waitingTask(session);
  const isSecret = waiting !== undefined && openQuestions(waiting).some((one) => one.isSensitive);
  const scroller = useStickToBottom([turns, isRunning, session.note.value]);
  const say = (parts: readonly A2APart[], options?: { readonly isSecret: boolean }): void =>
    void session.say(parts, options);
  const remote = session.remote.value;
  return (
    <>
      <div
        class="chat-scroll"
        ref={scroller}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-busy={isRunning}
      >
        <div class="chat-turns">
          {turns.length === 0 && session.isLoaded.value && (
            <Suggestions
              agent={agent}
              card={remote?.card}
              onSay={(text) => say([textPart(text)])}
            />
          )}
          {turns.length >= MAX_TURNS && (
            <p class="small muted">
              Older messages are in the{" "}
              <Link to={{ page: "tasks", filters: { contextId: session.contextId } }}>
                tasks of this conversation
              </Link>
              .
            </p>
          )}
          {turns.map((turn, place) => (
            <TurnView
              key={turn.key}
              turn={turn}
              isRunning={isRunning && place === turns.length - 1}
              onOpenArtifact={onOpenArtifact}
            />
          ))}
          {waiting && <Waiting task={waiting} session={session} agent={agent} onAnswer={say} />}
          {consents.value.map((one, place) => (
            <Consent key={place} consent={one} />
          ))}
          {session.note.value !== undefined && (
            <p class="stream-note" role="status" data-stream={session.note.value}>
              {NOTES[session.note.value]}
            </p>
          )}
          {session.problem.value && <Problem problem={session.problem.value} />}
        </div>
      </div>
      {/* A secret belongs into its own field, where it is not shown. */}
      {!isSecret && (
        <Composer
          modes={remote === undefined ? [] : inputModes(remote.card)}
          isRunning={isRunning && waiting === undefined}
          isDisabled={remote === undefined}
          placeholder={
            waiting === undefined ? `Message ${oneLine(agent.name, 40)}` : "Answer the agent"
          }
          onSend={say}
          onStop={() => void session.stop()}
        />
      )}
    </>
  );
}

/** The task that waits for the visitor. */
function waitingTask({ turns }: ChatSession): Task | undefined {
  const task = turns.value.at(-1)?.task;
  const state = task?.status.state;
  return state === "input-required" || state === "auth-required" ? task : undefined;
}

interface WaitingProps {
  readonly task: Task;
  readonly session: ChatSession;
  readonly agent: AgentSummary;
  readonly onAnswer: (parts: readonly A2APart[], options?: { readonly isSecret: boolean }) => void;
}

function Waiting({ task, session, agent, onAnswer }: WaitingProps) {
  const approvals = openApprovals(task, new Date());
  const questions = openQuestions(task);
  return (
    <div class="waiting">
      {approvals.map((approval) => {
        const request = { ...toRequest(approval, task), agentId: agent.id };
        return (
          <ApprovalCard
            key={approval.id}
            approval={request}
            decide={async (decision) => {
              await decide(request, decision);
              await session.resume();
            }}
          />
        );
      })}
      {questions.map((request, place) => (
        <QuestionForm
          key={request.requestId ?? place}
          request={request}
          isOneOfMany={approvals.length + questions.length > 1}
          onAnswer={onAnswer}
          onCheck={() => void session.resume()}
        />
      ))}
      <button type="button" class="button quiet cancel-task" onClick={() => void session.stop()}>
        Cancel the task
      </button>
    </div>
  );
}

/** How close to the end a reader counts as being there. */
const NEAR_PX = 60;

/** Keeps the end in view while the answer grows, unless the reader has scrolled up to read. */
function useStickToBottom(changes: readonly unknown[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = scroller.current!;
    const look = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = element;
      isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, []);
  useEffect(() => {
    const element = scroller.current!;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, changes);
  return scroller;
}

interface SuggestionsProps {
  readonly agent: AgentSummary;
  readonly card: Readonly<Record<string, unknown>> | undefined;
  readonly onSay: (text: string) => void;
}

/** What an empty conversation offers: the examples of the agent's skills. */
function Suggestions({ agent, card, onSay }: SuggestionsProps) {
  const skills = Array.isArray(card?.["skills"]) ? card["skills"].filter(isObject) : [];
  const examples = skills.flatMap(({ name, examples: list }) =>
    (Array.isArray(list) ? list : [])
      .filter((text) => typeof text === "string")
      .map((text) => ({ text, name: String(name) })),
  );
  return (
    <div class="suggestions">
      <h2>
        <VisibleText text={agent.name} />
      </h2>
      <p class="muted">
        <VisibleText text={agent.description} />
      </p>
      <div class="suggestion-list">
        {examples.slice(0, 8).map(({ text, name }) => (
          <button key={text} type="button" class="suggestion" onClick={() => onSay(text)}>
            <VisibleText text={text} />
            <span class="small muted">
              <VisibleText text={name} />
            </span>
          </button>
        ))}
      </div>
    </div>
  );
}

function Consent({ consent }: { readonly consent: ToolConsent }) {
  const { question, wants, decide: answer } = consent;
  return (
    <div class="card consent" role="alertdialog" aria-label="A tool of this page">
      <p>
        <VisibleText text={question} />
      </p>
      <div class="actions">
        {wants === "file" ? (
          <input
            type="file"
            class="input"
            aria-label="File for the agent"
            onChange={({ currentTarget }) => answer(currentTarget.files?.[0] ?? false)}
          />
        ) : (
          <button type="button" class="button primary" onClick={() => answer(true)}>
            Allow once
          </button>
        )}
        <button type="button" class="button" onClick={() => answer(false)}>
          Do not allow
        </button>
      </div>
    </div>
  );
}
