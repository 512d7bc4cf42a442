import path from 'node:path'
import { type ImportKind, scanImports } from './scan-imports.ts'
import type { SourceTree, WorkspacePackage } from './source-tree.ts'

/** Where an import leads: a file of the workspace, or a module from outside by its name. */
export interface Edge {
  from: string
  line: number
  kind: ImportKind
  specifier: string
  /** Path in the workspace; undefined for a module from outside. */
  file: string | undefined
}

/** The imports of every file, in file order. */
export type ImportGraph = Map<string, Edge[]>

/** The specifier that stands for an `import()` of a computed name. */
export const computed = '(computed)'

/** Scans and resolves every import of the tree. A path that is no file of the tree is kept as it is written. */
export function buildImportGraph(tree: SourceTree): ImportGraph {
  const graph: ImportGraph = new Map()
  for (const [from, source] of tree.files) {
    const edges = scanImports(source).map(({ specifier = computed, kind, line }) => ({
      from,
      line,
      kind,
      specifier,
      file: resolve(specifier, from, tree.packages),
    }))
    graph.set(from, edges)
  }
  return graph
}

function resolve(specifier: string, from: string, packages: WorkspacePackage[]): string | undefined {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(from), specifier)
  const owner = packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`))
  if (owner === undefined) return undefined
  return owner.entries.get(specifier) ?? path.posix.join(owner.folder, specifier.slice(owner.name.length))
}

/** Whether `path` is `place` or lies below it. */
export function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}

/** Whether a specifier belongs to a module name, which may end in `/*` for a whole scope. */
export function isModule(specifier: string, module: string): boolean {
  return isWithin(specifier, module.replace(/\/\*$/, ''))
}

/**
 * The shortest way from an entry to the first import that `forbidden` accepts, along imports that run when the entry is
 * loaded; undefined when there is none.
 */
export function chainTo(
  graph: ImportGraph,
  entry: string,
  forbidden: (edge: Edge) => boolean,
): Edge[] | undefined {
  const seen = new Set([entry])
  const queue: { file: string; chain: Edge[] }[] = [{ file: entry, chain: [] }]
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const edge of graph.get(next.file) ?? []) {
      if (edge.kind !== 'static') continue
      const chain = [...next.chain, edge]
      if (forbidden(edge)) return chain
      if (edge.file === undefined || seen.has(edge.file)) continue
      seen.add(edge.file)
      queue.push({ file: edge.file, chain })
    }
  }
  return undefined
}

/** One chain for each group of files that load each other in a circle. */
export function findCycles(graph: ImportGraph): Edge[][] {
  const cycles: Edge[][] = []
  const reported = new Set<string>()
  for (const file of graph.keys()) {
    if (reported.has(file)) continue
    const chain = chainTo(graph, file, edge => edge.file === file)
    if (chain === undefined) continue
    cycles.push(chain)
    for (const edge of chain) reported.add(edge.from)
  }
  return cycles
}

/** A chain as a person reads it: one file per line, with the line of the import, each deeper than its importer. */
export function printChain(chain: Edge[], indent = '  '): string {
  const last = chain.at(-1)
  const places = [...chain.map(({ from, line }) => `${from}:${line}`), last?.file ?? last?.specifier ?? '']
  return places
    .map((place, depth) => `${indent.repeat(depth + 1)}${depth === 0 ? '' : '-> '}${place}`)
    .join('\n')
}
