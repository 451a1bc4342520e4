import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading, Problem } from "../kit/notices.tsx";

/** A page whose code is loaded when it is first shown, so that the others open sooner. */
export function lazyPage<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function LazyPage(props: Props) {
    const [Page, setPage] = useState(() => loaded);
    const [problem, setProblem] = useState<Error>();
    const read = (): void => {
      setProblem(undefined);
      load()
        .then((page) => {
          loaded = page;
          setPage(() => page);
        })
        .catch(() => setProblem(new Error("This page could not be loaded.")));
    };
    useEffect(() => {
      if (Page === undefined) read();
    }, []);
    if (Page !== undefined) return <Page {...props} />;
    return (
      <div class="page" data-status={problem ? "error" : "loading"}>
        {problem ? <Problem problem={problem} retry={read} /> : <Loading />}
      </div>
    );
  };
}
