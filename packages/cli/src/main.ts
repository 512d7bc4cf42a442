import { homedir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { runCli } from './run-cli.ts'

const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interruption.abort(new Error(`stopped by ${signal}`))
    // The first signal asks for an orderly end, the second is obeyed at once.
    process.once(signal, () => process.exit(130))
  })
}

// `lateen … | head` closes the pipe early: not worth a word.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  home: process.env.HOME ?? homedir(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interruption.signal,
  clock: {
    now: () => Date.now(),
    sleep: async (ms, signal) => {
      await delay(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
        signal?.throwIfAborted()
        throw error
      })
    },
  },
})
