import {
  chainTo,
  computed,
  type Edge,
  findCycles,
  type ImportGraph,
  isModule,
  isWithin,
  printChain,
} from './import-graph.ts'
import type {
  Allowed,
  AllowedImports,
  EntryRule,
  FolderRules,
  ImportTable,
  ModuleRule,
} from './import-table.ts'
import type { WorkspacePackage } from './source-tree.ts'

/** One broken rule: the rule in words, and the imports that break it. */
export interface Violation {
  rule: string
  chain: Edge[]
}

/** What the rules are checked on. */
export interface Workspace {
  graph: ImportGraph
  packages: WorkspacePackage[]
}

const testFile = /\.test\.[cm]?tsx?$/

/** Everything in the workspace that the table does not allow. Pure; an empty list means that all rules hold. */
export function checkLayers(table: ImportTable, workspace: Workspace): Violation[] {
  const edges = [...workspace.graph.values()].flat()
  const shipped = edges.filter(edge => isWithin(edge.from, 'packages') && !testFile.test(edge.from))
  return [
    ...edges.flatMap(edge => checkPackage(table.packages, edge)),
    ...table.folders.flatMap(rules => shipped.flatMap(edge => checkFolder(rules, edge))),
    ...shipped.flatMap(edge => checkModule(table.modules, edge)),
    ...shipped.flatMap(edge => checkDeclared(workspace.packages, edge)),
    ...edges.flatMap(edge => checkDoor(workspace.packages, edge)),
    ...table.entries.flatMap(rule => checkEntry(rule, workspace.graph)),
    ...findCycles(workspace.graph).map(chain => ({ rule: 'files load each other in a circle', chain })),
  ]
}

/** A violation as it stands in a failed test: the rule, then the chain. */
export function printViolation({ rule, chain }: Violation): string {
  return chain.length === 0 ? rule : `${rule}\n${printChain(chain)}`
}

function checkPackage(rows: AllowedImports[], edge: Edge): Violation[] {
  if (edge.file === undefined) return []
  const from = rowOf(rows, edge.from)
  const to = rowOf(rows, edge.file)
  if (from === undefined) return [broken(edge, `${edge.from} lies in no package of the table`)]
  if (from === to) return []
  if (to === undefined) return [broken(edge, `${edge.file} lies in no package of the table`)]
  if (testFile.test(edge.from) && (to.who === 'tools' || to.who === 'test')) return []
  if (allows(from.imports, to.who)) return []
  if (!allows(from.lazily, to.who)) return [broken(edge, `${from.who} may not import ${to.who}`)]
  if (edge.kind !== 'static') return []
  return [broken(edge, `${from.who} may load ${to.who} only by await import()`)]
}

function checkFolder({ root, rows }: FolderRules, edge: Edge): Violation[] {
  if (edge.file === undefined || !isWithin(edge.from, root) || !isWithin(edge.file, root)) return []
  const from = folderOf(rows, edge.from.slice(root.length + 1))
  const to = folderOf(rows, edge.file.slice(root.length + 1))
  const unknown = [from, to].find(folder => !rows.some(row => row.who === folder))
  if (unknown !== undefined) return [broken(edge, `${root}/${unknown} is not in the table of folders`)]
  const row = rows.find(({ who }) => who === from)
  if (from === to || row === undefined || allows(row.imports, to)) return []
  return [broken(edge, `${root}/${from} may not import ${root}/${to}`)]
}

/** The row a path below a root belongs to: a row naming the file, else its first folder, else `.` */
function folderOf(rows: AllowedImports[], path: string): string {
  const named = rows.filter(({ who }) => isWithin(path, who)).sort((a, b) => b.who.length - a.who.length)[0]
  if (named !== undefined) return named.who
  const slash = path.indexOf('/')
  return slash < 0 ? '.' : path.slice(0, slash)
}

function checkModule(rules: ModuleRule[], edge: Edge): Violation[] {
  if (edge.file !== undefined) return []
  const rule = rules.find(({ module }) => isModule(withScheme(edge.specifier), module))
  if (rule === undefined || rule.onlyIn.some(place => isWithin(edge.from, place))) return []
  return [broken(edge, `${rule.module} may be imported only in ${rule.onlyIn.join(', ')}`)]
}

/** `fs` and `node:fs` are one module. */
function withScheme(specifier: string): string {
  return specifier === 'fs' || specifier.startsWith('fs/') ? `node:${specifier}` : specifier
}

function checkDeclared(packages: WorkspacePackage[], edge: Edge): Violation[] {
  if (edge.specifier.startsWith('.') || edge.specifier.startsWith('node:') || edge.specifier === computed)
    return []
  const owner = packages.find(({ folder }) => isWithin(edge.from, folder))
  const [scope = '', name = ''] = edge.specifier.split('/')
  const module = scope.startsWith('@') ? `${scope}/${name}` : scope
  if (owner === undefined || owner.name === module || owner.dependencies.has(module)) return []
  return [broken(edge, `${owner.folder}/package.json does not declare ${module}`)]
}

/** Other packages are entered by their public names alone. */
function checkDoor(packages: WorkspacePackage[], edge: Edge): Violation[] {
  if (edge.file === undefined || !isWithin(edge.from, 'packages')) return []
  const target = packages.find(({ folder }) => isWithin(edge.file ?? '', folder))
  if (target === undefined || isWithin(edge.from, target.folder) || target.entries.has(edge.specifier))
    return []
  return [broken(edge, `${target.name} is entered by another way than its exports`)]
}

function checkEntry({ entry, planned, neverLoads }: EntryRule, graph: ImportGraph): Violation[] {
  if (!graph.has(entry)) {
    return planned ? [] : [{ rule: `the entry ${entry} of the table does not exist`, chain: [] }]
  }
  if (planned) return [{ rule: `the entry ${entry} exists: drop "(planned)" from its row`, chain: [] }]
  return neverLoads.flatMap(place => {
    const chain = chainTo(
      graph,
      entry,
      edge => isWithin(edge.file ?? '', place) || isModule(edge.specifier, place),
    )
    return chain === undefined ? [] : [{ rule: `loading ${entry} loads ${place}`, chain }]
  })
}

function rowOf(rows: AllowedImports[], path: string): AllowedImports | undefined {
  return rows.find(({ who }) => isWithin(path, who))
}

function allows(allowed: Allowed, name: string): boolean {
  return allowed === 'everything' || allowed.includes(name)
}

function broken(edge: Edge, rule: string): Violation {
  return { rule, chain: [edge] }
}
