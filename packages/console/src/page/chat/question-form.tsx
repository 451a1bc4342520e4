import { type A2APart, textPart } from "@convoke/protocol";
import { useRef } from "preact/hooks";
import { SafeLink } from "../kit/safe-link.tsx";
import { fieldFor } from "../kit/schema-form/schema-field.ts";
import { SchemaForm } from "../kit/schema-form/schema-form.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import type { InputRequest } from "./questions.ts";

interface QuestionFormProps {
  readonly request: InputRequest;
  /** Whether the task waits for other answers, too: then an answer has to name its question. */
  readonly isOneOfMany: boolean;
  readonly onAnswer: (parts: readonly A2APart[], options?: { readonly isSecret: boolean }) => void;
  /** Looks whether the task has continued, for example after a sign-in elsewhere. */
  readonly onCheck: () => void;
}

/** A question of the agent, in the form that fits its answer. Plain questions are answered below. */
export function QuestionForm({ request, isOneOfMany, onAnswer, onCheck }: QuestionFormProps) {
  const { requestId, options, schema, isSensitive, kind } = request;
  const answer = (value: unknown): void => {
    const isPlain = !isOneOfMany && typeof value === "string";
    onAnswer(
      isPlain || requestId === undefined
        ? [textPart(String(value))]
        : [{ kind: "data", data: { requestId, value } }],
    );
  };
  return (
    <div class="question" data-question={kind}>
      {isOneOfMany && (
        <p>
          <VisibleText text={request.prompt} />
        </p>
      )}
      {kind === "auth-request" && <SignInRequest request={request} onCheck={onCheck} />}
      {isSensitive && (
        <SecretForm
          label={request.credential ?? (isOneOfMany ? request.prompt : "Secret answer")}
          onSubmit={(secret) => onAnswer([textPart(secret)], { isSecret: true })}
        />
      )}
      {options !== undefined && (
        <div class="actions" role="group" aria-label="Answers">
          {options.map((option) => (
            <button key={option} type="button" class="button" onClick={() => answer(option)}>
              <VisibleText text={option} />
            </button>
          ))}
        </div>
      )}
      {schema !== undefined && options === undefined && !isSensitive && (
        <SchemaForm field={fieldFor(schema)} submitLabel="Answer" onSubmit={answer} />
      )}
    </div>
  );
}

function SignInRequest(props: { readonly request: InputRequest; readonly onCheck: () => void }) {
  const { url } = props.request;
  return (
    <div class="actions">
      {url !== undefined && <SafeLink href={url}>Sign in</SafeLink>}
      <button type="button" class="button" onClick={props.onCheck}>
        Check again
      </button>
    </div>
  );
}

/**
 * The value stays in the field until it is sent, and nowhere afterwards: no state of the page holds it,
 * and the browser is asked not to keep it.
 */
function SecretForm(props: {
  readonly label: string;
  readonly onSubmit: (secret: string) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const secret = input.current!.value;
    input.current!.value = "";
    if (secret !== "") props.onSubmit(secret);
  };
  return (
    <form class="secret" onSubmit={submit}>
      <label class="field">
        <VisibleText text={props.label} />
        <input ref={input} class="input" type="password" autocomplete="off" spellcheck={false} />
      </label>
      <p class="small muted">It is sent to the agent once, and neither shown nor kept.</p>
      <button type="submit" class="button primary">
        Send
      </button>
    </form>
  );
}
