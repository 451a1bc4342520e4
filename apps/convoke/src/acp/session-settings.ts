import {
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { CoderStatus } from "./coder-commands.ts";

/** The modes of a coding agent. The server grants at most those that its policy allows. */
const MODES = [
  { id: "plan", name: "Plan", description: "Reads and plans; changes nothing" },
  { id: "ask", name: "Ask", description: "Asks before it changes files or runs commands" },
  { id: "auto-edit", name: "Auto-edit", description: "Changes files without asking" },
  { id: "full", name: "Full", description: "Runs everything without asking" },
];

/** The settings that a user can choose for a session, in the order in which editors show them. */
const SETTINGS = ["mode", "model"] as const;

type Setting = (typeof SETTINGS)[number];

/**
 * The mode and the model of a session. What the user chooses is asked for with the next message, and
 * the agent says what is in effect.
 */
export class SessionSettings {
  #status: CoderStatus;
  /** What the user has chosen and the agent was not asked for yet. */
  #chosen: Partial<Record<Setting, string>> = {};
  /** The last update of each kind, as text. */
  readonly #shown = new Map<string, string>();

  constructor(status: CoderStatus) {
    this.#status = status;
    // The response that opens the session has them.
    for (const update of this.#current) this.#isNew(update);
  }

  /** For the response that opens a session. Older editors know only the modes. */
  get state(): { readonly modes: SessionModeState; readonly configOptions: SessionConfigOption[] } {
    const availableModes = MODES.filter(({ id }) => this.#status.modes.includes(id));
    return {
      modes: { currentModeId: this.#value("mode"), availableModes },
      configOptions: this.#options,
    };
  }

  /** Chooses a value from the next message on. */
  choose(setting: string, value: unknown): void {
    const known = SETTINGS.find((one) => one === setting);
    if (known === undefined) {
      throw RequestError.invalidParams({ configId: setting }, `there is no option ${setting}`);
    }
    const values = this.#values(known);
    if (typeof value !== "string" || !values.includes(value)) {
      const what = known === "mode" ? "modeId" : "value";
      throw RequestError.invalidParams({ value }, `${what} must be one of ${values.join(", ")}`);
    }
    this.#chosen[known] = value;
  }

  /** What the next message asks for. Asked for once: commands can change it too. */
  take(): Partial<Record<Setting, string>> {
    const chosen = this.#chosen;
    this.#chosen = {};
    this.#status = { ...this.#status, ...chosen };
    return chosen;
  }

  /** What the editor shows differently now. */
  updates(status: CoderStatus = this.#status): readonly SessionUpdate[] {
    this.#status = status;
    const { title, context, cost } = status;
    const price = cost !== undefined && { cost: { amount: cost, currency: "USD" } };
    const all: readonly SessionUpdate[] = [
      ...this.#current,
      ...(title === "" ? [] : [{ sessionUpdate: "session_info_update", title } as const]),
      ...(context ? [{ sessionUpdate: "usage_update", ...context, ...price } as const] : []),
    ];
    return all.filter((update) => this.#isNew(update));
  }

  /** Whether it differs from the last update of its kind. */
  #isNew(update: SessionUpdate): boolean {
    const text = JSON.stringify(update);
    const isNew = this.#shown.get(update.sessionUpdate) !== text;
    this.#shown.set(update.sessionUpdate, text);
    return isNew;
  }

  get #current(): readonly SessionUpdate[] {
    return [
      { sessionUpdate: "current_mode_update", currentModeId: this.#value("mode") },
      { sessionUpdate: "config_option_update", configOptions: this.#options },
    ];
  }

  get #options(): SessionConfigOption[] {
    const offered = SETTINGS.filter((setting) => this.#values(setting).length > 0);
    return offered.map((setting) => ({
      type: "select",
      id: setting,
      name: setting === "mode" ? "Mode" : "Model",
      category: setting,
      currentValue: this.#value(setting),
      options: this.#values(setting).map((value) => {
        const { name = value, description } = MODES.find(({ id }) => id === value) ?? {};
        return { value, name, ...(description !== undefined && { description }) };
      }),
    }));
  }

  #value(setting: Setting): string {
    return this.#chosen[setting] ?? this.#status[setting];
  }

  #values(setting: Setting): readonly string[] {
    return setting === "mode" ? this.#status.modes : this.#status.models;
  }
}
