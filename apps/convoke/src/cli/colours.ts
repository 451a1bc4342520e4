import type { CommandIo } from "./command.ts";

type Paint = (text: string) => string;

export interface Colours {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
}

/** Colours are for people: only on a terminal that has some, and not where NO_COLOR asks for none (no-color.org). */
export function coloursFor(io: CommandIo, stream: "stdout" | "stderr"): Colours {
  const isOn = io.isTTY[stream] && !io.env["NO_COLOR"] && io.env["TERM"] !== "dumb";
  const paint =
    (start: number, end: number): Paint =>
    (text) =>
      isOn ? `\u001B[${start}m${text}\u001B[${end}m` : text;
  return { bold: paint(1, 22), dim: paint(2, 22), red: paint(31, 39), yellow: paint(33, 39) };
}
