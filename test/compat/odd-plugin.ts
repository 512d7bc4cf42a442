// A plugin program whose actions do what programs should not. Each is for the objects that are labelled with its name.
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import type { BackupItemAction } from '@lateen/plugin'
import { type PluginContext, servePlugin } from '@lateen/plugin/serve'

/** Tells a test that waits for it. */
function note(text: string): void {
  const { FAULTY_NOTES: notes } = process.env
  if (notes !== undefined) appendFileSync(path.join(notes, 'seen'), `${process.pid} ${text}\n`)
}

function action(effect: (context: PluginContext) => void | Promise<void>) {
  return (context: PluginContext): BackupItemAction => ({
    appliesTo: async () => ({ labelSelector: context.name.replace('/', '/odd=') }),
    async execute({ item }) {
      await effect(context)
      return { item, unchanged: true }
    },
  })
}

void servePlugin({
  BackupItemAction: {
    'example.com/fine': action(() => {}),
    'example.com/prints': action(() => {
      console.log('x'.repeat(1_000_000))
      console.log('a line for %s', 'people')
      process.stdout.write('and a raw one\n')
    }),
    'example.com/logs': action(({ log, features }) => {
      log.debug({ features: [...features] }, 'For the curious')
      log.warn({ name: 5, namespace: null, err: new Error('broken') }, 'Odd fields')
    }),
    'example.com/floods': action(({ log }) => {
      for (let line = 0; line < 20_000; line += 1) log.info({ line, text: 'x'.repeat(200) }, 'One of many')
    }),
    'example.com/exits': action(() => process.exit(3)),
    'example.com/throws-later': action(async () => {
      setTimeout(() => {
        throw new Error('nobody catches this')
      }, 1)
      await new Promise(() => {})
    }),
    'example.com/rejects-later': action(async () => {
      void Promise.reject(new Error('nobody waits for this'))
      await new Promise(() => {})
    }),
    'example.com/hangs': action(() => {
      note('hangs')
      return new Promise(() => {})
    }),
    // Nor does it hear that it is to end.
    'example.com/blocks': action(() => {
      note('blocks')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    }),
  },
  BackupItemActionV3: { 'example.com/newest': action(() => {}) },
})
