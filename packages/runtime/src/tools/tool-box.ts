import type { ToolDescription } from "../model/model.ts";
import type { Tool } from "./tool.ts";

/** The tools of one agent, by name. */
export class ToolBox {
  readonly #tools = new Map<string, Tool>();

  /** Two tools of one name would be one for the model, so that is refused at once. */
  constructor(tools: readonly Tool[]) {
    for (const tool of tools) {
      if (typeof tool?.run !== "function" || typeof tool.check !== "function") {
        throw new TypeError("tools holds what tool({ name, description, run }) makes");
      }
      if (this.#tools.has(tool.name)) {
        throw new TypeError(`two tools are called "${tool.name}": give each a name of its own`);
      }
      this.#tools.set(tool.name, tool);
    }
  }

  find(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** These and more. Where a name is taken, what is here stays. */
  with(more: readonly Tool[]): ToolBox {
    const free = more.filter(({ name }) => !this.#tools.has(name));
    return new ToolBox([...this.#tools.values(), ...free]);
  }

  /** Those that the filter lets through. */
  only(filter: (tool: Tool) => boolean): ToolBox {
    return new ToolBox([...this.#tools.values()].filter(filter));
  }

  /** Their descriptions for the model. */
  describe(): readonly ToolDescription[] {
    return [...this.#tools.values()].map(({ name, description, input }) => ({
      name,
      description,
      input,
    }));
  }

  /** The error for the model if it names a tool that does not exist. */
  unknownText(name: string): string {
    const names = [...this.#tools.keys()];
    const available = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
    return `There is no tool called ${JSON.stringify(name.slice(0, 100))}; ${available}.`;
  }
}
