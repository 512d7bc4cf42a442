/**
 * Preloaded into every test process. A server, timer or child that a test left open keeps its process alive after the last
 * test, and `node --test` would wait for it without an end: such a file fails instead, naming what is still open.
 */
import { after } from 'node:test'

const graceSeconds = Number(process.env.LATEEN_TEST_GRACE_SECONDS ?? '20')

if (process.env.NODE_TEST_CONTEXT === 'child-v8') {
  after(() => setTimeout(fail, graceSeconds * 1000).unref())
}

function fail(): never {
  const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
  console.error(`still open ${graceSeconds} s after the last test: ${open}`)
  process.exit(1)
}
