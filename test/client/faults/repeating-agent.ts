import { defineAgent, mount } from "convoke";

const repeater = defineAgent({
  name: "Repeater",
  description: "Repeats what it is told, word by word.",
  async *run({ text }) {
    for (const word of text.split(/(?<= )/)) yield word;
  },
});

/** A real agent without its own port: the faulty agent calls it. */
export function mountRepeater(): ReturnType<typeof mount> {
  return mount(repeater, { data: "memory" });
}
