import type { AgentSkill } from "@convoke/protocol";
import type { McpLogger } from "./mcp-config.ts";

/** Who reads a card reads it whole. */
const MAX_SKILLS = 256;

type Skills = readonly AgentSkill[];

/** The skills of several servers as one list, which is the same list until one of them changes. */
export class McpSkills {
  readonly #logger: McpLogger;
  #lists: readonly Skills[] = [];
  #skills: Skills = [];
  #hasTold = false;

  constructor(logger: McpLogger) {
    this.#logger = logger;
  }

  /** @param lists one for each server, in their order */
  of(lists: readonly Skills[]): Skills {
    const isSame = (list: Skills, place: number): boolean => list === this.#lists[place];
    if (lists.length === this.#lists.length && lists.every(isSame)) return this.#skills;
    const all = lists.flat();
    if (all.length > MAX_SKILLS) this.#tell(all.length);
    this.#lists = lists;
    this.#skills = all.slice(0, MAX_SKILLS);
    return this.#skills;
  }

  #tell(count: number): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#logger.warn("the card leaves out tools of MCP servers; choose with allow", {
      tools: count,
      shown: MAX_SKILLS,
    });
  }
}
