import { isObject, oneLine, printableJson } from "@convoke/protocol/internal";
import { useId, useState } from "preact/hooks";
import { Segmented } from "../segmented.tsx";
import { VisibleText } from "../visible-text.tsx";
import { type FieldProblem, type SchemaField, findProblems, initialValue } from "./schema-field.ts";

interface SchemaFormProps {
  readonly field: SchemaField;
  readonly value?: unknown;
  readonly submitLabel: string;
  readonly onSubmit: (value: unknown) => void;
  readonly onCancel?: (() => void) | undefined;
  readonly isDisabled?: boolean;
}

/** A form for a value, with a second tab in which the same value can be written as JSON. */
export function SchemaForm(props: SchemaFormProps) {
  const { field, submitLabel, onSubmit, onCancel, isDisabled = false } = props;
  const [value, setValue] = useState<unknown>(() => props.value ?? initialValue(field));
  const [json, setJson] = useState<string>();
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const parsed = json === undefined ? { value } : parseJson(json);
    const found = "problem" in parsed ? [parsed.problem] : findProblems(field, parsed.value);
    setProblems(found);
    if (found.length === 0 && "value" in parsed) onSubmit(parsed.value);
  };
  const choose = (name: string): void => {
    if (name === "JSON") setJson(JSON.stringify(value ?? null, undefined, 2));
    else {
      const parsed = json === undefined ? { value } : parseJson(json);
      if ("problem" in parsed) return setProblems([parsed.problem]);
      setValue(parsed.value);
      setJson(undefined);
    }
    setProblems([]);
  };
  return (
    <form class="schema-form" onSubmit={submit} noValidate>
      <Segmented
        label="How to fill it in"
        names={["Form", "JSON"]}
        selected={json === undefined ? "Form" : "JSON"}
        onSelect={choose}
      />
      {json === undefined ? (
        <FieldInput field={field} value={value} onChange={setValue} problems={problems} path={[]} />
      ) : (
        <JsonInput text={json} onChange={setJson} problems={problems} />
      )}
      <div class="actions">
        <button type="submit" class="button primary" disabled={isDisabled}>
          {submitLabel}
        </button>
        {onCancel && (
          <button type="button" class="button quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

function parseJson(text: string): { readonly value: unknown } | { readonly problem: FieldProblem } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: { path: [], text: `This is not JSON: ${(error as Error).message}` } };
  }
}

function JsonInput(props: {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly problems: readonly FieldProblem[];
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>JSON</label>
      <textarea
        id={id}
        class="input mono"
        rows={8}
        spellcheck={false}
        value={props.text}
        onInput={({ currentTarget }) => props.onChange(currentTarget.value)}
        aria-describedby={`${id}-problem`}
      />
      <div id={`${id}-problem`}>
        {props.problems.map(({ path, text }) => (
          <p key={path.join()} class="field-problem" role="alert">
            {path.length > 0 && `${path.join(".")}: `}
            {text}
          </p>
        ))}
      </div>
    </div>
  );
}

interface FieldInputProps {
  readonly field: SchemaField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly problems: readonly FieldProblem[];
  readonly path: readonly string[];
}

function FieldInput(props: FieldInputProps) {
  const { field, value, onChange, path } = props;
  if (field.kind === "group") {
    const fields = isObject(value) ? value : {};
    const inputs = field.fields.map(([name, one]) => (
      <FieldInput
        {...props}
        key={name}
        field={one}
        path={[...path, name]}
        value={fields[name]}
        onChange={(changed) => onChange(withField(fields, name, changed))}
      />
    ));
    if (path.length === 0) return <div class="schema-fields">{inputs}</div>;
    return (
      <fieldset class="schema-group">
        <legend>
          <VisibleText text={field.label} />
        </legend>
        <div class="schema-fields">{inputs}</div>
      </fieldset>
    );
  }
  return <LabelledInput {...props} />;
}

/** An emptied field is left out, rather than sent as nothing. */
function withField(
  fields: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): unknown {
  const { [name]: _, ...rest } = fields;
  return value === undefined ? rest : { ...fields, [name]: value };
}

