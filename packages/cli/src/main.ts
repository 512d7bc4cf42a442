import { homedir } from 'node:os'
import path from 'node:path'
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
/** Node opens a stream when it is first asked for it, and most commands have nothing to complain about. */
function openStderr(): NodeJS.WriteStream {
  if (process.stderr.listenerCount('error') > 0) return process.stderr
  // Nobody reads what went wrong; that it did is still the exit code.
  return process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

/** kubectl runs programs of this name for `kubectl lateen`. */
const isKubectlPlugin = path.basename(process.argv[1] ?? '').startsWith('kubectl-lateen')

const ended = runCli(process.argv.slice(2), {
  program: isKubectlPlugin ? 'kubectl lateen' : 'lateen',
  env: process.env,
  home: process.env.HOME ?? homedir(),
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  get stderr() {
    return openStderr()
  },
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

// Not awaited: the bundle is a CommonJS program.
void ended.then(code => {
  process.exitCode = code
})
