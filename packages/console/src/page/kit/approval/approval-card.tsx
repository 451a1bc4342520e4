import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { approvalPath } from "@convoke/protocol";
import type { ComponentChildren } from "preact";
import { DiffView } from "../diff/diff-view.tsx";
import { Expiry } from "./expiry.tsx";
import { JsonText } from "../json-text.tsx";
import { Markdown, PlainText } from "../markdown/markdown.tsx";
import { Problem } from "../notices.tsx";
import { RiskBadge } from "../risk-badge.tsx";
import { fieldForValue } from "../schema-form/schema-field.ts";
import { SchemaForm } from "../schema-form/schema-form.tsx";
import { VisibleText } from "../visible-text.tsx";
import type { ApprovalRequest, Decision } from "../../server/approvals.ts";

interface ApprovalCardProps {
  readonly approval: ApprovalRequest;
  readonly decide: (decision: Decision) => Promise<void>;
  /** A way for keys of the page to reach the card. */
  readonly isSelected?: boolean;
  /** Where it comes from, such as links to its agent and its task. */
  readonly children?: ComponentChildren;
}

type Mode = "choose" | "reject" | "edit";

/** A tool call that waits for a decision: what it does, how risky it is, and the ways to decide. */
export function ApprovalCard({ approval, decide, isSelected, children }: ApprovalCardProps) {
  const [mode, setMode] = useState<Mode>("choose");
  const [problem, setProblem] = useState<Error>();
  const [isSending, setSending] = useState(false);
  const answer = async (decision: Decision): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    try {
      await decide(decision);
    } catch (error) {
      setProblem(error as Error);
      setMode("choose");
    }
    setSending(false);
  };
  const { id, risk, title } = approval;
  return (
    <article
      class="card approval"
      data-approval={id}
      data-risk={risk}
      data-selected={isSelected}
      aria-labelledby={`title-${id}`}
      aria-busy={isSending}
    >
      <header class="approval-head">
        <h3 id={`title-${id}`}>
          <VisibleText text={title} />
        </h3>
        <RiskBadge risk={risk} />
        {approval.expiresAt !== undefined && <Expiry at={approval.expiresAt} />}
      </header>
      <Origin approval={approval}>{children}</Origin>
      <ApprovalDetails approval={approval} isOpen={mode !== "edit"} />
      {problem && <Problem problem={problem} />}
      {mode === "choose" && (
        <Choices
          approval={approval}
          isDisabled={isSending}
          onMode={setMode}
          onDecide={(decision) => void answer(decision)}
        />
      )}
      {mode === "reject" && (
        <Rejection
          isDisabled={isSending}
          onCancel={() => setMode("choose")}
          onReject={(feedback) => void answer({ option: "reject", feedback })}
        />
      )}
      {mode === "edit" && (
        <SchemaForm
          field={fieldForValue(approval.arguments)}
          value={approval.arguments}
          submitLabel="Run with these arguments"
          isDisabled={isSending}
          onCancel={() => setMode("choose")}
          onSubmit={(edited) =>
            void answer({ option: "edit", arguments: edited as ApprovalRequest["arguments"] })
          }
        />
      )}
    </article>
  );
}

function Origin({
  approval,
  children,
}: {
  readonly approval: ApprovalRequest;
  readonly children?: ComponentChildren;
}) {
  const path = approvalPath(approval);
  return (
    <p class="approval-origin small muted">
      <code>
        <VisibleText text={approval.tool} />
      </code>
      {path !== "" && (
        <span>
          for <VisibleText text={path} />
        </span>
      )}
      {approval.owner !== undefined && (
        <span>
          asked by <VisibleText text={approval.owner} />
        </span>
      )}
      {children}
    </p>
  );
}

function ApprovalDetails(props: { readonly approval: ApprovalRequest; readonly isOpen: boolean }) {
  const { prompt, preview, arguments: args } = props.approval;
  return (
    <>
      {prompt !== undefined && !isListOf(args, prompt) && <PlainText text={prompt} />}
      {preview?.kind === "diff" && (
        <DiffView name={preview.path} before={preview.before} after={preview.after} />
      )}
      {preview?.kind === "text" &&
        (preview.mediaType === "text/markdown" ? (
          <Markdown text={preview.text} />
        ) : (
          <pre class="json-text" tabIndex={0}>
            <VisibleText text={preview.text.slice(0, 50_000)} />
          </pre>
        ))}
      {props.isOpen && (
        <details class="approval-arguments" open={preview === undefined}>
          <summary>Arguments</summary>
          <JsonText value={args} label="Arguments" />
        </details>
      )}
    </>
  );
}

interface ChoicesProps {
  readonly approval: ApprovalRequest;
  readonly isDisabled: boolean;
  readonly onMode: (mode: Mode) => void;
  readonly onDecide: (decision: Decision) => void;
}

const LABELS = {
  once: "Approve",
  conversation: "Approve for this conversation",
  always: "Always approve",
  edit: "Edit…",
  reject: "Reject…",
} as const;

function Choices({ approval, isDisabled, onMode, onDecide }: ChoicesProps) {
  return (
    <div class="actions approval-actions">
      {approval.options.map((option) => {
        const isMode = option === "edit" || option === "reject";
        const look = option === "once" ? "primary" : option === "reject" ? "danger" : "";
        return (
          <button
            key={option}
            type="button"
            class={`button ${look}`}
            data-option={option}
            disabled={isDisabled}
            onClick={() => (isMode ? onMode(option) : onDecide({ option }))}
          >
            {LABELS[option] ?? option}
          </button>
        );
      })}
    </div>
  );
}

interface RejectionProps {
  readonly isDisabled: boolean;
  readonly onCancel: () => void;
  readonly onReject: (feedback: string | undefined) => void;
}

function Rejection({ isDisabled, onCancel, onReject }: RejectionProps) {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key: what is typed at once is the reason, not a decision.
  useLayoutEffect(() => input.current?.focus(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onReject(input.current?.value.trim() || undefined);
  };
  return (
    <form class="rejection" onSubmit={submit}>
      <label class="field">
        Reason for the agent (optional)
        <input ref={input} class="input" name="reason" autocomplete="off" />
      </label>
      <div class="actions">
        <button type="submit" class="button danger" disabled={isDisabled}>
          Reject
        </button>
        <button type="button" class="button quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

interface DecisionLineProps {
  readonly decision: {
    readonly outcome?: string;
    readonly option?: string;
    readonly decidedBy?: string;
    readonly feedback?: string;
  };
  /** Whether it was decided on this page. */
  readonly isMine: boolean;
}

/** What became of an approval, and by whom. */
export function DecisionLine({ decision, isMine }: DecisionLineProps) {
  const { outcome = "decided", option, decidedBy, feedback } = decision;
  const whom = isMine ? "you" : decidedBy;
  const reach = {
    conversation: " for this conversation",
    always: " for always",
    edit: " with edited arguments",
  };
  return (
    <span class="decision" data-outcome={outcome}>
      {outcome.charAt(0).toUpperCase() + outcome.slice(1)}
      {option !== undefined && option in reach && reach[option as keyof typeof reach]}
      {whom !== undefined && (
        <>
          {" "}
          by <VisibleText text={whom} />
        </>
      )}
      {feedback !== undefined && (
        <>
          : “<VisibleText text={feedback} />”
        </>
      )}
    </span>
  );
}

/** Whether the prompt only lists the arguments, for clients that show nothing else. */
function isListOf(args: unknown, prompt: string): boolean {
  return prompt.trim() === JSON.stringify(args, undefined, 2);
}
