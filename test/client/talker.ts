import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

/** One character of each length in UTF-8. */
const LETTERS = ["a", "ä", "€", "🦉", "\n", '"', "\\"];

/**
 * Emits the requested number of chunks, with all kinds of characters and at an uneven pace, with
 * messages and files in between.
 */
export const talker = defineAgent({
  name: "Talker",
  description: "Says as much as it is told.",
  // A run that is interrupted by the end of its process restarts, so that it still ends.
  restart: true,
  async *run({ text, status, artifact, signal }) {
    const count = Number(text);
    for (let place = 0; place < count; place++) {
      const letter = LETTERS[place % LETTERS.length] ?? "";
      if (place % 11 === 5) yield status(`${place} of ${count} ${letter}`);
      if (place % 17 === 9) yield artifact(`file-${place}`, { place, letter });
      yield `${place}${letter.repeat(1 + (place % 5))} `;
      if (place % 3 === 0) await sleep(place % 4, undefined, { signal });
    }
  },
});
