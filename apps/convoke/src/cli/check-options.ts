import { BINDINGS, type CheckProgress, type CheckSettings } from "@convoke/check";
import { oneLine } from "@convoke/protocol/internal";
import { type CommandContext, type CommandIo, UsageError } from "../terminal/command.ts";
import { didYouMean } from "../terminal/command-line.ts";

/** What `convoke check` reads in the same way for servers and for clients. */
type Selection = Pick<CheckSettings, "versions" | "bindings" | "only" | "timeoutMs">;

const VERSIONS = ["0.3", "1.0"] as const;

/** @param ids the probes and requirements that `--only` may name */
export function readSelection({ text }: CommandContext, ids: readonly string[]): Selection {
  return {
    timeoutMs: readSeconds("timeout", text("timeout") ?? "20") * 1000,
    versions: oneOf("a2a-version", text("a2a-version"), VERSIONS),
    bindings: oneOf("binding", text("binding"), BINDINGS),
    only: words(text("only")).map((value) => readId(value, ids)),
  };
}

export function readSeconds(option: string, value: string): number {
  const seconds = Number(value);
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--${option} must be a number of seconds up to 3600, not "${value}".`);
}

/** The values of an option that are separated by commas. */
export function words(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function readId(value: string, ids: readonly string[]): string {
  if (ids.includes(value)) return value;
  throw new UsageError(
    `--only: there is no probe or requirement "${value}".${didYouMean(value, [...new Set(ids)])}`,
  );
}

function oneOf<Value extends string>(
  option: string,
  value: string | undefined,
  values: readonly Value[],
): readonly Value[] {
  if (value === undefined) return [];
  const found = values.find((each) => each === value);
  if (found !== undefined) return [found];
  throw new UsageError(`--${option} must be one of ${values.join(", ")}, not "${value}".`);
}

/** Rejects options that are for the other kind of check. */
export function rejectOptions(
  { text, texts, flag }: CommandContext,
  names: readonly string[],
  reason: string,
): void {
  const isGiven = (name: string) =>
    text(name) !== undefined || texts(name).length > 0 || flag(name);
  const given = names.find(isGiven);
  if (given !== undefined) throw new UsageError(`--${given} ${reason}.`);
}

const CLEAR = "\r\u001B[2K";

/** A progress line on stderr that is cleared at the end. Only for terminals. */
export class ProgressLine {
  readonly #io: CommandIo;

  constructor(io: CommandIo) {
    this.#io = io;
  }

  show({ done, total, place, id }: CheckProgress): void {
    if (!this.#io.isTTY.stderr) return;
    this.#io.stderr(`${CLEAR}${done + 1}/${total}  ${oneLine(place, 30)}  ${id}`);
  }

  clear(): void {
    if (this.#io.isTTY.stderr) this.#io.stderr(CLEAR);
  }
}
