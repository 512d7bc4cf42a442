const isBundled = (globalThis as { lateenBundled?: boolean }).lateenBundled

/**
 * The code of a thread: `source` beside the file that `base` is the address of, or, in a bundle, the file of the same name that the bundle
 * has beside its chunks. Every thread is an entry of the bundle (`tools/bundle`).
 */
export function threadUrl(source: `./${string}.ts`, base: string): URL {
  return new URL(isBundled ? source.replace(/\.ts$/, '.mjs') : source, base)
}
