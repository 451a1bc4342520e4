import { extname } from "node:path";
import type { Approval, ApprovalOption, DataPart, Metadata } from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import { type Line, span } from "../screen/cells.ts";
import { answerPart } from "./approval-words.ts";
import type { Typed } from "./face.ts";

/** What a line of input ended with: a text, or Escape. `undefined` if the user leaves. */
export type LineInput = { readonly text: string } | "escape" | undefined;

/** How a decision is asked for. */
export interface DecisionUi {
  /** Shows an approval; by default a long preview is cut. */
  showApproval(approval: Approval, isWhole: boolean): void;
  note(text: string): void;
  /** Waits for one key: its character, or "escape". `undefined` if the user leaves. */
  key(prompt: Line): Promise<string | undefined>;
  line(prompt: Line, hint: string): Promise<LineInput>;
  /** Lets the user edit a text; `undefined` if it was not saved. */
  edit(text: string, extension: string): Promise<string | undefined>;
}

interface Choice {
  readonly key: string;
  readonly label: string;
  readonly option: ApprovalOption;
}

/** Decides on approvals one after the other by single keys. A text is a message instead. */
export async function decide(
  approvals: readonly Approval[],
  ui: DecisionUi,
): Promise<Typed | undefined> {
  const decisions: DataPart[] = [];
  for (const [place, approval] of approvals.entries()) {
    const count = approvals.length === 1 ? "" : ` (${place + 1} of ${approvals.length})`;
    // The first is already on the screen.
    if (place > 0) ui.showApproval(approval, false);
    const decision = await decideOne(approval, count, ui);
    if (decision === undefined || typeof decision === "string") return decision;
    decisions.push(decision);
  }
  return decisions;
}

async function decideOne(
  approval: Approval,
  count: string,
  ui: DecisionUi,
): Promise<DataPart | string | undefined> {
  const choices = choicesFor(approval);
  const draft = new ArgumentsDraft(approval);
  for (;;) {
    const pressed = await ui.key(promptFor(choices, count));
    if (pressed === undefined) return undefined;
    if (pressed === "v") ui.showApproval(approval, true);
    const option = choices.find(({ key }) => key === pressed.toLowerCase())?.option;
    if (pressed === "escape") {
      const input = await ui.line(
        [span("❯ ", "cyan")],
        "Your message withdraws the call. Esc goes back.",
      );
      if (input === undefined) return undefined;
      if (input !== "escape" && input.text.trim() !== "") return input.text;
    } else if (option === "reject") {
      const input = await ui.line(
        [span("Why? ", "red")],
        "Enter sends it, with or without a reason. Esc goes back.",
      );
      if (input === undefined) return undefined;
      if (input !== "escape") return rejected(approval, input.text.trim(), ui);
    } else if (option === "edit") {
      const edited = await draft.edit(ui);
      if (edited !== undefined) return answerPart(approval, "edit", { arguments: edited });
    } else if (option !== undefined) {
      ui.note(`✓ Approved${LASTING[option] ?? ""}: ${oneLine(approval.title)}`);
      return answerPart(approval, option);
    }
  }
}

const LASTING: Partial<Readonly<Record<ApprovalOption, string>>> = {
  conversation: " for this conversation",
  always: " always",
};

function rejected(approval: Approval, reason: string, ui: DecisionUi): DataPart {
  ui.note(`✗ Rejected: ${oneLine(approval.title)}${reason === "" ? "" : `: ${reason}`}`);
  return answerPart(approval, "reject", reason === "" ? {} : { feedback: reason });
}

/** A key for each option that the approval offers. */
function choicesFor({ options }: Approval): readonly Choice[] {
  const isOffered = (option: ApprovalOption): boolean => options.includes(option);
  const all: readonly Choice[] = [
    { key: "y", label: "yes", option: "once" },
    isOffered("always")
      ? { key: "c", label: "conversation", option: "conversation" }
      : { key: "a", label: "always in this conversation", option: "conversation" },
    { key: "a", label: "always", option: "always" },
    { key: "n", label: "no", option: "reject" },
    { key: "e", label: "edit", option: "edit" },
  ];
  return all.filter(({ option }) => isOffered(option));
}

function promptFor(choices: readonly Choice[], count: string): Line {
  const keys = [...choices, { key: "Esc", label: "message" }].flatMap(({ key, label }) => [
    span("  "),
    span(key, "bold", "cyan"),
    span(` ${label}`),
  ]);
  return [span(`Run it?${count}`, "bold"), ...keys];
}

/**
 * The arguments of a call while they are edited: the new content of a file as it is, everything else
 * as JSON. A text that cannot be used is kept for the next attempt.
 */
class ArgumentsDraft {
  readonly #approval: Approval;
  /** The argument that is the content of a file, if there is one. */
  readonly #content: string | undefined;
  readonly #original: string;
  #text: string;

  constructor(approval: Approval) {
    const { tool, preview } = approval;
    const after = preview?.kind === "diff" ? preview.after : undefined;
    const [content] =
      Object.entries(tool.arguments).find(
        ([, value]) => typeof value === "string" && value === after,
      ) ?? [];
    this.#approval = approval;
    this.#content = content;
    this.#original =
      content === undefined ? JSON.stringify(tool.arguments, undefined, 2) : String(after);
    this.#text = this.#original;
  }

  /** The edited arguments; `undefined` if nothing was changed, or the text cannot be used. */
  async edit(ui: DecisionUi): Promise<Metadata | undefined> {
    const { preview, tool } = this.#approval;
    const isContent = this.#content !== undefined && preview?.kind === "diff";
    const edited = await ui.edit(this.#text, isContent ? extname(preview.path) : ".json");
    if (edited === undefined || edited === this.#original) {
      ui.note("Nothing was changed.");
      return undefined;
    }
    this.#text = edited;
    const changed =
      this.#content === undefined ? parsed(edited) : { ...tool.arguments, [this.#content]: edited };
    if (changed === undefined) ui.note("That is not a JSON object. Press e to correct it.");
    else ui.note(`✓ Approved with your changes: ${oneLine(this.#approval.title)}`);
    return changed;
  }
}

function parsed(text: string): Metadata | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
