import { cells } from '../output/paint.ts'
import type { ResultList } from './backup-description.ts'

/** Warnings or errors under their title, by what they are about. */
export function resultLines(title: string, list: ResultList = {}): string {
  const namespaces = Object.entries(list.namespaces ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    `${title}:\n`,
    itemLines('\t', 'Velero', list.velero),
    itemLines('\t', 'Cluster', list.cluster),
    namespaces.length === 0 ? '\tNamespaces: <none>\n' : '\tNamespaces:\n',
    ...namespaces.map(([namespace, items]) => itemLines('\t\t', namespace, items)),
  ].join('')
}

/** What stands in the place of warnings and errors that could not be had. */
export function missingResults(doing: 'getting' | 'reading', reason: string): string {
  const verb = doing === 'reading' ? 'decoding' : 'getting'
  return (
    cells`Warnings:\t<error ${verb} warnings: ${reason}>\n\n` +
    cells`Errors:\t<error ${verb} errors: ${reason}>\n`
  )
}

function itemLines(indent: string, title: string, items: readonly string[] | null | undefined): string {
  const lines = (items ?? []).map(item => cells`${item}\n`)
  // Velero indents `<none>` once more than the items.
  return cells`${indent}${title}:\t` + (lines.join(`${indent}\t`) || `${indent}<none>\n`)
}
