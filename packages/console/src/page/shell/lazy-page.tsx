import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading, Problem } from "../kit/notices.tsx";

/** A page whose code is loaded when it is shown for the first time. */
export function lazyPage<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function LazyPage(props: Props) {
    const [problem, setProblem] = useState<Error>();
    const [, setLoaded] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load()
        .then((page) => {
          loaded = page;
          setLoaded(true);
        })
        .catch(() => setProblem(new Error("This page could not be loaded.")));
    }, []);
    if (loaded !== undefined) {
      const Page = loaded;
      return <Page {...props} />;
    }
    // The server may have been updated since this page was loaded, and no longer have its files.
    if (problem) return <Problem problem={problem} retry={() => location.reload()} />;
    return (
      <div class="page" data-status="loading">
        <Loading />
      </div>
    );
  };
}
