/** What one package or folder may import; `lazily` only by `await import()`. `'everything'` allows all of the table's rows. */
export interface AllowedImports {
  who: string
  imports: Allowed
  lazily: Allowed
}

export type Allowed = 'everything' | string[]

/** The folders below one root, each with what it may import of the others. */
export interface FolderRules {
  root: string
  rows: AllowedImports[]
}

/** A module from outside (`@scope/*` for all of a scope) and the paths that may import it. */
export interface ModuleRule {
  module: string
  onlyIn: string[]
}

/** A file, and the paths and modules which loading it must not load. A planned entry may be missing still. */
export interface EntryRule {
  entry: string
  planned: boolean
  neverLoads: string[]
}

export interface ImportTable {
  packages: AllowedImports[]
  folders: FolderRules[]
  modules: ModuleRule[]
  entries: EntryRule[]
}

/** The document's table cannot be read: a check built on it would pass without checking. */
export class ImportTableError extends Error {
  readonly code = 'IMPORT_TABLE_UNREADABLE'
  readonly hint = 'see the section "Who may import whom" of ARCHITECTURE.md'
  override name = 'ImportTableError'
}

interface Section {
  title: string
  rows: string[][]
}

/**
 * Reads the tables below `## Who may import whom`. Throws ImportTableError when the section or one of its tables is missing
 * or when a cell holds neither names in backticks nor `nothing` nor `everything`.
 */
export function parseImportTable(markdown: string): ImportTable {
  const sections = readSections(markdown)
  return {
    packages: expandEverything(rowsOf(sections, 'Packages').map(allowedImports)),
    folders: sections.flatMap(folderRules),
    modules: rowsOf(sections, 'Modules from outside').map(row => ({
      module: onlyName(row[0]),
      onlyIn: names(row[1]),
    })),
    entries: rowsOf(sections, 'What an entry may load').map(row => ({
      entry: onlyName(row[0]),
      planned: (row[0] ?? '').includes('(planned)'),
      neverLoads: names(row[1]),
    })),
  }
}

function readSections(markdown: string): Section[] {
  const start = markdown.search(/^## Who may import whom$/m)
  if (start < 0) throw new ImportTableError('ARCHITECTURE.md has no section "## Who may import whom"')
  const body = markdown.slice(start).replace(/^## .*$/m, '')
  const end = body.search(/^## /m)
  const sections = (end < 0 ? body : body.slice(0, end)).split(/^### /m).slice(1)
  return sections.map(section => ({ title: section.split('\n', 1)[0] ?? '', rows: tableRows(section) }))
}

/** The body rows of the first Markdown table in the text. */
function tableRows(text: string): string[][] {
  const lines = text.split('\n').filter(line => line.startsWith('|'))
  return lines.slice(2).map(line =>
    line
      .replace(/^\||\|\s*$/g, '')
      .split('|')
      .map(cell => cell.trim()),
  )
}

function rowsOf(sections: Section[], title: string): string[][] {
  const rows = sections.find(section => section.title.trim() === title)?.rows ?? []
  if (rows.length === 0) throw new ImportTableError(`the table "${title}" is missing or has no rows`)
  return rows
}

function folderRules(section: Section): FolderRules[] {
  const root = section.title.match(/^Folders of `([^`]+)`/)?.[1]
  if (root === undefined) return []
  if (section.rows.length === 0) throw new ImportTableError(`the table of folders of ${root} has no rows`)
  return [{ root, rows: section.rows.map(allowedImports) }]
}

function allowedImports(row: string[]): AllowedImports {
  return { who: onlyName(row[0]), imports: allowed(row[1]), lazily: allowed(row[2] ?? 'nothing') }
}

/** In the table of packages `everything in packages` means every row below that folder. */
function expandEverything(rows: AllowedImports[]): AllowedImports[] {
  return rows.map(row => {
    if (row.imports === 'everything' || !row.imports.includes('packages')) return row
    const packages = rows.map(other => other.who).filter(who => who.startsWith('packages/'))
    return { ...row, imports: [...row.imports, ...packages] }
  })
}

function allowed(cell: string | undefined): Allowed {
  return cell === 'everything' ? 'everything' : names(cell)
}

function names(cell: string | undefined): string[] {
  const found = [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(match => match[1] ?? '')
  if (found.length === 0 && cell !== 'nothing') {
    throw new ImportTableError(
      `a cell holds "${cell ?? ''}"; expected names in backticks, nothing or everything`,
    )
  }
  return found
}

function onlyName(cell: string | undefined): string {
  const [name] = names(cell)
  if (name === undefined)
    throw new ImportTableError('the first cell of a row must name something in backticks')
  return name
}