function LabelledInput({ field, value, onChange, problems, path }: FieldInputProps) {
  const id = useId();
  const problem = problems.find((one) => one.path.join("\n") === path.join("\n"));
  const label = (
    <label for={id}>
      <VisibleText text={field.label || "Answer"} />
      {!field.isRequired && <span class="muted"> (optional)</span>}
    </label>
  );
  const attributes = {
    id,
    "aria-invalid": problem !== undefined,
    "aria-describedby": `${id}-note`,
  };
  return (
    <div class="field" data-field={path.join(".")}>
      {field.kind === "flag" ? (
        <div class="choice">
          <input
            {...attributes}
            type="checkbox"
            checked={value === true}
            onChange={({ currentTarget }) => onChange(currentTarget.checked)}
          />
          {label}
        </div>
      ) : (
        <>
          {label}
          <ValueInput field={field} value={value} onChange={onChange} attributes={attributes} />
        </>
      )}
      <div id={`${id}-note`}>
        {field.description !== undefined && (
          <p class="field-note">
            <VisibleText text={field.description} />
          </p>
        )}
        {problem && (
          <p class="field-problem" role="alert">
            {problem.text}
          </p>
        )}
      </div>
    </div>
  );
}

interface ValueInputProps {
  readonly field: SchemaField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly attributes: { readonly id: string };
}

function ValueInput({ field, value, onChange, attributes }: ValueInputProps) {
  const empty = field.isNullable ? null : undefined;
  switch (field.kind) {
    case "choice":
      return (
        <select
          {...attributes}
          class="input"
          value={String(field.options.indexOf(value))}
          onChange={({ currentTarget }) =>
            onChange(field.options[Number(currentTarget.value)] ?? empty)
          }
        >
          <option value="-1">Choose…</option>
          {field.options.map((option, place) => (
            <option key={place} value={String(place)}>
              {typeof option === "string" ? oneLine(option) : printableJson(option)}
            </option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...attributes}
          class="input"
          type="number"
          step={field.isInteger ? 1 : "any"}
          min={field.bounds.least}
          max={field.bounds.most}
          value={typeof value === "number" && !Number.isNaN(value) ? value : ""}
          onInput={({ currentTarget }) =>
            onChange(currentTarget.value === "" ? empty : currentTarget.valueAsNumber)
          }
        />
      );
    case "list":
      return (
        <TextArea
          attributes={attributes}
          hint="One on each line"
          text={Array.isArray(value) ? value.join("\n") : ""}
          onChange={(text) => {
            const lines = text === "" ? [] : text.split("\n");
            onChange(field.item === "number" ? lines.map(Number) : lines);
          }}
        />
      );
    case "json":
      return <JsonText attributes={attributes} value={value} onChange={onChange} />;
    default: {
      const text = typeof value === "string" ? value : "";
      const change = (changed: string): void => onChange(changed === "" ? empty : changed);
      if (field.kind === "text" && field.isLong)
        return <TextArea attributes={attributes} text={text} onChange={change} />;
      return (
        <input
          {...attributes}
          class="input"
          value={text}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      );
    }
  }
}

function TextArea(props: {
  readonly attributes: object;
  readonly text: string;
  readonly hint?: string;
  readonly onChange: (text: string) => void;
}) {
  return (
    <textarea
      {...props.attributes}
      class="input"
      rows={Math.min(12, Math.max(3, props.text.split("\n").length))}
      placeholder={props.hint}
      value={props.text}
      onInput={({ currentTarget }) => props.onChange(currentTarget.value)}
    />
  );
}

/** JSON of a part of the value. Text that is not JSON is taken as text. */
function JsonText(props: {
  readonly attributes: object;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}) {
  const [text, setText] = useState(() =>
    props.value === undefined ? "" : JSON.stringify(props.value, undefined, 2),
  );
  const change = (changed: string): void => {
    setText(changed);
    const parsed = changed.trim() === "" ? { value: undefined } : parseJson(changed);
    props.onChange("value" in parsed ? parsed.value : changed);
  };
  return <TextArea attributes={props.attributes} text={text} hint="JSON" onChange={change} />;
}
