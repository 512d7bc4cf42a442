// A plugin program for backups of a test: one action leaves a mark and a warning, the other does not come back from some objects.
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { servePlugin } from '@lateen/plugin/serve'

function note(text: string): void {
  appendFileSync(path.join(process.env.FAULTY_NOTES ?? '.', 'seen'), `${process.pid} ${text}\n`)
}

note('started')
void servePlugin({
  BackupItemAction: {
    'example.com/seen': ({ log }) => ({
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        if (item.metadata.name === 'plain') log.warn({ name: 5 }, 'Something to know')
        item.metadata.annotations = { ...item.metadata.annotations, 'example.com/seen': 'true' }
        return { item }
      },
    }),
    'example.com/hangs': () => ({
      appliesTo: async () => ({ includedResources: ['configmaps'] }),
      async execute({ item }) {
        if (item.metadata.name !== 'hangs') return { item, unchanged: true }
        note('hangs')
        return new Promise(() => {})
      },
    }),
  },
})
