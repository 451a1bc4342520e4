import { connect } from "@convoke/client";
import { highlight, readSelection } from "./page-tools.js";

const [ask, text, send, state, answer, calls] = [
  "ask",
  "text",
  "send",
  "state",
  "answer",
  "calls",
].map((id) => document.getElementById(id));

const agent = await connect(new URL("agent/", location.href).href);
document.getElementById("name").textContent = agent.name;
document.getElementById("description").textContent = agent.card.description;
const conversation = agent.conversation({ tools: [readSelection, highlight].map(shown) });
send.disabled = false;

ask.addEventListener("submit", (event) => {
  event.preventDefault();
  void say(text.value);
});

async function say(words) {
  show("working");
  answer.textContent = "";
  calls.replaceChildren();
  try {
    const run = conversation.say(words);
    for await (const delta of run.text) answer.append(delta);
    const { task } = await run.result;
    show(task?.status.state ?? "answered");
  } catch (error) {
    show("failed");
    answer.textContent = error.message;
  }
}

/** Wraps a tool so that each of its calls is listed on the page, where the user can see it. */
function shown(tool) {
  return {
    ...tool,
    run: (input, context) => {
      const line = document.createElement("li");
      line.textContent = `${tool.name}(${JSON.stringify(input)})`;
      calls.append(line);
      return tool.run(input, context);
    },
  };
}

function show(word) {
  state.textContent = word;
  state.dataset.state = word;
  send.disabled = word === "working";
}
