// These tools are everything the agent can do on this page, and it sees only what they return.

/** The last selection, remembered because a click into the input field clears the current one. */
let selected;
document.addEventListener("selectionchange", () => {
  const selection = document.getSelection();
  const isText = selection.rangeCount > 0 && !selection.isCollapsed;
  if (isText && document.getElementById("story").contains(selection.anchorNode)) {
    selected = selection.getRangeAt(0).cloneRange();
  }
});

export const readSelection = {
  name: "read_selection",
  description: "The words that the user has selected on the page.",
  run: () => {
    if (selected === undefined) throw new Error("Nothing is selected yet: ask the user to select.");
    return { words: selected.toString() };
  },
};

export const highlight = {
  name: "highlight",
  description: "Marks what the user has selected on the page in a colour.",
  inputSchema: {
    type: "object",
    properties: { colour: { enum: ["gold", "lightgreen", "pink"] } },
    required: ["colour"],
  },
  run: ({ colour }) => {
    if (selected === undefined) throw new Error("Nothing is selected yet: ask the user to select.");
    const mark = document.createElement("mark");
    mark.style.background = colour;
    mark.append(selected.extractContents());
    selected.insertNode(mark);
    return { marked: mark.textContent };
  },
};
