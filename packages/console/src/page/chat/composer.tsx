import type { A2APart } from "@convoke/protocol";
import { textPart } from "@convoke/protocol";
import { useRef, useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { type Attachment, attachFile, attachJson, isAccepted } from "./attachments.ts";

interface ComposerProps {
  readonly modes: readonly string[];
  readonly isRunning: boolean;
  readonly isDisabled: boolean;
  readonly placeholder: string;
  readonly onSend: (parts: readonly A2APart[]) => void;
  readonly onStop: () => void;
}

/** Where a message is written: text, files that are picked, dropped or pasted, and JSON. */
export function Composer(props: ComposerProps) {
  const { modes, isRunning, isDisabled, placeholder, onSend, onStop } = props;
  const [text, setText] = useState("");
  const [attached, setAttached] = useState<readonly Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const [isOver, setOver] = useState(false);
  const isEmpty = text.trim() === "" && attached.length === 0;
  const add = async (files: Iterable<File>): Promise<void> => {
    setProblem(undefined);
    for (const file of files) {
      try {
        const one = await attachFile(file, modes);
        setAttached((all) => [...all, one]);
      } catch (error) {
        setProblem((error as Error).message);
      }
    }
  };
  const send = (): void => {
    if (isEmpty || isDisabled || isRunning) return;
    const words = text.trim() === "" ? [] : [textPart(text)];
    onSend([...words, ...attached.map(({ part }) => part)]);
    setText("");
    setAttached([]);
    setProblem(undefined);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    void add(event.dataTransfer?.files ?? []);
  };
  return (
    <form
      class="composer"
      data-over={isOver}
      onSubmit={(event) => (event.preventDefault(), send())}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {problem !== undefined && (
        <p class="composer-problem small" role="alert">
          <VisibleText text={problem} />
        </p>
      )}
      <Attachments
        attached={attached}
        onRemove={(id) => setAttached((all) => all.filter((one) => one.id !== id))}
      />
      <Words
        text={text}
        placeholder={placeholder}
        onText={setText}
        onSend={send}
        onFiles={(files) => void add(files)}
      />
      <div class="composer-tools">
        <FilePicker modes={modes} onFiles={(files) => void add(files)} />
        {isAccepted(modes, "application/json") && (
          <JsonPicker onAttach={(one) => setAttached((all) => [...all, one])} />
        )}
        <span class="composer-space" />
        {isRunning ? (
          <button type="button" class="button" onClick={onStop}>
            <Icon name="stop" size={14} /> Stop
          </button>
        ) : (
          <button type="submit" class="button primary" disabled={isEmpty || isDisabled}>
            <Icon name="send" size={14} /> Send
          </button>
        )}
      </div>
    </form>
  );
}

interface WordsProps {
  readonly text: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly onFiles: (files: Iterable<File>) => void;
}

function Words({ text, placeholder, onText, onSend, onFiles }: WordsProps) {
  const press = (event: KeyboardEvent): void => {
    // Enter also ends the composition of a Japanese or Chinese word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSend();
  };
  const paste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    onFiles(files);
  };
  return (
    <textarea
      class="composer-words"
      aria-label="Message"
      placeholder={placeholder}
      rows={Math.min(8, Math.max(2, text.split("\n").length))}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
      onKeyDown={press}
      onPaste={paste}
    />
  );
}

function Attachments(props: {
  readonly attached: readonly Attachment[];
  readonly onRemove: (id: number) => void;
}) {
  if (props.attached.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Attachments">
      {props.attached.map(({ id, name, size }) => (
        <li key={id} class="attachment">
          <VisibleText text={name} /> <span class="muted">{formatBytes(size)}</span>
          <button
            type="button"
            class="attachment-remove"
            aria-label={`Remove ${name}`}
            onClick={() => props.onRemove(id)}
          >
            <Icon name="close" size={12} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** A size in bytes, kB or MB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function FilePicker(props: {
  readonly modes: readonly string[];
  readonly onFiles: (files: Iterable<File>) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const accept = props.modes.map((mode) => (mode === "text/plain" ? "text/*" : mode)).join(",");
  return (
    <>
      <button
        type="button"
        class="button quiet icon-only"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        <Icon name="attach" />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={accept}
        aria-label="Files"
        onChange={({ currentTarget }) => {
          props.onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

function JsonPicker({ onAttach }: { readonly onAttach: (attachment: Attachment) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<string>();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    try {
      onAttach(attachJson(form.querySelector("textarea")!.value));
      form.reset();
      setProblem(undefined);
      dialog.current?.close();
    } catch (error) {
      setProblem(`This is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <>
      <button type="button" class="button quiet" onClick={() => dialog.current?.showModal()}>
        JSON
      </button>
      <dialog ref={dialog} class="dialog" aria-labelledby="json-title">
        <form class="sign-in" onSubmit={submit}>
          <h2 id="json-title">Attach JSON</h2>
          <label class="field">
            Data
            <textarea class="input mono" rows={8} spellcheck={false} />
          </label>
          {problem !== undefined && (
            <p class="field-problem small" role="alert">
              {problem}
            </p>
          )}
          <div class="actions">
            <button type="submit" class="button primary">
              Attach
            </button>
            <button type="button" class="button quiet" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
