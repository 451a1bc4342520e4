import type { ClientTool } from "@convoke/client";
import { signal } from "@preact/signals";
import { attachFile } from "./attachments.ts";

/** A tool call of an agent that waits for the visitor. */
export interface ToolConsent {
  readonly question: string;
  /** What the visitor is asked for, in addition to a yes. */
  readonly wants: "consent" | "file";
  readonly decide: (answer: boolean | File) => void;
}

/** What an agent asks of the visitor right now. */
export const consents = signal<readonly ToolConsent[]>([]);

const STORED = "convoke-page-tools";

/** Whether agents may use tools of this page. Off until the visitor switches it on. */
export const toolsAreOn = signal(sessionStorage.getItem(STORED) === "on");

export function switchTools(isOn: boolean): void {
  toolsAreOn.value = isOn;
  sessionStorage.setItem(STORED, isOn ? "on" : "off");
}

/** The last selection, because a click into the message field ends it. */
let selected = "";
globalThis.document?.addEventListener("selectionchange", () => {
  selected = document.getSelection()?.toString() || selected;
});

/** The tools of this page. What shows more than the time is asked for each time. */
export const PAGE_TOOLS: readonly ClientTool[] = [
  {
    name: "current_time",
    description: "The time and the time zone of the user.",
    run: () => ({
      time: new Date().toISOString(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
  },
  {
    name: "read_selection",
    description: "The text that the user has selected on the page.",
    run: async (_, { signal }) => {
      if (selected === "")
        throw new Error("Nothing is selected. Ask the user to select some text.");
      await consent("May the agent read the text that you have selected?", "consent", signal);
      return { text: selected };
    },
  },
  {
    name: "read_clipboard",
    description: "The text in the clipboard of the user, who is asked first.",
    run: async (_, { signal }) => {
      await consent("May the agent read your clipboard?", "consent", signal);
      return { text: await navigator.clipboard.readText() };
    },
  },
  {
    name: "pick_file",
    description: "Lets the user choose a text file, and returns its name and content.",
    inputSchema: {
      type: "object",
      properties: { reason: { type: "string", description: "What the file is for." } },
    },
    run: async ({ reason }, { signal }) => {
      const why = typeof reason === "string" ? ` It says: ${reason.slice(0, 200)}` : "";
      const file = await consent(`The agent asks for a file.${why}`, "file", signal);
      if (typeof file === "boolean") throw new Error("The user chose no file.");
      await attachFile(file, ["*/*"]);
      return { name: file.name, text: (await file.text()).slice(0, 200_000) };
    },
  },
];

/** Waits for the visitor. Throws if the answer is no. */
function consent(
  question: string,
  wants: ToolConsent["wants"],
  signal: AbortSignal,
): Promise<boolean | File> {
  return new Promise((resolve, reject) => {
    const asked: ToolConsent = {
      question,
      wants,
      decide: (answer) => {
        consents.value = consents.value.filter((one) => one !== asked);
        if (answer === false) reject(new Error("The user did not allow it."));
        else resolve(answer);
      },
    };
    consents.value = [...consents.value, asked];
    signal.addEventListener("abort", () => asked.decide(false), { once: true });
  });
}
