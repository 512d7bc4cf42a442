const folder = process.env.NODE_COMPILE_CACHE

/** For the environment of a program of ours that a test starts in an empty home: what this run has compiled is there for it, too. */
export const compiledSources: Readonly<Record<string, string>> =
  folder === undefined ? {} : { NODE_COMPILE_CACHE: folder }
