/**
 * Preloaded into every test process. A server, timer or child that a test left open keeps its process alive after the last
 * test, and `node --test` would wait for it without an end: such a file fails instead, naming what is still open.
 */
import { AsyncResource } from 'node:async_hooks'
import { after } from 'node:test'

const graceSeconds = Number(process.env.LATEEN_TEST_GRACE_SECONDS ?? '20')

// For what a file does after its tests, like stopping a cluster. Counts alone where that throws: no hook behind it runs then.
const cleanUpSeconds = Math.max(300, graceSeconds)

if (process.env.NODE_TEST_CONTEXT === 'child-v8') {
  // Hooks run in the order in which they come, and this one is the first: the grace begins in one that is added behind all others,
  // outside of the hook that adds it.
  const outside = new AsyncResource('end-with-tests')
  after(() => {
    failAfter(cleanUpSeconds)
    outside.runInAsyncScope(() => after(() => failAfter(graceSeconds)))
  })
}

function failAfter(seconds: number): void {
  setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
    console.error(`still open ${seconds} s after the last test: ${open}`)
    process.exit(1)
  }, seconds * 1000).unref()
}
