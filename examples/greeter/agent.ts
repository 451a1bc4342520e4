import { defineAgent } from "convoke";

export default defineAgent({
  name: "Greeter",
  description: "Greets people by name.",
  async *run({ text }) {
    yield `Hello, ${text}!`;
  },
});
