import createMatcher, { type Ignore } from "ignore";

/**
 * The ignore files that count, the strongest first: a match in a stronger one decides, at whatever
 * level of the tree both are. This is ripgrep's order.
 */
export const IGNORE_FILES = [".rgignore", ".ignore", ".gitignore"] as const;

export type IgnoreFile = (typeof IGNORE_FILES)[number];

/** The rules of one ignore file. Its patterns are relative to its folder. */
interface Layer {
  /** The path of the folder, with a slash at the end; empty for the top. */
  readonly folder: string;
  readonly matcher: Ignore;
}

type Chains = Readonly<Record<IgnoreFile, readonly Layer[]>>;

/**
 * The ignore rules that hold in one folder: those of its own ignore files before those of the
 * folders above. Paths are relative to the top and use `/`.
 */
export class IgnoreRules {
  readonly #chains: Chains;

  private constructor(chains: Chains) {
    this.#chains = chains;
  }

  static readonly none = new IgnoreRules({ ".rgignore": [], ".ignore": [], ".gitignore": [] });

  /** The rules inside a folder that is not ignored. */
  inFolder(path: string, files: FolderIgnores): IgnoreRules {
    const folder = path === "" ? "" : `${path}/`;
    const chain = (name: IgnoreFile): readonly Layer[] => {
      const text = files.texts[name];
      // The .gitignore files outside a repository do not apply inside it.
      const isCutOff = name === ".gitignore" && files.isRepository;
      const above = isCutOff ? [] : this.#chains[name].map((layer) => reopened(layer, folder));
      if (text === undefined) return above;
      return [{ folder, matcher: createMatcher({ ignoreCase: false }).add(text) }, ...above];
    };
    return new IgnoreRules({
      ".rgignore": chain(".rgignore"),
      ".ignore": chain(".ignore"),
      ".gitignore": chain(".gitignore"),
    });
  }

  ignores(path: string, isFolder: boolean): boolean {
    const whole = isFolder ? `${path}/` : path;
    for (const name of IGNORE_FILES) {
      for (const { folder, matcher } of this.#chains[name]) {
        const { ignored, unignored } = matcher.test(whole.slice(folder.length));
        if (ignored || unignored) return ignored;
      }
    }
    return false;
  }
}

/** What a folder contributes to the rules. */
export interface FolderIgnores {
  readonly texts: Partial<Readonly<Record<IgnoreFile, string>>>;
  /** The folder has a `.git`. */
  readonly isRepository: boolean;
}

/**
 * A matcher ignores everything in a folder that it ignores. If a stronger rule has included such a
 * folder after all, the matcher decides again on each entry in it.
 */
function reopened(layer: Layer, folder: string): Layer {
  const inner = folder.slice(layer.folder.length);
  if (inner === "" || !layer.matcher.test(inner).ignored) return layer;
  const matcher = createMatcher({ ignoreCase: false })
    .add(layer.matcher)
    .add(`!/${literal(inner)}`);
  return { ...layer, matcher };
}

/** A path as a pattern that matches only itself. */
function literal(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, String.raw`\$&`);
}
