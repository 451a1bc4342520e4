import { BEGINS_AGAIN, connect } from "@convoke/client";

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
    const artifacts = new Map();
    for await (const event of agent.stream(text.value, options)) follow(agent, event, artifacts);
  } catch (error) {
    refuse(error);
  }
}

/** Shows one event of the task: text as it arrives, and the state of the task. */
function follow(agent, event, artifacts) {
  switch (event.kind) {
    case "task":
      stop.onclick = () => void agent.cancel(event.id).catch(refuse);
      return show("working", true);
    case "artifact-update":
      return write(event, artifacts);
    case "status-update":
      return show(event.status.state, event.status.state === "working");
    case "message":
      answer.append(...event.parts.map((part) => part.text ?? ""));
      return show("answered");
  }
}

/** Each artifact has its place. One that is not appended to begins again: its text replaces the earlier one. */
function write({ artifact, append }, artifacts) {
  const { artifactId, parts } = artifact;
  const known = artifacts.get(artifactId);
  const place = known ?? document.createElement("span");
  if (known === undefined) answer.append(place);
  else if (append !== true) place.textContent = `${BEGINS_AGAIN}\n`;
  artifacts.set(artifactId, place);
  for (const part of parts) place.append(part.text ?? "");
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
