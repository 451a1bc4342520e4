import { connect } from "@convoke/client";

const [ask, agentUrl, text, send, stop, state, answer, name, description] = [
  "ask",
  "agent",
  "text",
  "send",
  "stop",
  "state",
  "answer",
  "name",
  "description",
].map((id) => document.getElementById(id));

agentUrl.value = new URLSearchParams(location.search).get("agent") ?? "";
ask.addEventListener("submit", (event) => {
  event.preventDefault();
  void talk();
});

async function talk() {
  show("working");
  answer.textContent = "";
  delete answer.dataset.refused;
  try {
    const agent = await connect(agentUrl.value);
    name.textContent = agent.name;
    description.textContent = agent.card.description;
    // The client resumes a lost connection by itself. Show that, and give up after a few seconds: a person is watching.
    const options = { reconnect: { forMs: 5000 }, onNotice: ({ kind }) => show(kind) };
    for await (const event of agent.stream(text.value, options)) follow(agent, event);
  } catch (error) {
    refuse(error);
  }
}

/** Shows one event of the task: text as it arrives, and the state of the task. */
function follow(agent, event) {
  switch (event.kind) {
    case "task":
      stop.onclick = () => void agent.cancel(event.id).catch(refuse);
      return show("working", true);
    case "artifact-update":
      for (const part of event.artifact.parts) answer.append(part.text ?? "");
      return;
    case "status-update":
      return show(event.status.state, event.status.state === "working");
    case "message":
      answer.append(...event.parts.map((part) => part.text ?? ""));
      return show("answered");
  }
}

function show(word, canStop = false) {
  state.textContent = word;
  state.dataset.state = word;
  send.disabled = word === "working";
  stop.disabled = !canStop;
}

/** A browser does not tell the page why a request was blocked, so the message names the likely cause. */
function refuse(error) {
  show("failed");
  answer.dataset.refused = "";
  answer.textContent =
    error.kind === "unreachable"
      ? `The agent cannot be reached from ${location.origin}. If it is up, it has to list this origin: CONVOKE_CORS_ORIGINS=${location.origin}`
      : error.message;
}
