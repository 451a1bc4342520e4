import { render } from "preact";
import { App } from "./shell/app.tsx";
import { applyTheme } from "./shell/theme.tsx";

applyTheme();
render(<App />, document.querySelector("#root")!);
