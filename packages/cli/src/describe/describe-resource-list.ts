import { cells } from '../output/paint.ts'
import type { Fetched, ResourceList } from './backup-description.ts'

/** The names of all objects by kind, or why they are not known. */
export function describeResourceList(of: 'backup' | 'restore', file: Fetched<ResourceList>): string {
  switch (file.got) {
    case 'nothing':
      return `Resource List:\t<${of} resource list not found>\n`
    case 'error':
      return cells`Resource List:\t<error ${file.while} ${of} resource list: ${file.reason}>\n`
    case 'content': {
      const kinds = Object.entries(file.content).sort(([a], [b]) => (a < b ? -1 : 1))
      const lines = kinds.map(([kind, names]) => cells`\t${kind}:\n\t\t- ${(names ?? []).join('\n\t\t- ')}\n`)
      return `Resource List:\n${lines.join('')}`
    }
  }
}
