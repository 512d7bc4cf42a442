// A delete item action for ConfigMaps of tests: it notes in the file DELETION_NOTES what it is told of, refuses those named `refuses…`, and ends
// its whole program at the first one named `dies…`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { DeleteItemAction } from '@lateen/plugin'
import { servePlugin } from '@lateen/plugin/serve'

const file = process.env.DELETION_NOTES ?? 'notes'

const action: DeleteItemAction = {
  async appliesTo() {
    return { includedResources: ['configmaps'], labelSelector: 'deletion=noted' }
  },

  async execute({ item, backup }) {
    const { name = '' } = item.metadata
    const line = `${backup.metadata.name} ${backup.status?.phase} ${name}\n`
    const isFirst = !existsSync(file) || !readFileSync(file, 'utf8').includes(line)
    appendFileSync(file, line)
    if (name.startsWith('dies') && isFirst) process.exit(3)
    if (name.startsWith('refuses')) throw new Error(`${name} is not to be deleted`)
  },
}

void servePlugin({ DeleteItemAction: { 'example.com/note-deletion': () => action } })
